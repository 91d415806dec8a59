-- promote: hand over scheduled jobs that are due.
-- KEYS  1 schedule, 2 pending      ARGV  1 base of all keys, 2 batch
-- Reply how many. An id without a row moves too and gets a row of state alone.

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZADD', KEYS[2], 0, id)
  redis.call('HSET', ARGV[1] .. 'job:' .. id, 'state', 'pending')
end
return #due
