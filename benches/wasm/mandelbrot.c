// The Mandelbrot set on `n` × `n` points, at most 50 steps each: arithmetic of doubles in locals. One
// run is `run(1000)`. Returns the sum of the steps.
#include "guest.h"

EXPORT(run) long long run(int n) {
    long long sum = 0;
    for (int row = 0; row < n; row++) {
        double ci = 2.0 * row / n - 1.0;
        for (int column = 0; column < n; column++) {
            double cr = 2.0 * column / n - 1.5;
            double zr = 0, zi = 0;
            int step = 0;
            while (step < 50 && zr * zr + zi * zi <= 4.0) {
                double next = zr * zr - zi * zi + cr;
                zi = 2.0 * zr * zi + ci;
                zr = next;
                step++;
            }
            sum += step;
        }
    }
    return sum;
}
