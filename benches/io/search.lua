local sum = 0
for line in io.lines("inputs/server.log") do
  local level, id = line:match('%d+%.%d+%.%d+%.%d+ (%u+) "GET /%l+/sigma%?id=(%d+)')
  if level == "ERROR" or level == "WARN" then
    sum = sum + tonumber(id)
  end
end
print(sum)
