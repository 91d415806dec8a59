-- is_maxed: whether as many jobs are leased as the queue allows at once.
-- KEYS  1 meta, 2 active
-- Reply 0 no; yes is an error, so that a caller cannot overlook it.

local ceiling = tonumber(redis.call('HGET', KEYS[1], 'concurrency') or 0)
if ceiling > 0 and redis.call('ZCARD', KEYS[2]) >= ceiling then
  return redis.error_reply('EMQRATE at concurrency ceiling')
end
return 0
