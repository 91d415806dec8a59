-- retry: the job failed; it is parked for another try, or buried.
-- KEYS  1 active, 2 schedule, 3 dead, 4 row
-- ARGV  1 id, 2 token, 3 delay in ms, 4 max attempts, 5 error, 6 base of all keys
-- Reply 'scheduled' or 'dead'.

local attempts = redis.call('HGET', KEYS[4], 'attempts')
if not attempts then
  return redis.error_reply('EMQSTALE job gone')
end
if attempts ~= ARGV[2] then
  return redis.error_reply('EMQSTALE retry token mismatch')
end
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then
  redis.call('ZREM', ARGV[6] .. 'pending', ARGV[1])
end
redis.call('HSET', KEYS[4], 'last_error', ARGV[5])
if tonumber(attempts) >= tonumber(ARGV[4]) then
  redis.call('HSET', KEYS[4], 'state', 'dead')
  redis.call('ZADD', KEYS[3], 0, ARGV[1])
  redis.call('HINCRBY', ARGV[6] .. 'metrics:failed', 'count', 1)
  return 'dead'
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[4], 'state', 'scheduled')
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]), ARGV[1])
return 'scheduled'
