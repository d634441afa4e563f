// The sun and four planets, `n` steps of a simple integrator: doubles in memory, square roots and
// divisions. One run is `run(500000)`. Returns the energy of the system after the last step.
#include "guest.h"

struct body {
    double x, y, z, vx, vy, vz, mass;
};

enum { BODIES = 5 };

// Positions in astronomical units, velocities in units per day, masses in those of the sun.
static const struct body start[BODIES] = {
    {0, 0, 0, 0, 0, 0, 1.0},
    {4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.00166007664274403694,
     0.00769901118419740425, -0.0000690460016972063023, 0.000954791938424326609},
    {8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -0.00276742510726411862,
     0.00499852801234917238, 0.0000230417297573763929, 0.000285885980666130812},
    {12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 0.00296460137564761618,
     0.00237847173959480950, -0.0000296589568540237556, 0.0000436624404335156298},
    {15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.00268067772490389322,
     0.00162824170038242295, -0.0000951592254519715870, 0.0000515138902046611451}};

static struct body bodies[BODIES];

static const double pi = 3.141592653589793, days_per_year = 365.24;

static void prepare(void) {
    double px = 0, py = 0, pz = 0;
    for (int k = 0; k < BODIES; k++) {
        bodies[k] = start[k];
        struct body *body = &bodies[k];
        body->vx *= days_per_year, body->vy *= days_per_year, body->vz *= days_per_year;
        body->mass *= 4 * pi * pi;
        px += body->vx * body->mass, py += body->vy * body->mass, pz += body->vz * body->mass;
    }
    double sun = 4 * pi * pi;
    bodies[0].vx = -px / sun, bodies[0].vy = -py / sun, bodies[0].vz = -pz / sun;
}

static void advance(double step) {
    for (int i = 0; i < BODIES; i++) {
        struct body *a = &bodies[i];
        for (int j = i + 1; j < BODIES; j++) {
            struct body *b = &bodies[j];
            double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            double squared = dx * dx + dy * dy + dz * dz;
            double force = step / (squared * __builtin_sqrt(squared));
            a->vx -= dx * b->mass * force, a->vy -= dy * b->mass * force;
            a->vz -= dz * b->mass * force;
            b->vx += dx * a->mass * force, b->vy += dy * a->mass * force;
            b->vz += dz * a->mass * force;
        }
    }
    for (int k = 0; k < BODIES; k++) {
        struct body *body = &bodies[k];
        body->x += step * body->vx, body->y += step * body->vy, body->z += step * body->vz;
    }
}

static double energy(void) {
    double sum = 0;
    for (int i = 0; i < BODIES; i++) {
        const struct body *a = &bodies[i];
        sum += 0.5 * a->mass * (a->vx * a->vx + a->vy * a->vy + a->vz * a->vz);
        for (int j = i + 1; j < BODIES; j++) {
            const struct body *b = &bodies[j];
            double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            sum -= a->mass * b->mass / __builtin_sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return sum;
}

EXPORT(run) double run(int n) {
    prepare();
    for (int k = 0; k < n; k++) advance(0.01);
    return energy();
}
