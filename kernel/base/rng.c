#include "kernel/base/rng.h"

struct rng rng_seeded(uint64_t seed)
{
    return (struct rng){seed};
}

uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    if (bound == 0) {
        return 0;
    }
    uint64_t v;
    do { /* whole multiples only: no bias. Nearly always the first test shows it, and saves a
            division */
        v = rng_next(r);
    } while (v > UINT64_MAX - bound && v >= UINT64_MAX - UINT64_MAX % bound);
    return v % bound;
}
