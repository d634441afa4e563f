local function count_to(limit)
  local i = 0
  while i < limit do i = i + 1 end
  return i
end
print(string.format("%d", count_to(100000000)))
