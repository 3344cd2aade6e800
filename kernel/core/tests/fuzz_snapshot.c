/* Any bytes as a snapshot: as they are, and as changes to a right one whose check is made to fit,
 * so that what stands in it is read. Whatever they are, the kernel is one that can be gone on with:
 * it takes events, and calls a model only with a history that could be sent. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "kernel/base/hash.h"
#include "kernel/base/rng.h"
#include "kernel/core/snapshot.h"
#include "kernel/core/tests/play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUNS = 8, EVENTS = 40, GOES_ON = 30, CHECK_BYTES = 29, EDIT_BYTES = 4 };

static uint64_t from_rng(void *ctx, uint64_t bound)
{
    return rng_below(ctx, bound);
}

/* A log and the latest snapshot of it; the seed decides which. Each is made once. */
static const struct play *play(uint64_t seed)
{
    static struct play plays[RUNS];
    struct play *p = &plays[seed];
    struct rng rng = rng_seeded(seed);
    if (p->k == NULL) {
        play_begin(p, from_rng, &rng);
        p->snapshots = 1 + seed % 3;
        for (int i = 0; i < EVENTS; i++) {
            play_event(p);
        }
    }
    return p;
}

/* The snapshot with bytes left out and others put in at some places. */
static void change(struct buf *out, struct str text, const uint8_t *data, size_t size)
{
    size_t at = 0;
    text = str_slice(text, 0, text.n < CHECK_BYTES ? 0 : text.n - CHECK_BYTES);
    while (size >= EDIT_BYTES) {
        size_t skip = ((size_t)data[0] << 8 | data[1]) % (text.n + 1), drop = data[2];
        size_t add = data[3] % 32;
        data += EDIT_BYTES;
        size -= EDIT_BYTES;
        add = add > size ? size : add;
        buf_add(out, str_slice(text, at, at + skip));
        buf_add(out, (struct str){(const char *)data, add});
        at += skip + drop;
        data += add;
        size -= add;
    }
    buf_add(out, str_slice(text, at, text.n));
    buf_fmt(out, ",\"check\":\"%016" PRIx64 "\"}\n", hash64(0, buf_str(out)));
}

/* What a driver would do; faults of the log are none here, since the snapshot may tell of another
 * run. */
static void go_on(struct kernel *k, struct rng *rng)
{
    struct command c;
    struct str asked = STR("");
    uint64_t now = kernel_now(k);
    struct tool_call call = {STR("c"), STR("look"), STR("{}")};
    struct reply reply = {.content = STR("a"), .calls = &call, .usage = USAGE_UNKNOWN};
    struct tool_output output = {.ok = true, .content = STR("b")};
    struct event ev = {.kind = EV_RESUME, .text = {NULL, 0}};
    if (kernel_stage(k) == STAGE_WAITING) {
        ev.text = STR("go on");
    }
    for (int i = 0; i < GOES_ON; i++) {
        int rc = kernel_feed(k, &ev, now);
        assert(rc == 0 || rc == ERR_STATE);
        ev = (struct event){.kind = EV_TIME};
        while (kernel_poll(k, &c)) {
            if (c.kind == CMD_CALL_MODEL) {
                assert(history_check(c.messages, c.n_messages, NULL) == 0);
                reply.n_calls = rng_below(rng, 3) > 0;
                ev = (struct event){.kind = EV_REPLY, .reply = &reply};
            } else if (c.kind == CMD_CALL_TOOL || c.kind == CMD_ASK_APPROVAL) {
                asked = c.call_id;
                ev = (struct event){.kind = c.kind == CMD_CALL_TOOL ? EV_TOOL_RESULT : EV_APPROVAL,
                                    .call_id = asked,
                                    .output = &output};
            } else if (c.kind == CMD_SUMMARISE) {
                ev = (struct event){.kind = EV_SUMMARY, .text = STR("short")};
            } else if (c.kind == CMD_FINISH) {
                ev = (struct event){.kind = EV_RESUME, .text = STR("and now?")};
            }
        }
        (void)kernel_take_log(k);
        now += rng_below(rng, 1000);
    }
}

/* lines_max 1: the log behind its first line is of no interest. */
static void try(const struct play *p, struct str snapshot, size_t lines_max)
{
    struct rng rng = rng_seeded(1);
    struct kernel_replay out = {.tools = p->tools, .n_tools = PLAY_TOOLS, .snapshot = snapshot};
    struct kernel *k = kernel_new(&p->first);
    int rc = kernel_replay(k, "log", buf_str(&p->log), lines_max, &out, NULL);
    assert(rc == 0 || out.restored > 0);
    if (rc == 0 && lines_max > 1) {
        go_on(k, &rng);
    }
    buf_free(&out.missing);
    kernel_free(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = {0};
    if (size < 1) {
        return 0;
    }
    const struct play *p = play(data[0] % RUNS);
    try(p, (struct str){(const char *)data + 1, size - 1}, 1);
    change(&text, buf_str(&p->snapshot), data + 1, size - 1);
    try(p, buf_str(&text), SIZE_MAX);
    buf_free(&text);
    return 0;
}
