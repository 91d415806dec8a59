-- queue_resume: claims again.
-- KEYS  1 meta      Reply 1.

redis.call('HDEL', KEYS[1], 'paused')
return 1
