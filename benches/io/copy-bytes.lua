local input = assert(io.open("inputs/server.log", "rb"))
local output = assert(io.open("outputs/server.log", "wb"))
while true do
  local piece = input:read(65536)
  if not piece then break end
  output:write(piece)
end
print(output:seek("cur"))
output:close()
