-- obliterate: delete a paused queue, at most so many jobs a call.
-- KEYS  1 meta, 2 base of all keys      ARGV  1 'force' or empty, 2 budget
-- Reply 0 all is gone, 1 the budget is spent. Dedup keys stay.

local base = KEYS[2]
if not redis.call('HGET', KEYS[1], 'paused') then
  return redis.error_reply('EMQSTATE not paused')
end
if ARGV[1] ~= 'force' and redis.call('ZCARD', base .. 'active') > 0 then
  return redis.error_reply('EMQSTATE active jobs present')
end
local budget = tonumber(ARGV[2] or 1000)
for _, name in ipairs({'active', 'pending', 'schedule', 'dead'}) do
  local ids = redis.call('ZRANGE', base .. name, 0, budget - 1)
  for _, id in ipairs(ids) do
    local row = base .. 'job:' .. id
    redis.call('DEL', row, row .. ':logs', row .. ':lock')
    redis.call('ZREM', base .. name, id)
  end
  budget = budget - #ids
  if budget <= 0 then
    return 1
  end
end
for _, name in ipairs({
  'metrics:completed', 'metrics:failed', 'metrics:completed:data', 'metrics:failed:data',
  'meta', 'gactive', 'glimit', 'ring', 'wake', 'paused', 'repeat', 'limiter',
}) do
  redis.call('DEL', base .. name)
end
return 0
