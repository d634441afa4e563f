local function escapes(cr, ci, limit)
  local zr, zi, i = 0.0, 0.0, 0
  while i ~= limit do
    local zr2, zi2 = zr * zr, zi * zi
    if zr2 + zi2 > 4.0 then return i end
    zr, zi, i = zr2 - zi2 + cr, 2.0 * zr * zi + ci, i + 1
  end
  return i
end
local size, limit, count = 600, 256, 0
local step = 3.0 / size
local ci = -1.5
for y = 1, size do
  local cr = -2.25
  for x = 1, size do
    if escapes(cr, ci, limit) == limit then count = count + 1 end
    cr = cr + step
  end
  ci = ci + step
end
print(count)
