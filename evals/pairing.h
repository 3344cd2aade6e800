/* Pairing calls made with calls expected: exact answers to "which belong together" and "does the
 * trajectory mode hold". Rows are expected calls, columns made calls. */
#ifndef EVALS_PAIRING_H
#define EVALS_PAIRING_H

#include "goldens/golden.h"

/* How a made call fits an expected one. */
enum fit { FIT_NONE, FIT_NAME /* the name is equal */, FIT_ARGS /* the arguments match too */ };

struct fit_table {
    size_t rows;
    size_t columns;
    uint8_t *cells;        /* enum fit, row by row */
    const uint32_t *group; /* per row: calls of one `parallel:` share a number > 0, 0 = alone */
    const int64_t *step;   /* per column: which reply it came in, rising */
};

enum fit fit_at(const struct fit_table *t, size_t row, size_t column);

struct pairing {
    size_t *column_of; /* per row; SIZE_MAX = not paired */
    size_t *row_of;    /* per column; SIZE_MAX = not paired */
    size_t pairs;
    size_t matches; /* pairs whose arguments match */
};

/* The best pairing whatever the order: as many pairs of equal names as there can be, among those
 * the most whose arguments match; what is left is paired in order. Arrays live in arena. */
void pairing_make(const struct fit_table *t, struct arena *arena, struct pairing *out);

enum mode_answer { MODE_HOLDS, MODE_BROKEN, MODE_UNDECIDED /* too many ways to try */ };

/* Work of one search for replies that parallel groups fit in: cells looked at. */
enum { PAIRING_LOOKS_MAX = 1 << 25 };

/* Whether the trajectory mode holds, arguments and `parallel:` included. A search for replies is
 * given up when it begins a matching beyond PAIRING_LOOKS_MAX. looks (may be NULL): how many cells
 * were looked at. */
enum mode_answer pairing_mode(const struct fit_table *t, enum golden_mode mode, struct arena *arena,
                              size_t *looks);
#endif
