/* Values as bytes, to be put aside and read again by the same program. */
#ifndef KERNEL_BASE_VAL_PACK_H
#define KERNEL_BASE_VAL_PACK_H

#include "kernel/base/val.h"

/* Appends v with its places, but without `raw`: smaller than YAML text mostly. */
void val_pack(struct buf *out, const struct val *v);

/* The value that val_pack wrote to `packed`, all of it, in arena; its texts point into `packed` and
 * a NUL follows each. NULL: these are not such bytes. */
struct val *val_unpack(struct arena *arena, struct str packed);
#endif
