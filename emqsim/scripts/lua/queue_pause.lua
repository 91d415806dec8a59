-- queue_pause: no more claims.
-- KEYS  1 meta      Reply 1.

redis.call('HSET', KEYS[1], 'paused', '1')
return 1
