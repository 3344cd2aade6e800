/* Cassettes: recorded HTTP and tool traffic of one session, in vcrpy's version 1 shape: the file as
 * data, read, written, shown and checked. player.h replays one, recorder.h makes one, edit.h
 * changes them. */
#ifndef CASSETTES_CASSETTE_H
#define CASSETTES_CASSETTE_H

#include "kernel/base/doc.h"
#include "kernel/base/finding.h"
#include "kernel/http.h"

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

/* The first request that a session can replay: one to a model, in any of the wire formats. NULL:
 * there is none; what the cassette holds instead is appended to *why. */
const struct interaction *cassette_session(const struct cassette *c, struct buf *why);

/* How old a recording is at `now_ms` (Unix): false where it is older than max_ms, or does not say
 * when it began; why is appended to *text, as it goes on behind "FILE: ". */
bool cassette_is_young(const struct cassette *c, int64_t now_ms, int64_t max_ms, struct buf *text);

/* Appends one interaction as YAML in our form. Never writes credentials: request headers are cut to
 * Content-Type and Accept, response headers to an allow-list without cookies; keys in URLs and
 * known key shapes in bodies are replaced by REDACTED, in an error also the key that its request
 * carried. */
void cassette_add_interaction(struct buf *out, const struct interaction *it);

/* Appends a whole file: ours, or for another program's recording vcrpy's form without times. No
 * credentials are written, as above. */
void cassette_write(const struct cassette *c, struct buf *out);

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
