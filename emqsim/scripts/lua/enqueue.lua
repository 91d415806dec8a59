-- enqueue: admit a job, once.
-- KEYS  1 row, 2 pending      ARGV  1 id, 2 payload
-- Reply 1 admitted, 0 duplicate: the id has a row already.

if string.sub(ARGV[1], 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'state', 'pending', 'attempts', '0', 'payload', ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
return 1
