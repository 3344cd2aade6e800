/* A model server for programs in any language: it answers from scripts, from cassettes, or from a
 * real endpoint whose answers it records. Many sessions at once, each with its own position.
 *
 * Where a request goes: /v1/… belongs to the session "main", /s/NAME/v1/… or the header
 * `x-assay-session: NAME` to the session NAME. NAME is letters, digits, and . _ - ~; what is before
 * a ~ names its file (refund~2 is a second session of refund). /_assay/… is for tests that look in.
 */
#ifndef FAKELLM_SERVE_H
#define FAKELLM_SERVE_H

#include "cassettes/player.h"
#include "cassettes/recorder.h"
#include "kernel/drive/child.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/server.h"

enum serve_source {
    SERVE_SCRIPT, /* path: a script for every session, or a folder of NAME.script.yaml */
    SERVE_REPLAY, /* path: a cassette for every session, or a folder of NAME.yaml */
    SERVE_PLACED, /* path NULL: there are only the sessions that serve_place makes */
    SERVE_RECORD /* path: a folder that gets NAME.yaml, or with .yaml at its end the cassette of the
                    session "main", the only one then; upstream is asked */
};

struct serve_options {
    struct loop *loop;
    const char *address; /* numeric; beyond loopback a token must be set */
    uint16_t port;       /* 0 = any */
    struct str token;    /* what requests must bring (x-assay-token, or as their API key where that
                            goes nowhere else); n 0 = nothing */
    enum serve_source source;
    const char *path;
    struct str upstream[3]; /* SERVE_RECORD: the base URLs, by enum wire_format; none may be this
                               server. /v1 at their end is not doubled; where one of OpenAI's
                               formats names another version (…/v1beta/openai) or has a query, /v1
                               is not put behind it */
    bool as_clients;        /* SERVE_RECORD: those of OpenAI's formats are as its clients name them:
                               /v1 is never put behind them */
    struct transport_limits deadlines; /* SERVE_RECORD: of its calls; bodies may be of any size */
    bool limited;                      /* SERVE_RECORD: by the loop's limiter (drive/limiter.h) */
    const struct http_header *headers; /* SERVE_RECORD: sent in the place of the client's of the
                                          same name; outlive the server */
    size_t n_headers;
    enum cassette_mode mode;   /* SERVE_RECORD: what becomes of a cassette that is there */
    enum cassette_match match; /* where something is replayed */
    const struct rules *rules; /* also for what is recorded; NULL = none. Outlives the server */
    struct rechunk rechunk;    /* where something is replayed */
    uint32_t speed;            /* SERVE_REPLAY: thousandths of the recorded one; 0 = at once */
    bool real_time;            /* SERVE_SCRIPT: its waits are waited; else they take no time */
    struct server_limits limits;
    size_t sessions_max;
    /* One line for people: a miss, a mismatch, an upstream that cannot be reached. */
    void (*note)(void *ctx, struct str line);
    void *ctx;
};

struct serve;
struct fake_session;

/* Loads what is named and listens. Errors as fake_load, cassette_load (all files of a folder are
 * checked), server_new; ERR_USAGE: an address beyond loopback without a token, an upstream that is
 * this server. Owned by the caller; texts are copied, loop must outlive it. */
int serve_new(const struct serve_options *o, struct serve **out, struct err *e) MUST_CHECK;

/* "http://127.0.0.1:PORT", valid until serve_free. */
struct str serve_url(const struct serve *v);

/* A session that is answered by something of the caller's. */
struct serve_placement {
    struct str name;             /* as in the URL */
    struct transport *transport; /* outlives the session, as does the clock */
    struct sched *sched;
    struct fake_session *fake; /* what a script answers; NULL = something else does */
    /* The base URLs that requests go to, by enum wire_format, as clients name them; NULL = they go
     * as they came. */
    const struct str *upstream;
    /* A request of it was refused by the server itself, since it is larger than may be: why. NULL =
     * nobody wants to know. */
    void (*refused)(void *ctx, struct str why);
    void *ctx;
};
struct session;

/* Opens it; what is in *p is copied. ERR_EXISTS, ERR_LIMIT: there are too many. Owned by the
 * server. */
int serve_place(struct serve *v, const struct serve_placement *p, struct session **out,
                struct err *e) MUST_CHECK;

/* Closes it: what is under way there is stopped, its connections break. */
void serve_displace(struct session *s);

/* The variables that point programs of most kinds at the session `name` (n 0 = main), into
 * out[0..SERVE_VARIABLES), texts in arena; returns how many. no_proxy: the addresses that are asked
 * directly so far, to which ours is added. keys: also keys where there are none, since the official
 * SDKs do not begin without. */
enum { SERVE_VARIABLES = 10 };
size_t serve_variables(const struct serve *v, struct str name, struct str no_proxy, bool keys,
                       struct arena *arena, struct child_variable *out);

/* Takes no new connections, finishes the answers under way, then calls done(arg) once. */
void serve_stop(struct serve *v, void (*done)(void *arg), void *arg);

/* What became of all sessions so far. Texts are valid until serve_free. */
struct serve_report {
    size_t sessions;
    size_t requests;
    size_t refused;        /* requests that the script did not expect, or the cassette did not hold,
                              for whose session there is no file, or that were too large */
    size_t leftover;       /* sessions with steps or recordings that were never asked for */
    size_t drifts;         /* requests that their recording answered although they differ from it */
    struct str text;       /* what was left over, for people, a line each */
    struct str drift_text; /* the same of the drifts */
};
struct serve_report serve_report(struct serve *v);

/* Closes everything; the first error of a recording that could not be begun or written. v NULL
 * allowed. */
int serve_free(struct serve *v, struct err *e) MUST_CHECK;
#endif
