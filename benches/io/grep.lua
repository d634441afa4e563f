local count = 0
for line in io.lines("inputs/server.log") do
  local level = line:match('%d+%.%d+%.%d+%.%d+ (%u+) "GET /%l+/sigma%?id=%d+')
  if level == "ERROR" or level == "WARN" then
    count = count + 1
  end
end
print(count)
