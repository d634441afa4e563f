$stdout.sync = true
require "json"
require "set"
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
puts fib(20)
words = "the quick brown fox jumps over the lazy dog the end".split
puts words.tally.sort_by { |word, count| [-count, word] }.first(3).inspect
puts JSON.generate({ "a" => [1, 2.5, nil], "b" => { "c" => "ü" } })
begin
  raise ArgumentError, "caught"
rescue => error
  puts error.message
end
fiber = Fiber.new { Fiber.yield 1; 2 }
puts [fiber.resume, fiber.resume].inspect
puts catch(:done) { 10.times { |i| throw :done, i if i == 7 } }
puts((1..20).reduce(:*)**3)
File.write("/out.txt", "from Ruby\n")
puts File.read("/out.txt")
puts "abc123def".gsub(/\d+/) { |digits| (digits.to_i * 2).to_s }
puts Set.new([3, 1, 3]).size
warn "to stderr"
