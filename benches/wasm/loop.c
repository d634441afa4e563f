// The loop of a published series on speeding up an interpreter: a counter in memory, compiled without
// optimization, so that each turn loads and stores. `run(1)` makes 2^20 turns, `run(1000)` a thousand
// times as many in the same call, which is fast only where an engine changes code within a call.
#include "guest.h"

unsigned int i;

EXPORT(run) long long run(int n) {
    i = 1024 * 1024 * (unsigned int)n;
    long long turns = i;
    while (i--) {
    }
    return turns;
}
