/* What the tests of cassettes/ share: loading from a text, and listening to answers. */
#ifndef CASSETTES_TESTS_RIG_H
#define CASSETTES_TESTS_RIG_H

#include "cassettes/cassette_int.h"
#include "cassettes/edit.h"
#include "cassettes/player.h"
#include "cassettes/recorder.h"
#include "ci/testing/testing.h"
#include "kernel/drive/loop.h"

/* Loads a text that must be good; fails the test and returns NULL otherwise. */
struct cassette *rig_load(const char *text);

/* The whole of the example cassette, in a static buffer; NULL where examples/ is not beside the
 * checkout. */
const char *rig_example(void);

/* One session's clock, and everything that was heard, as "word@ms " each. */
struct rig {
    struct loop *loop;
    struct sched *sched;
    struct buf heard;
};
void rig_begin(struct rig *r);
void rig_end(struct rig *r);

/* A cassette that is played to one session. */
struct playing {
    struct rig rig;
    struct cassette *c;
    struct player *p;
    struct transport *http;
    struct toolbox *tools;
};
/* Of the options, cassette and sched are set here. */
void rig_play(struct playing *t, const char *text, struct player_options o);
void rig_stop(struct playing *t);

/* Sinks that note what comes into r->heard: "200[3]@5" a head with 3 headers, "+text@7" a piece,
 * ".clean@9" an end, ".miss(detail)@0" with its detail. */
struct http_sink rig_sink(struct rig *r);
/* "ok(content)@5", "failed(CODE message hint retryable)@5", "miss(message)@0". */
struct tool_sink rig_tool_sink(struct rig *r);

struct http_call *rig_ask(struct rig *r, struct transport *t, const char *url, const char *body);
struct tool_run *rig_call(struct rig *r, struct toolbox *t, const char *name, const char *arguments,
                          uint32_t order);

/* Checks r->heard and empties it. */
#define RIG_HEARD(r, want) rig_heard(__FILE__, __LINE__, (r), (want))
void rig_heard(const char *file, int line, struct rig *r, const char *want);

/* The text of b, with a NUL behind it, and each REDACTED without the id of what it hides. */
const char *rig_without_ids(struct buf *b);

/* Whether `text` holds `part`; shows both when not. */
#define CHECK_HOLDS(text, part) rig_holds(__FILE__, __LINE__, (text), (part))
void rig_holds(const char *file, int line, struct str text, const char *part);

#endif
