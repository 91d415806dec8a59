-- claim (wire3): lease the oldest pending job to a worker.
-- KEYS  1 pending, 2 active      ARGV  1 prefix of all rows, 2 lease in ms
-- Reply [id, payload, token], or empty where nothing waits.
-- It does not look for the row: an id without one gets a row of attempts and state.

local popped = redis.call('ZPOPMIN', KEYS[1])
if #popped == 0 then
  return {}
end
local id = popped[1]
local row = ARGV[1] .. id
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local token = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[2]), id)
return {id, redis.call('HGET', row, 'payload'), token}
