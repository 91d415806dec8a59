-- reap: give back jobs whose leases lapsed, at most 100 a call.
-- KEYS  1 active, 2 pending      ARGV  1 base of all keys
-- Reply how many. An id without a row moves too and gets a row of state alone.

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local lapsed = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)
for _, id in ipairs(lapsed) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZADD', KEYS[2], 0, id)
  redis.call('HSET', ARGV[1] .. 'job:' .. id, 'state', 'pending')
end
return #lapsed
