/* Lists into order. */
#ifndef EVALS_ORDER_INT_H
#define EVALS_ORDER_INT_H

#include <stddef.h>

/* qsort, for lists that mostly are in order already, as tasks and trials are: one pass sees that.
 */
void order_list(void *list, size_t n, size_t size, int (*cmp)(const void *a, const void *b));
#endif
