/* Any bytes as a file of decisions: they load and decide about a call, or an error says where they
 * fail. */
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/approve.h"
#include "cli/cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const arguments[] = {"{}", "{\"amount\":20,\"to\":\"a\"}",
                                            "{\"amount\":1e400}", "no JSON"};
    char path[64];
    struct approver *a = NULL;
    struct err e = {.code = 0};
    snprintf(path, sizeof path, "/tmp/fuzz_decisions.%ld", (long)getpid());
    FILE *f = fopen(path, "wb");
    assert(f != NULL);
    size_t written = fwrite(data, 1, size, f);
    assert(fclose(f) == 0 && written == size);
    int rc = approver_new(NULL, path, &a, &e);
    unlink(path);
    assert(rc == 0 || e.message[0] != '\0');
    for (size_t i = 0; rc == 0 && i < sizeof arguments / sizeof arguments[0]; i++) {
        enum decision decision = DECIDED_ALLOW;
        if (approver_decides(a, STR("refund"), str_of(arguments[i]), &decision)) {
            assert(decision == DECIDED_ALLOW || decision == DECIDED_DENY ||
                   decision == DECIDED_ALWAYS);
        }
    }
    approver_free(rc == 0 ? a : NULL);
    return 0;
}
