-- remove_job: delete a job, wherever it is, unless somebody outside holds its lock.
-- KEYS  1 row, 2 pending, 3 active, 4 schedule, 5 dead, 6 dedup key      ARGV  1 id, 2 dedup id, may be empty
-- Reply 1 done, -1 gone.

if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
if redis.call('EXISTS', KEYS[1] .. ':lock') == 1 or redis.call('HEXISTS', KEYS[1], 'lock') == 1 then
  return redis.error_reply('EMQLOCK job is locked')
end
for i = 2, 5 do
  redis.call('ZREM', KEYS[i], ARGV[1])
end
if ARGV[2] ~= '' and redis.call('GET', KEYS[6]) == ARGV[1] then
  redis.call('DEL', KEYS[6])
end
redis.call('DEL', KEYS[1], KEYS[1] .. ':logs')
return 1
