/* Seeded random numbers: splitmix64 (Steele, Lea, Flood 2014). The same seed gives the same
 * sequence on every machine. */
#ifndef KERNEL_BASE_RNG_H
#define KERNEL_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

struct rng rng_seeded(uint64_t seed);
uint64_t rng_next(struct rng *r);

/* Uniform in [0, bound); bound 0 gives 0. */
uint64_t rng_below(struct rng *r, uint64_t bound);
#endif
