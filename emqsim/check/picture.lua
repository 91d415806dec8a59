-- picture: the values of some keys as one string of bytes, and how many keys the server holds beside them.
-- ARGV  base of all keys, then for each key a letter for its type and the rest of its name
-- The names of fields that stand elsewhere in the code are filled in where the comment is.

local out, n, found = {}, 0, 0
local function put(text)
  n = n + 1
  out[n] = #text .. ':' .. text
end

local FIELDS = {--[[FIELDS]]}

local function zset(all)
  for i = 1, #all, 2 do
    put(all[i])
    n = n + 1
    out[n] = struct.pack('>d', tonumber(all[i + 1]))
  end
end

local function hash(all)
  local value = {}
  for i = 1, #all, 2 do value[all[i]] = all[i + 1] end
  for i = 1, #FIELDS do
    local field = FIELDS[i]
    local text = value[field]
    if text then
      put(field)
      put(text)
      value[field] = nil
    end
  end
  for field, text in pairs(value) do
    put(field)
    put(text)
  end
end

local function list(all)
  for i = 1, #all do put(all[i]) end
end

local READERS = {
  z = {zset, 'ZRANGE', '0', '-1', 'WITHSCORES'},
  h = {hash, 'HGETALL'},
  l = {list, 'LRANGE', '0', '-1'},
  s = {put, 'GET'},
}

for i = 2, #ARGV do
  local key = ARGV[1] .. string.sub(ARGV[i], 2)
  local reader = READERS[string.sub(ARGV[i], 1, 1)]
  local value = redis.pcall(reader[2], key, unpack(reader, 3))
  local wrong = type(value) == 'table' and value.err
  if wrong or (value and #value > 0) or (value == '') then
    found = found + 1
    put(ARGV[i])
    if wrong then put(redis.call('TYPE', key).ok) else reader[1](value) end
  end
end
return {table.concat(out), redis.call('DBSIZE') - found}
