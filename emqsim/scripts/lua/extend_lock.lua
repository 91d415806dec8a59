-- extend_lock: a heartbeat, the lease runs until now + lease.
-- KEYS  1 active, 2 row      ARGV  1 id, 2 token, 3 lease in ms
-- Reply 1 extended, -1 gone: no row, or no attempts in it.
-- The id is put into active, wherever else it is.

local attempts = redis.call('HGET', KEYS[2], 'attempts')
if not attempts then
  return -1
end
if attempts ~= ARGV[2] then
  return redis.error_reply('EMQSTALE extend token mismatch')
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
return 1
