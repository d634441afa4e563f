local function make_adder(n)
  return function(x) return x + n end
end
local function apply_alternately(f, g, limit)
  local value = 0
  for i = 1, limit do
    value = f(value)
    f, g = g, f
  end
  return value
end
print(string.format("%d", apply_alternately(make_adder(2), make_adder(0), 25000000)))
