// SHA-256 (FIPS 180-4) of `n` bytes, 65,536 at a time: rotations and additions of 32 bits in locals,
// with loads from a small table. One run is `run(8388608)`. Returns the first eight bytes.
#include "guest.h"

static const u32 constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

enum { CHUNK = 65536 };

static u8 input[CHUNK + 128];

static u32 rotate(u32 x, int by) { return x >> by | x << (32 - by); }

static void block(u32 state[8], const u8 *bytes) {
    u32 w[64];
    for (int t = 0; t < 16; t++) {
        w[t] = (u32)bytes[4 * t] << 24 | (u32)bytes[4 * t + 1] << 16 | (u32)bytes[4 * t + 2] << 8 |
               bytes[4 * t + 3];
    }
    for (int t = 16; t < 64; t++) {
        u32 s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        u32 s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    u32 a = state[0], b = state[1], c = state[2], d = state[3];
    u32 e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        u32 s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        u32 t1 = h + s1 + ((e & f) ^ (~e & g)) + constants[t] + w[t];
        u32 s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        u32 t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

EXPORT(run) long long run(int n) {
    u32 state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    // Byte `k` of the input is `k` modulo 251, begun anew in each chunk.
    for (int k = 0; k < CHUNK; k++) input[k] = (u8)(k % 251);
    u32 left = (u32)n;
    while (left >= CHUNK) {
        for (int at = 0; at < CHUNK; at += 64) block(state, input + at);
        left -= CHUNK;
    }
    u32 whole = left & ~63u;
    for (u32 at = 0; at < whole; at += 64) block(state, input + at);
    u8 *tail = input + whole;
    u32 length = left - whole;
    tail[length++] = 0x80;
    u32 end = length <= 56 ? 64 : 128;
    while (length < end - 8) tail[length++] = 0;
    u64 bits = (u64)(u32)n * 8;
    for (int k = 7; k >= 0; k--) tail[length++] = (u8)(bits >> (8 * k));
    for (u32 at = 0; at < end; at += 64) block(state, tail + at);
    return (long long)((u64)state[0] << 32 | state[1]);
}
