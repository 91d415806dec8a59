-- add_log: append a log line and keep only the last ones.
-- KEYS  1 row, 2 logs      ARGV  1 line, 2 how many to keep, empty for all
-- Reply how many there are, -1 gone.

if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
local lines = redis.call('RPUSH', KEYS[2], ARGV[1])
local keep = tonumber(ARGV[2])
if keep then
  redis.call('LTRIM', KEYS[2], -keep, -1)
  return math.min(keep, lines)
end
return lines
