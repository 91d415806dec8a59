-- picture: the values of some keys as a MessagePack list; behind it, how many keys the server holds beside them.
-- ARGV  base of all keys, then for each key a letter for its type and the rest of its name

local function same(value) return value end

local function zset(all)
  for i = 2, #all, 2 do all[i] = struct.pack('>d', tonumber(all[i])) end
  return all
end

-- The few fields of a hash are sorted by insertion. The server's locale says how names compare, but those of the
-- machine compare alike in all.
local function hash(all)
  for i = 3, #all, 2 do
    local field, text, at = all[i], all[i + 1], i
    while at > 1 and all[at - 2] > field do
      all[at], all[at + 1] = all[at - 2], all[at - 1]
      at = at - 2
    end
    all[at], all[at + 1] = field, text
  end
  return all
end

local READERS = {
  z = {zset, 'ZRANGE', '0', '-1', 'WITHSCORES'},
  h = {hash, 'HGETALL'},
  l = {same, 'LRANGE', '0', '-1'},
  s = {same, 'GET'},
}

local out, found = {}, 0
for i = 2, #ARGV do
  local key = ARGV[1] .. string.sub(ARGV[i], 2)
  local reader = READERS[string.sub(ARGV[i], 1, 1)]
  local value = redis.pcall(reader[2], key, unpack(reader, 3))
  local wrong = type(value) == 'table' and value.err
  if wrong or (value and #value > 0) or (value == '') then
    found = found + 1
    out[2 * found - 1] = ARGV[i]
    out[2 * found] = wrong and redis.call('TYPE', key).ok or reader[1](value)
  end
end
return cmsgpack.pack(out) .. (redis.call('DBSIZE') - found)
