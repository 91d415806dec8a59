-- drain: delete the jobs that wait, with their rows and log lines.
-- KEYS  1 base of all keys, 2 pending, and 3 schedule where it is to be drained too
-- Reply how many.

local drained = 0
for i = 2, #KEYS do
  local ids = redis.call('ZRANGE', KEYS[i], 0, -1)
  for _, id in ipairs(ids) do
    local row = KEYS[1] .. 'job:' .. id
    redis.call('DEL', row, row .. ':logs')
  end
  redis.call('DEL', KEYS[i])
  drained = drained + #ids
end
return drained
