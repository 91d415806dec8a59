-- update_data: replace the payload.
-- KEYS  1 row      ARGV  1 payload
-- Reply 1 done, -1 gone.

if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
redis.call('HSET', KEYS[1], 'payload', ARGV[1])
return 1
