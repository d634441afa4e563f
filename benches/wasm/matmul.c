// Multiplies two matrices of `n` × `n` doubles: three loops around two loads, a multiplication and an
// addition. One run is `run(300)`, which is the most that it takes. Returns a weighted sum of the
// product, which is exact.
#include "guest.h"

enum { MOST = 300 };

static double a[MOST][MOST], b[MOST][MOST], c[MOST][MOST];

EXPORT(run) double run(int n) {
    if (n < 0 || n > MOST) return -1;
    for (int row = 0; row < n; row++) {
        for (int column = 0; column < n; column++) {
            a[row][column] = (row * 7 + column * 3) % 11 - 5;
            b[row][column] = (row * 5 + column * 2) % 13 * 0.5;
        }
    }
    for (int row = 0; row < n; row++) {
        for (int column = 0; column < n; column++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += a[row][k] * b[k][column];
            c[row][column] = sum;
        }
    }
    double total = 0;
    for (int row = 0; row < n; row++) {
        for (int column = 0; column < n; column++) {
            total += c[row][column] * (1 + (row * 3 + column * 7) % 17);
        }
    }
    return total;
}
