-- delay: run the job again later, without a failure counted.
-- KEYS  1 row, 2 active, 3 schedule      ARGV  1 id, 2 token, 3 mode (in or at), 4 ms
-- Reply 1.

if string.sub(ARGV[1], 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
local attempts = redis.call('HGET', KEYS[1], 'attempts')
if not attempts then
  return redis.error_reply('EMQSTALE job gone')
end
if attempts ~= ARGV[2] then
  return redis.error_reply('EMQSTALE delay token mismatch')
end
local due = tonumber(ARGV[4])
if ARGV[3] == 'in' then
  local t = redis.call('TIME')
  due = t[1] * 1000 + math.floor(t[2] / 1000) + due
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'state', 'scheduled')
redis.call('ZADD', KEYS[3], due, ARGV[1])
return 1
