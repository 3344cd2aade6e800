#include "kernel/base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "kernel/base/arena.h"

enum {
    PATTERN_BYTES_MAX = 16 * 1024,
    STEPS_MAX = 1000 * 1000 * 1000, /* of one search, about two seconds */
    ITEM_STEPS = 16,                /* for trying an item of the pattern; a character passed is 1 */
    MATCH_CALLS_MAX = 10 * 1000 * 1000, /* PCRE2's own limit, from one start */
    HEAP_KIB_MAX = 64 * 1024
};

struct regex {
    pcre2_code *code;
};

/* PCRE2's match limit starts anew at every start position, so a search over a long text has no
 * limit at all; hence a callout before every item of the pattern that adds up the work. */
struct work {
    uint64_t steps;
    size_t last; /* position at the callout before */
};

static int on_item(pcre2_callout_block *block, void *data)
{
    struct work *work = data;
    size_t at = block->current_position;
    work->steps += ITEM_STEPS + (at > work->last ? at - work->last : work->last - at);
    work->last = at;
    return work->steps > STEPS_MAX ? PCRE2_ERROR_CALLOUT : 0;
}

static pcre2_code *compile(struct str pattern, uint32_t extra, int *code, size_t *at)
{
    pcre2_compile_context *context = mem_need(pcre2_compile_context_create(NULL));
    if (pcre2_set_compile_extra_options(context, extra) != 0) {
        pcre2_compile_context_free(context);
        *code = PCRE2_ERROR_NOMEMORY;
        return NULL;
    }
    pcre2_code *made =
        pcre2_compile((PCRE2_SPTR)(pattern.n == 0 ? "" : pattern.p), pattern.n,
                      PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, code, at, context);
    pcre2_compile_context_free(context);
    return made;
}

int regex_new(struct str pattern, struct regex **out, struct err *e)
{
    int code = 0;
    size_t at = 0;
    if (pattern.n > PATTERN_BYTES_MAX) {
        return err_set(e, ERR_INPUT, "a regular expression of %zu bytes; expected at most %d",
                       pattern.n, PATTERN_BYTES_MAX);
    }
    pcre2_code *made = compile(pattern, 0, &code, &at);
    if (made == NULL && code == PCRE2_ERROR_UNSUPPORTED_ESCAPE_SEQUENCE) {
        int again = 0; /* \u00e9, as JSON Schema and JavaScript write it */
        size_t again_at = 0;
        made = compile(pattern, PCRE2_EXTRA_ALT_BSUX, &again, &again_at);
    }
    if (made == NULL) {
        PCRE2_UCHAR why[160];
        if (pcre2_get_error_message(code, why, sizeof why) < 0) {
            why[0] = '\0';
        }
        return err_set(e, ERR_INPUT, "bad regular expression at offset %zu: %s", at,
                       (const char *)why);
    }
    *out = mem_zero(sizeof **out);
    (*out)->code = made;
    return 0;
}

void regex_free(struct regex *r)
{
    if (r != NULL) {
        pcre2_code_free(r->code);
        free(r);
    }
}

/* What a result of pcre2_match means. */
static int outcome(int rc)
{
    switch (rc) {
    case PCRE2_ERROR_NOMATCH: return 0;
    case PCRE2_ERROR_CALLOUT:
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_RECURSELOOP:
    case PCRE2_ERROR_NOMEMORY: return ERR_LIMIT;
    }
    return rc >= 0 ? 1 : 0;
}

int regex_find(const struct regex *r, struct str s, size_t from, size_t *at, size_t *n)
{
    pcre2_match_data *data = mem_need(pcre2_match_data_create(1, NULL));
    pcre2_match_context *context = mem_need(pcre2_match_context_create(NULL));
    int rc = PCRE2_ERROR_NOMEMORY;
    struct work work = {.steps = 0};
    if (pcre2_set_callout(context, on_item, &work) == 0 &&
        pcre2_set_match_limit(context, MATCH_CALLS_MAX) == 0 &&
        pcre2_set_heap_limit(context, HEAP_KIB_MAX) == 0) {
        rc = pcre2_match(r->code, (PCRE2_SPTR)(s.n == 0 ? "" : s.p), s.n, from, 0, data, context);
    }
    if (rc >= 0) {
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
        *at = ends[0] < ends[1] ? ends[0] : ends[1]; /* \K in a lookahead turns them round */
        *n = ends[0] < ends[1] ? ends[1] - ends[0] : 0;
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    return outcome(rc);
}

int regex_search(const struct regex *r, struct str s)
{
    size_t at, n;
    return regex_find(r, s, 0, &at, &n);
}
