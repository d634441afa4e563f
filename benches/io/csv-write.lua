local function field(value)
  local text = tostring(value)
  if text:find('[",\r\n]') then
    return '"' .. text:gsub('"', '""') .. '"'
  end
  return text
end

local file = assert(io.open("outputs/rows.csv", "w"))
for i = 0, 999999 do
  local row = { i, "name", i % 2 == 0 and "plain text" or "one, two", i * 3, "end" }
  for column = 1, #row do
    row[column] = field(row[column])
  end
  file:write(table.concat(row, ","), "\n")
end
print(file:seek("cur"))
file:close()
