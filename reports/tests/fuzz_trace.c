/* Any bytes as an event log: it is shown, or the error names the line (there is none in an empty
 * file). */
#include <assert.h>

#include "reports/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int i = 0; i < 2; i++) {
        struct buf out = {0};
        struct err e = {.code = 0};
        int rc = report_trace(&out, "fuzz.jsonl", (struct str){(const char *)data, size}, i == 0,
                              i == 0, &e);
        assert(rc == 0 || (e.message[0] != '\0' && (e.line >= 1 || size == 0)));
        buf_free(&out);
    }
    return 0;
}
