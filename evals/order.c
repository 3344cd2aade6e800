#include "evals/order_int.h"

#include <stdlib.h>

void order_list(void *list, size_t n, size_t size, int (*cmp)(const void *a, const void *b))
{
    const char *items = list;
    for (size_t i = 1; i < n; i++) {
        if (cmp(items + (i - 1) * size, items + i * size) > 0) {
            qsort(list, n, size, cmp);
            return;
        }
    }
}
