-- complete: the job is done, its row goes.
-- KEYS  1 active, 2 row      ARGV  1 id, 2 token, 3 base of all keys
-- Reply 1 done, 0 gone: no row, or no attempts in it.
-- The id leaves pending only where it was not in active.

local attempts = redis.call('HGET', KEYS[2], 'attempts')
if not attempts then
  return 0
end
if attempts ~= ARGV[2] then
  return redis.error_reply('EMQSTALE complete token mismatch')
end
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then
  redis.call('ZREM', ARGV[3] .. 'pending', ARGV[1])
end
redis.call('DEL', KEYS[2])
redis.call('HINCRBY', ARGV[3] .. 'metrics:completed', 'count', 1)
return 1
