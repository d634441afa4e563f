// The Fibonacci number of `n` by double recursion: calls and little else; clang
// turns every second one into a loop. One run is `run(35)`.
#include "guest.h"

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

EXPORT(run) long long run(int n) { return fib(n); }
