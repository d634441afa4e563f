// What the guests share. Each exports one function `run`, imports nothing, and returns a checksum, so
// that any engine can run it and a wrong answer is seen.
#ifndef GUEST_H
#define GUEST_H

#define EXPORT(name) __attribute__((export_name(#name)))

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// Random numbers that are the same everywhere: a linear congruential generator of 64 bits.
static inline u32 next_random(u64 *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(*state >> 33);
}

// One step of a checksum.
static inline u64 mix(u64 sum, u64 value) { return (sum ^ value) * 1099511628211ull; }

#endif
