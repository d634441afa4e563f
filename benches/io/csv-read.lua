-- The fields of a line, with quoted ones as in RFC 4180; no field has a line end.
local function fields(line)
  local row, count, at = {}, 0, 1
  while true do
    local field
    if line:sub(at, at) == '"' then
      local from, quote = at + 1, at + 1
      repeat
        quote = line:find('"', quote, true)
        local is_pair = line:sub(quote + 1, quote + 1) == '"'
        if is_pair then quote = quote + 2 end
      until not is_pair
      field = line:sub(from, quote - 1):gsub('""', '"')
      at = quote + 1
    else
      local comma = line:find(",", at, true) or #line + 1
      field = line:sub(at, comma - 1)
      at = comma
    end
    count = count + 1
    row[count] = field
    if at > #line then return row end
    at = at + 1
  end
end

local sum = 0
for line in io.lines("inputs/rows.csv") do
  sum = sum + #fields(line)[8]
end
print(sum)
