-- schedule: admit a job that falls due later.
-- KEYS  1 row, 2 schedule      ARGV  1 id, 2 payload, 3 mode (in or at), 4 ms
-- Reply 1 admitted, 0 duplicate.

if string.sub(ARGV[1], 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
local due = tonumber(ARGV[4])
if ARGV[3] == 'in' then
  local t = redis.call('TIME')
  due = t[1] * 1000 + math.floor(t[2] / 1000) + due
end
redis.call('HSET', KEYS[1], 'state', 'scheduled', 'attempts', '0', 'payload', ARGV[2])
redis.call('ZADD', KEYS[2], due, ARGV[1])
return 1
