-- update_progress: note progress in the row and publish it.
-- KEYS  1 row      ARGV  1 progress, 2 id, 3 base of all keys
-- Reply 1 done, -1 gone.

if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
redis.call('HSET', KEYS[1], 'progress', ARGV[1])
local event = {event = 'progress', job = ARGV[2], progress = ARGV[1]}
redis.call('PUBLISH', ARGV[3] .. 'events', cjson.encode(event))
return 1
