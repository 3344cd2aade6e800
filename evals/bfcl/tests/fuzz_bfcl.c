/* Any bytes as what a model said, in three languages, and as a value of Java and JavaScript: what
 * is read can be written, and nothing is run. The first byte chooses. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evals/bfcl/bfcl_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bfcl_patterns *patterns;

static void free_patterns(void)
{
    bfcl_patterns_free(patterns);
}

static void read_text(struct bfcl_work *w, enum bfcl_language language, struct str text)
{
    struct bfcl_calls calls;
    struct buf out = {0};
    enum bfcl_reading r = bfcl_read_text(w, language, text, &calls);
    for (size_t i = 0; r == BFCL_READ && i < calls.n; i++) {
        assert(calls.at[i].arguments.type == BFCL_DICT);
        bfcl_repr(w, &out, &calls.at[i].name);
        bfcl_repr(w, &out, &calls.at[i].arguments);
        assert(bfcl_equal(&calls.at[i].name, &calls.at[i].name));
    }
    buf_free(&out);
}

static void convert(struct bfcl_work *w, bool java, unsigned which, struct str text)
{
    static const struct str java_types[] = {{"integer", 7},   {"float", 5},  {"long", 4},
                                            {"double", 6},    {"Array", 5},  {"Set", 3},
                                            {"ArrayList", 9}, {"HashMap", 7}};
    static const struct str js_types[] = {{"integer", 7}, {"float", 5}, {"Bigint", 6},
                                          {"String", 6},  {"array", 5}, {"Boolean", 7},
                                          {"dict", 4},    {"any", 3}};
    struct bfcl_value v;
    struct buf out = {0};
    struct str type = java ? java_types[which % 8] : js_types[which % 8];
    struct str items = java ? java_types[which / 8 % 8] : js_types[which / 8 % 8];
    const char *error = java ? bfcl_java_value(w, text, type, &items, &v)
                             : bfcl_js_value(w, text, type, &items, &v);
    if (error == NULL) {
        bfcl_repr(w, &out, &v);
        assert(out.n > 0);
    }
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data + 1, size == 0 ? 0 : size - 1};
    if (size == 0 || utf8_invalid_at(text) != SIZE_MAX) {
        return 0; /* texts come out of JSON */
    }
    if (patterns == NULL) {
        patterns = bfcl_patterns_new();
        atexit(free_patterns);
    }
    struct bfcl_work w = {arena_new(), patterns};
    switch (data[0] % 5) {
    case 0: read_text(&w, BFCL_PYTHON, text); break;
    case 1: read_text(&w, BFCL_JAVA, text); break;
    case 2: read_text(&w, BFCL_JAVASCRIPT, text); break;
    default: convert(&w, data[0] % 5 == 3, data[0] / 5, text); break;
    }
    arena_free(w.arena);
    return 0;
}
