-- claim2 (wire4): lease the oldest pending job to a worker.
-- KEYS  1 pending, 2 active      ARGV  1 prefix of all rows, 2 lease in ms
-- Reply [id, payload, token], or empty where nothing waits.
-- A ghost, an id without a row, is dropped and the next id is popped.

local id, row
repeat
  local popped = redis.call('ZPOPMIN', KEYS[1])
  if #popped == 0 then
    return {}
  end
  id = popped[1]
  row = ARGV[1] .. id
until redis.call('EXISTS', row) == 1
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local token = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[2]), id)
return {id, redis.call('HGET', row, 'payload'), token}
