local file = assert(io.open("outputs/lines.txt", "w"))
for i = 0, 999999 do
  file:write("line ", i, "\n")
end
print(file:seek("cur"))
file:close()
