-- sweep_stalled: give back jobs whose leases lapsed, and bury those that stalled too often.
-- KEYS  1 active, 2 pending, 3 dead      ARGV  1 base of all keys, 2 max stalled, 3 limit
-- Reply [recovered ids, dead ids].

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local max_stalled = tonumber(ARGV[2] or 1)
local limit = ARGV[3] or 100
local recovered, dead = {}, {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, limit)) do
  local row = ARGV[1] .. 'job:' .. id
  redis.call('ZREM', KEYS[1], id)
  if redis.call('HINCRBY', row, 'stalled', 1) >= max_stalled then
    redis.call('HSET', row, 'state', 'dead', 'last_error', 'stalled')
    redis.call('ZADD', KEYS[3], 0, id)
    redis.call('HINCRBY', ARGV[1] .. 'metrics:failed', 'count', 1)
    dead[#dead + 1] = id
  else
    redis.call('ZADD', KEYS[2], 0, id)
    redis.call('HSET', row, 'state', 'pending')
    recovered[#recovered + 1] = id
  end
end
return {recovered, dead}
