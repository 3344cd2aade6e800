/* What val.c shares with json.c and the schema. */
#ifndef KERNEL_BASE_VAL_INT_H
#define KERNEL_BASE_VAL_INT_H

#include "kernel/base/val.h"

/* The members of an object that count: sorted by the bytes of their keys, of duplicates the last.
 * *n gets their number. The caller frees the array. Never NULL. */
const struct member **val_sorted(const struct val *object, size_t *n);
#endif
