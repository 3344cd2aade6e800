/* Cassettes: recorded HTTP and tool traffic of one session, in vcrpy's version 1 shape. Reading,
 * writing, replaying, recording, showing, checking. */
#ifndef CASSETTES_CASSETTE_H
#define CASSETTES_CASSETTE_H

#include "kernel/base/doc.h"
#include "kernel/base/finding.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/sched.h"
#include "kernel/http.h"
#include "kernel/toolbox.h"
#include "kernel/wire/wire.h"

enum { CASSETTE_FORMAT = 1 };

/* ms since the interaction began, and how many bytes came then. */
struct cassette_chunk {
    int64_t at_ms;
    int64_t bytes;
};

struct interaction {
    uint32_t n;    /* from 1 */
    uint32_t line; /* in the file */
    bool tool;     /* method CALL, uri tool:NAME, or a decision */
    bool decision; /* method ASK, uri approval:NAME: what somebody said of a call of the tool */
    struct str method;
    struct str uri;
    struct http_header *request_headers;
    size_t n_request_headers;
    struct str request_body;        /* exact bytes; for parsed_body its JSON text */
    const struct val *request_json; /* the body as a value, NULL when it is no JSON */
    int status;                     /* 0 = none came */
    struct str reason;
    struct http_header *headers; /* without Content-Encoding and Transfer-Encoding once decoded */
    size_t n_headers;
    struct str body; /* decoded (gzip, deflate) */
    int64_t at_ms;   /* -1 = not recorded */
    int64_t took_ms; /* 0 when not recorded */
    enum http_end ended;
    struct str detail; /* why it was not clean, as the sink heard it */
    struct cassette_chunk *chunks;
    size_t n_chunks;
    struct str call_id; /* tools */
};

/* ---- what of requests does not count ---- */

/* Rules, in their order: parts of a request's body (or of a tool's arguments) that are left out, or
 * whose text is normalised, before it is compared with the recordings. */
struct rules;

enum cassette_rule_kind {
    RULE_IGNORE,   /* "PATH" */
    RULE_NORMALISE /* "PATH=REGEX=>TEXT" */
};

/* No rules. Owned by the caller. */
struct rules *cassette_rules_new(void);
void cassette_rules_free(struct rules *r); /* NULL allowed */

/* Adds a rule as it stands on the command line and in a cassette's head (cassettes/README.md); one
 * that is there already is not added again. text need not outlive it. ERR_INPUT: what is wrong and
 * where; ERR_LIMIT. */
int cassette_rules_add(struct rules *r, enum cassette_rule_kind kind, struct str text,
                       struct err *e) MUST_CHECK;
/* Adds every rule of another set; from NULL = none. ERR_LIMIT. */
int cassette_rules_add_all(struct rules *r, const struct rules *from, struct err *e) MUST_CHECK;

size_t cassette_rules_count(const struct rules *r); /* NULL: 0 */
/* The text of rule i, which lives as long as r. */
struct str cassette_rules_text(const struct rules *r, size_t i, enum cassette_rule_kind *kind);

/* What a session had asked before its recording begins: that of a run that goes on holds the rest
 * of it. 0, both: it begins with the session. */
struct cassette_place {
    int64_t requests; /* of the model, that had an answer */
    int64_t calls;    /* of tools */
};

/* One loaded file. Everything in it lives until cassette_free. */
struct cassette {
    struct arena *arena;
    const char *path;
    struct str source;  /* the file's bytes */
    size_t whole;       /* how many of them there are before an unfinished last interaction */
    bool ours;          /* has an `assay` header */
    bool torn;          /* an unfinished last interaction was left out */
    uint32_t torn_line; /* where that begins */
    int64_t encoder;
    struct str run;
    uint64_t seed;
    struct str started_at;
    struct cassette_place place;
    struct rules *rules; /* of its head; NULL = none */
    struct interaction *items;
    size_t n;
};

/* Loads a file, ours or vcrpy's (YAML or JSON; body as string, map {string}, {base64_string},
 * !!binary, parsed_body; gzip or deflate; missing version). A recording that was killed while
 * writing loses its unfinished last interaction, with *warning (may be NULL) set to say so.
 * ERR_NOT_FOUND, ERR_IO, ERR_INPUT with place, ERR_LIMIT. */
int cassette_load(const char *path, struct cassette **out, struct buf *warning,
                  struct err *e) MUST_CHECK;
/* The same from a text that is in memory. path: named in errors. text need not outlive it. */
int cassette_parse(const char *path, struct str text, struct cassette **out, struct buf *warning,
                   struct err *e) MUST_CHECK;
void cassette_free(struct cassette *c); /* NULL allowed */

/* The first request that a session can replay (Chat Completions, all that this version has a client
 * for), or NULL, with what the cassette holds instead appended to *why. */
const struct interaction *cassette_session(const struct cassette *c, struct buf *why);

/* How old a recording is at `now_ms` (Unix): false where it is older than max_ms, or does not say
 * when it began; why is appended to *text. */
bool cassette_is_young(const struct cassette *c, int64_t now_ms, int64_t max_ms, struct buf *text);

/* What is done with a recording that is there, and with none (cassettes/README.md, "Modes"). */
enum cassette_mode {
    CASSETTE_NEW,          /* one that is there is an error: nothing is overwritten unasked */
    CASSETTE_ONCE,         /* one that is there is replayed, none is recorded */
    CASSETTE_NEW_EPISODES, /* one that is there is replayed, and what it lacks is added to it */
    CASSETTE_ALL           /* recorded anew */
};

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

/* Writes a cassette while a session runs: each interaction is appended at once when it ends. */
struct recorder;

struct recorder_options {
    const char *path;
    bool overwrite; /* else an existing file is ERR_EXISTS */
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
 * folder, or nothing can be added to `after`; ERR_IO, also when another recorder writes it. */
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

/* Appends one interaction as YAML in our form. Never writes credentials: request headers are cut to
 * Content-Type and Accept, response headers to an allow-list without cookies; keys in URLs and
 * known key shapes in bodies are replaced by REDACTED, in an error also the key that its request
 * carried. */
void cassette_add_interaction(struct buf *out, const struct interaction *it);

/* Appends a whole file: ours, or for another program's recording vcrpy's form without times. No
 * credentials are written, as above. */
void cassette_write(const struct cassette *c, struct buf *out);

/* What a redaction hides beside the credentials that it knows. */
struct hiding {
    const struct str *headers; /* names, of any case */
    size_t n_headers;
    const struct str *paths; /* user, $.metadata.keys[0], messages[*].name (cassettes/README.md) */
    size_t n_paths;
};

/* Hides the headers' values, and every string and number at the paths or beneath them, in requests,
 * answers and the events of streams; equal ones get the same name in this file. *hidden is their
 * count. ERR_INPUT: not a path, with what was expected; ERR_LIMIT: too many different values. */
int cassette_hide(struct cassette *c, const struct hiding *h, size_t *hidden,
                  struct err *e) MUST_CHECK;

/* Replaces a file that is there as a whole. ERR_NOT_FOUND, ERR_IO, also when a recorder has it
 * open.
 */
int cassette_replace(const char *path, struct str text, struct err *e) MUST_CHECK;

/* Takes over a recording of another program: vcrpy's in every variant, or an HTTP archive
 * (HAR 1.2), as one of ours, for cassette_write. What is left out is appended to *left_out, a line
 * each, with place and reason. Errors as cassette_load. */
int cassette_import(const char *path, struct cassette **out, struct buf *left_out,
                    struct err *e) MUST_CHECK;

/* Compares two recordings: interactions with equal requests are pairs, then those to the same
 * place, in their order. Appends what was removed, added or changed, in the request or in the
 * answer, for people or as JSON lines; returns how many that are. No credentials are shown. */
size_t cassette_compare(const struct cassette *a, const struct cassette *b, bool json,
                        struct buf *out);

/* Drops the torn tail of a recording that was killed: its bytes go to a new file beside it,
 * FILE.torn, then the file is replaced as a whole. Appends to *told what was done, or that nothing
 * was. ERR_INPUT also when the file cannot be read without its tail, ERR_IO also when a recorder
 * has it open. */
int cassette_repair(const char *path, struct buf *told, struct err *e) MUST_CHECK;

/* What to drop from a file; what several name is dropped once. */
struct pruning {
    const char *drop;  /* "3,5-7": these; NULL = not said */
    const char *keep;  /* all but these; NULL = not said */
    const char *model; /* whose request asks this model; NULL = not said */
    bool duplicates;   /* whose request and answer are as in an earlier one */
    bool failed;       /* that ended otherwise than cleanly or with a status of 400 or more */
};

/* Appends the file's text without what is pruned, the rest as it stands, byte for byte, and to
 * *told a line for each that is dropped; *dropped is their count. ERR_USAGE: no numbers, or beyond
 * the end; ERR_INPUT: a torn file, or one that is not written an interaction after the other. */
int cassette_prune(const struct cassette *c, const struct pruning *what, struct buf *out,
                   struct buf *told, size_t *dropped, struct err *e) MUST_CHECK;

/* Prints every interaction readably, or as JSON lines. */
void cassette_show(const struct cassette *c, bool json, struct buf *out);

/* Finds what would hinder a replay: nothing that could be replayed, bodies that decode to no reply,
 * requests without an answer, chunks that do not add up, credentials, duplicate requests with
 * different answers, an encoder newer than ours. One finding at a time to `found`. */
void cassette_check(const struct cassette *c, void (*found)(void *ctx, const struct finding *f),
                    void *ctx);

/* Finds secrets alone, all of them, each as an error with interaction, part and kind. */
void cassette_check_secrets(const struct cassette *c,
                            void (*found)(void *ctx, const struct finding *f), void *ctx);
#endif
