/* Any text as --budget: it is taken whole, or refused with a message. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    struct budget b = BUDGET_DEFAULT;
    struct err e = {.code = 0};
    int rc = budget_parse(text, &b, &e);
    assert(rc == 0 || e.message[0] != '\0');
    free(text);
    return 0;
}
