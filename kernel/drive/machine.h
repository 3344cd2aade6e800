/* The machine's clock, its randomness and its limits: the only place that asks for them. */
#ifndef KERNEL_DRIVE_MACHINE_H
#define KERNEL_DRIVE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* How many files this process may have open: the system's soft limit, first raised to the hard one
 * (at most 2^16). */
size_t files_open_max(void);

/* Unix time in milliseconds; random 64 bits from the system. */
int64_t clock_unix_ms(void);
uint64_t random_u64(void);
#endif
