-- extend_locks: heartbeats for many jobs, with one deadline.
-- KEYS  1 active      ARGV  1 base of all keys, 2 lease in ms, then id, token, id, token…
-- Reply the ids that could not be extended, in order.

local t = redis.call('TIME')
local deadline = t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[2])
local lost = {}
for i = 3, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', ARGV[1] .. 'job:' .. id, 'attempts') == token then
    redis.call('ZADD', KEYS[1], deadline, id)
  else
    lost[#lost + 1] = id
  end
end
return lost
