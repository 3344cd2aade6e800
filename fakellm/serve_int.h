/* What the files of the server share: a session, and the requests it got. */
#ifndef FAKELLM_SERVE_INT_H
#define FAKELLM_SERVE_INT_H

#include "fakellm/fake.h"
#include "fakellm/serve.h"

enum {
    SESSION_NAME_MAX = 128,
    SESSION_BUCKETS = 4096,
    JOURNAL_MAX = 10000,           /* requests of a session */
    JOURNAL_BYTES_MAX = 8 << 20,   /* of a session */
    JOURNALS_BYTES_MAX = 256 << 20 /* of all together */
};

/* One request in the journal. */
struct entry {
    size_t n; /* in its session, from 1 */
    struct str method;
    struct str path;
    struct str body;
    int status; /* 0 = none was sent */
    enum http_end ended;
    bool refused;       /* a miss, a mismatch, or no request that the provider would take */
    struct str message; /* why; n 0 = nothing to say */
    bool open;
};

struct session {
    struct serve *serve;
    struct session *next; /* in order of their first request */
    struct session *same; /* the next one whose name has the same hash */
    struct str name;
    struct arena *arena; /* the journal's texts, replaced by a reset */
    struct sched *sched;
    struct transport *transport; /* what answers: of the script, the player or the recorder */
    struct fake_session *fake;
    struct player *player;
    struct cassette *cassette; /* SERVE_RECORD: one that was there */
    struct recorder *recorder;
    struct transport *upstream;
    bool placed;                             /* transport, sched and fake are somebody else's */
    void (*told)(void *ctx, struct str why); /* placed: of requests that are too large; or NULL */
    void *ctx;
    bool as_clients;        /* base_url is as in the options of that name */
    struct str base_url[3]; /* of what is asked, by enum wire_format; n 0 = nobody is */
    struct entry *journal;
    size_t n_journal, cap_journal;
    size_t requests; /* all of them, also those that the journal has no room for */
    size_t journal_bytes;
    size_t refused;
    struct hop *hops; /* under way */
    struct buf report;
};

/* A file that sessions are made of. */
struct source {
    struct str name; /* n 0 = it serves every session */
    struct fake_script *script;
    struct cassette *cassette;
};

struct serve {
    struct serve_options options; /* texts are owned */
    struct arena *arena;
    struct server *server;
    struct str url;
    struct source *sources;
    size_t n_sources;
    struct session *sessions;
    struct session **last;
    struct session *by_hash[SESSION_BUCKETS];
    size_t n_sessions;
    size_t journals_bytes;
    struct buf report;
    struct buf drifts;
    size_t unserved; /* requests for whose session there is no file */
    int rc;          /* the first error of a recording */
    struct err error;
};

/* ---- serve_source.c ---- */

/* Loads the files behind options.path. Errors as serve_new. */
int sources_load(struct serve *v, struct err *e) MUST_CHECK;
void sources_free(struct serve *v);

/* Puts what answers into a new session. ERR_NOT_FOUND: no file for its name. ERR_EXISTS, ERR_IO:
 * its recording cannot be made. */
int source_open(struct session *s, struct err *e) MUST_CHECK;

/* Takes it out again: the session can be opened anew. Errors of a recording go into serve->error.
 */
void source_close(struct session *s);

/* Appends what was left over or missed, a line each, without a last newline; nothing where all was
 * well. Returns whether there was something left over. */
bool source_leftover(struct session *s, struct buf *out);

/* Appends the requests that differed from the recordings that answered them, a line each; returns
 * how many. */
size_t source_drifts(struct session *s, struct buf *out);

/* The request as what answers the session wants it: to the upstream's address, without what is
 * between the client and us. New parts in arena. */
struct http_request source_request(const struct session *s, const struct http_request *rq,
                                   enum wire_format f, struct arena *arena);

/* The headers in[0..n) that are between an upstream and its client, into out, without those that
 * are between neighbours; returns how many. */
size_t source_headers(const struct http_header *in, size_t n, struct http_header *out);

/* ---- serve.c ---- */

/* Ends what is under way, forgets the journal, and begins anew. */
int session_reset(struct session *s, struct err *e) MUST_CHECK;

/* Answers with a whole body. */
void answer_json(struct exchange *x, int status, struct str body);

/* ---- serve_admin.c: what tests look in by ---- */

/* Answers a request below /_assay/; path: behind it, without the query. */
void admin_request(struct serve *v, struct exchange *x, const struct http_request *rq,
                   struct str path);

/* ---- serve_facts.c: what providers tell besides replies ---- */

/* Whether the provider would open its door: false with *out for a path or method that it does not
 * have, and a key that the script does not take. */
bool facts_admit(const struct session *s, const struct http_request *rq, struct str path,
                 enum wire_format f, struct arena *arena, struct wire_refusal *out);

/* Answers lists of models and counts of tokens; false for any other request. path begins with
 * "/v1/". */
bool facts_request(struct session *s, struct exchange *x, const struct http_request *rq,
                   struct str path);

/* The headers that the provider sends with each answer, the id of request n among them, into
 * out[0..HEADERS_OF_PROVIDER), texts in arena; returns how many. */
enum { HEADERS_OF_PROVIDER = 3 };
size_t provider_headers(enum wire_format f, size_t n, struct arena *arena, struct http_header *out);
#endif
