-- bclaim (wire3): lease the oldest pending jobs with one deadline.
-- KEYS  1 pending, 2 active      ARGV  1 prefix of all rows, 2 lease in ms, 3 size
-- Reply a list of [id, payload, token].
-- As claim, it makes a row of attempts and state for an id without one.

local left = math.min(tonumber(ARGV[3]), redis.call('ZCARD', KEYS[1]))
local t = redis.call('TIME')
local deadline = t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[2])
local batch = {}
while left > 0 do
  local id = redis.call('ZPOPMIN', KEYS[1])[1]
  local row = ARGV[1] .. id
  local token = redis.call('HINCRBY', row, 'attempts', 1)
  redis.call('HSET', row, 'state', 'active')
  redis.call('ZADD', KEYS[2], deadline, id)
  batch[#batch + 1] = {id, redis.call('HGET', row, 'payload'), token}
  left = left - 1
end
return batch
