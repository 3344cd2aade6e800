/* Any bytes as a file of prices: they load into prices that are amounts, or an error says where
 * they fail. Names of its own text are looked up. */
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel/drive/prices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct prices *p, struct str name)
{
    struct str currency = {NULL, 0};
    const struct price *price = prices_find(p, name, &currency);
    if (price != NULL) {
        assert(currency.n > 0 && price->input >= -1 && price->cached >= -1);
        assert(price->cache_write >= -1 && price->output >= -1 && price->reasoning >= -1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct prices *p = NULL;
    struct err e = {.code = 0};
    struct str text = {(const char *)data, size};
    snprintf(path, sizeof path, "/tmp/fuzz_prices.%ld", (long)getpid());
    FILE *f = fopen(path, "wb");
    assert(f != NULL);
    size_t written = fwrite(data, 1, size, f);
    assert(fclose(f) == 0 && written == size);
    int rc = prices_load(path, &p, &e);
    unlink(path);
    assert(rc == 0 || (p == NULL && e.message[0] != '\0'));
    if (rc == 0) {
        for (size_t at = 0; at < size && at < 512; at += 7) {
            look_up(p, str_slice(text, at, at + at % 31));
        }
    }
    prices_free(p);
    return 0;
}
