/* Writes a cassette while a session runs, by wrapping the seams that model and tools are asked
 * through. */
#ifndef CASSETTES_RECORDER_H
#define CASSETTES_RECORDER_H

#include "cassettes/cassette.h"
#include "kernel/drive/sched.h"
#include "kernel/toolbox.h"

/* What is done with a recording that is there, and with none (cassettes/README.md, "Modes"). */
enum cassette_mode {
    CASSETTE_NEW,          /* one that is there is an error: nothing is overwritten unasked */
    CASSETTE_ONCE,         /* one that is there is replayed, none is recorded */
    CASSETTE_NEW_EPISODES, /* one that is there is replayed, and what it lacks is added to it */
    CASSETTE_ALL           /* recorded anew */
};

/* Writes a cassette while a session runs: each interaction is appended at once when it ends. */
struct recorder;

struct recorder_options {
    const char *path;
    bool overwrite; /* a cassette; else an existing file is ERR_EXISTS */
    struct str run;
    uint64_t seed;
    struct str started_at;
    struct cassette_place place;
    const struct rules *rules; /* for the head; NULL = none */
    /* A cassette that is gone on with: at its own path, or in a new file that begins as a copy.
     * Run, seed, start and rules are then its own. NULL = a new one. */
    const struct cassette *after;
    struct sched *sched;
};
/* Makes the file, and its folders where they are not there. ERR_EXISTS, ERR_INPUT: path is a
 * folder or a file to overwrite that is no cassette, or nothing can be added to `after`; ERR_IO,
 * also when another recorder writes it. */
int recorder_new(const struct recorder_options *o, struct recorder **out, struct err *e) MUST_CHECK;
/* Wrappers; owned by the recorder, inner ones are not. Answers pass through unchanged. */
struct transport *recorder_transport(struct recorder *r, struct transport *inner);
struct toolbox *recorder_toolbox(struct recorder *r, struct toolbox *inner);
/* Adds a decision about a call, which was asked for at at_ms and came now. word: allow, deny or
 * always. */
void recorder_decided(struct recorder *r, const struct tool_call *call, struct str word,
                      uint64_t at_ms);
/* The session is given up: calls that are stopped from now on are no part of the recording, so that
 * its replay ends there as a miss. */
void recorder_abandon(struct recorder *r);
/* How many interactions were written. */
size_t recorder_count(const struct recorder *r);
/* Flushes and closes; frees r. Calls still open are stopped and (unless it was abandoned) recorded
 * so: the inner seams must still live. ERR_IO when something could not be written, ERR_NET when a
 * body was too large and so was cut, also earlier: the session never notices. */
int recorder_close(struct recorder *r, struct err *e) MUST_CHECK;
#endif
