local function fill(vector, length)
  for i = 0, length - 1 do vector[i] = i end
end
local function sum(vector, length)
  local total = 0
  for i = 0, length - 1 do total = total + vector[i] end
  return total
end
local vector, total = {}, 0
for round = 1, 50 do
  fill(vector, 1000000)
  total = total + sum(vector, 1000000)
end
print(string.format("%d", total))
