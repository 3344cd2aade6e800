/* Any bytes as what happens to a run: play.h makes its choices from them, check.h watches the
 * invariants. Whatever happened, the log can be fed again, and comes out the same. */
#include <assert.h>
#include <stdio.h>

#include "kernel/core/tests/play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS_MAX = 400 };

struct bytes {
    const uint8_t *p;
    size_t n;
};

/* Behind the end of the input the last choice is made each time: nothing rare happens any more. */
static uint64_t from_bytes(void *ctx, uint64_t bound)
{
    struct bytes *b = ctx;
    uint64_t v = 0;
    if (b->n == 0 || bound == 0) {
        return bound == 0 ? 0 : bound - 1;
    }
    for (uint64_t most = 1; most < bound && b->n > 0; most *= 256) {
        v = v * 256 + *b->p++;
        b->n--;
    }
    return v % bound;
}

static void must(const struct play *p)
{
    if (play_fault(p) != NULL) {
        fprintf(stderr, "%s\n%.*s", play_fault(p), STR_FMT(buf_str(&p->log)));
    }
    assert(play_fault(p) == NULL);
}

/* Feeds the whole log again. */
static void verify(const struct play *p)
{
    struct kernel_replay out = {.tools = p->tools, .n_tools = PLAY_TOOLS};
    struct kernel_config config;
    struct err e = {0};
    struct arena *arena = arena_new();
    int rc =
        kernel_config_of_log(arena, "log", buf_str(&p->log), p->tools, PLAY_TOOLS, &config, &e);
    assert(rc == 0);
    struct kernel *k = kernel_new(&config);
    rc = kernel_replay(k, "log", buf_str(&p->log), SIZE_MAX, &out, &e);
    if (rc != 0) {
        fprintf(stderr, "line %u: %s\n%.*s", e.line, e.message, STR_FMT(buf_str(&p->log)));
    }
    assert(rc == 0 && out.missing.n == 0 && out.bytes == p->log.n);
    kernel_free(k);
    k = kernel_new(&config);
    out.snapshot = buf_str(&p->snapshot);
    rc = kernel_replay(k, "log", buf_str(&p->log), SIZE_MAX, &out, &e);
    assert(rc == 0 && out.missing.n == 0 && out.bytes == p->log.n);
    kernel_free(k);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = {data, size};
    struct play p;
    play_begin(&p, from_bytes, &b);
    p.crashes = from_bytes(&b, 2) == 1;
    p.snapshots = from_bytes(&b, 3);
    for (int i = 0; i < EVENTS_MAX && b.n > 0; i++) {
        play_event(&p);
        must(&p);
    }
    verify(&p);
    play_end(&p);
    return 0;
}
