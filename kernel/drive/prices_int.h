/* prices.yaml as bytes: made by embed.cmake when the program is built. */
#ifndef KERNEL_DRIVE_PRICES_INT_H
#define KERNEL_DRIVE_PRICES_INT_H

#include <stddef.h>

extern const unsigned char prices_yaml[];
extern const size_t prices_yaml_size;
#endif
