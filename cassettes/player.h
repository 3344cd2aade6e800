/* Replays one cassette for one session, at the seams that model and tools are asked through. */
#ifndef CASSETTES_PLAYER_H
#define CASSETTES_PLAYER_H

#include "cassettes/cassette.h"
#include "kernel/drive/sched.h"
#include "kernel/toolbox.h"

/* How a request finds its recording (cassettes/README.md, "How requests find their answer"). */
enum cassette_match { CASSETTE_BODY, CASSETTE_ORDER, CASSETTE_RELAXED };
const char *cassette_match_name(enum cassette_match match); /* "body", "order", "relaxed" */

/* Cuts the bodies of answers otherwise than they were recorded: pieces of `bytes` bytes, or where
 * `random` of 1 to `bytes`, by `seed`. bytes 0 = as recorded. A piece comes when its last byte
 * did. */
struct rechunk {
    uint32_t bytes;
    bool random;
    uint64_t seed;
};

/* Replays one cassette for one session: what of it was used, what missed, what differed. */
struct player;

/* What stands before the command, under a miss. */
#define PLAYER_MEND "to record it anew: "
/* The end of the line that says how much of a recording was used before a miss. */
#define PLAYER_USED " recorded interactions were used; never asked for:"

/* All that is named must outlive the player. */
struct player_options {
    const struct cassette *cassette;
    enum cassette_match match;
    const struct rules *rules; /* NULL = those of the cassette */
    struct rechunk rechunk;
    struct sched *sched;
    struct str mend; /* the command that records it anew, shown under each miss; n 0 = not known */
    /* Answers the calls that are not recorded of tools that may run in a replay (built in or
     * canned), for which runs_without(ctx, name) holds. NULL, both: such a call is a miss. */
    struct toolbox *fallback;
    bool (*runs_without)(void *ctx, struct str name);
    void *ctx;
    /* Answers what is not recorded, instead of a miss: requests here, calls of any tool at
     * `fallback`, which must be there. From the first of them on the clock is real. NULL: nothing
     * does. */
    struct transport *live;
};
struct player *player_new(const struct player_options *o);
void player_free(struct player *p); /* NULL allowed */

/* The seams it answers at; owned by the player. They open no socket and touch no clock but the
 * scheduler's. A request that is not there ends HTTP_MISS. */
struct transport *player_transport(struct player *p);
struct toolbox *player_toolbox(struct player *p);

/* Takes what a run had used before it was cut off, before anything is asked: the first model
 * requests in the recorded order, and the recording of one tool call, of one decision. More than
 * there is: no matter. */
void player_skip_requests(struct player *p, size_t n);
void player_skip_call(struct player *p, struct str name, struct str arguments);
void player_skip_decision(struct player *p, struct str name, struct str arguments);

/* Whether the cassette holds decisions: then it is what decides about calls. */
bool player_decides(const struct player *p);

/* What was decided about the call, the first decision of it that was not taken yet: allow, deny or
 * always into *word, and how long it took into *took_ms. False: a miss, or with a live transport
 * something to ask anew. */
bool player_decision(struct player *p, struct str name, struct str arguments, struct str *word,
                     int64_t *took_ms);

/* When the next request of the model was recorded, in milliseconds since the session's start; -1
 * where there is none or the recording does not say: for the time that a user took to say more. */
int64_t player_next_at(const struct player *p);

/* The recording that the newest request of the model was given; NULL: a miss, or something live. */
const struct interaction *player_last(const struct player *p);

/* What went wrong so far, for people, one finding a paragraph: misses (nearest recording, first
 * differing path with both values, or that the recording ends; what was used and what was not; the
 * command that mends it), drift (order, relaxed), unused interactions. The lines behind a finding's
 * first are indented by two spaces; no text ends with a newline. Owned by the player. */
struct player_report {
    size_t misses;
    size_t drifts;
    size_t unused;
    size_t live; /* answered by player_options.live, or by a tool in its stead */
    struct str miss_text;
    struct str drift_text;
    struct str unused_text;
};
struct player_report player_report(struct player *p);

/* Appends what people should know of a replay, a finding a line below its heading, without a last
 * newline; nothing where all went well. True when it is an error: a miss, or with strict also drift
 * and unused recordings. */
bool player_report_text(const struct player_report *r, bool strict, struct buf *out);
#endif
