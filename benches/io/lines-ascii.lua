local sum = 0
for line in io.lines("inputs/ascii.txt") do
  sum = sum + #line
end
print(sum)
