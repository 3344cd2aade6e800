#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/json.h"
#include "kernel/base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WRITTEN_MAX = 1 << 20 };

/* Whatever the bytes are: a document or an error with a message; and a document can be written and,
 * where it fits, read again as the same data. */
static void check(struct str text, enum yaml_rules rules)
{
    struct arena *a = arena_new();
    struct val *v = NULL, *again = NULL;
    struct err e = {.code = 0};
    int rc = yaml_parse(a, "fuzz.yaml", text, rules, &v, &e);
    if (rc != 0) {
        assert(rc == e.code && e.message[0] != '\0');
    } else {
        struct buf json = {.max = WRITTEN_MAX};
        json_add(&json, v);
        if (!json.truncated && (v->kind == VAL_OBJECT || v->kind == VAL_ARRAY)) {
            rc = json_parse(a, NULL, buf_str(&json), &again, &e);
            assert(rc == 0);
        }
        buf_free(&json);
    }
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    check(text, YAML_CORE);
    check(text, YAML_PYYAML);
    return 0;
}
