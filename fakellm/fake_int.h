/* What the files of fakellm/ share: a script as loaded, and a request as its conditions see it. */
#ifndef FAKELLM_FAKE_INT_H
#define FAKELLM_FAKE_INT_H

#include "fakellm/fake.h"
#include "kernel/base/match.h"

/* Conditions on a request (`expect` and `when`); NULL and 0 = not asked about. */
struct fake_when {
    struct text_cond *last_user;
    struct text_cond *last_tool;
    struct text_cond *system;
    struct text_cond *model;
    struct str *tools; /* names in order */
    size_t n_tools;
    int64_t turn;
};

/* What a request holds, as conditions see it. A text that is not there is NULL. */
struct fake_request {
    enum wire_format format;
    const struct str *last_user;
    const struct str *last_tool;
    const struct str *system;
    const struct str *model;
    const struct str *tools;
    size_t n_tools;
    int64_t turn;
    bool stream;
    bool include_usage;
};

enum fake_chunking { CHUNK_WHOLE, CHUNK_BYTES, CHUNK_RANDOM };

struct fake_reply {
    bool text_null;
    struct str text;
    struct str reasoning;    /* p NULL = none */
    struct tool_call *calls; /* an id with p NULL is made when it is sent */
    size_t n_calls;
    struct usage usage;
    enum stop_reason stop;
    enum fake_chunking chunking;
    int64_t piece_bytes; /* CHUNK_BYTES */
    int64_t ttft_ms;
    int64_t chunk_ms;
};

/* How an answer is spoiled; the words of a script. FAULT_STATUS is written as `status: N`. */
#define FAKE_FAULTS(X)                                                                             \
    X(FAULT_STATUS, "status")                                                                      \
    X(FAULT_RESET, "reset")             /* the connection breaks, at once or after bytes */        \
    X(FAULT_HANG, "hang")               /* nothing comes, or nothing after some bytes */           \
    X(FAULT_TRUNCATE, "truncate")       /* the body ends too early, the connection well */         \
    X(FAULT_GARBAGE, "garbage")         /* random bytes for a body */                              \
    X(FAULT_BAD_JSON, "bad_json")       /* one comma too many */                                   \
    X(FAULT_ERROR_EVENT, "error_event") /* an error object where a reply should be */              \
    X(FAULT_DRIP, "drip")               /* a good reply in tiny pieces */                          \
    X(FAULT_WRONG_TYPE, "wrong_type")   /* a good reply that says it is HTML */                    \
    X(FAULT_SLOW_FIRST_BYTE, "slow_first_byte") /* a good reply that begins late */

#define FAKE_ENUM(name, text) name,
enum fake_fault_kind { FAKE_FAULTS(FAKE_ENUM) };
#undef FAKE_ENUM

struct fake_fault {
    enum fake_fault_kind kind;
    int status;
    int64_t retry_after_ms; /* -1 = none */
    struct str message;     /* n 0 = the usual one */
    int64_t after_bytes;    /* -1 = not said */
    int64_t delay_ms;       /* before the first byte; -1 = not said */
    int64_t chunk_ms;       /* drip: between pieces */
    int64_t bytes;          /* drip: of a piece */
};

#define FAKE_FOREVER INT64_MAX

/* One step, or one rule. */
struct fake_step {
    uint32_t line;
    struct fake_when when;
    int64_t times;              /* how often it answers; FAKE_FOREVER */
    struct fake_reply *replies; /* of which one is said, chosen by the seed */
    size_t n_replies;           /* 0 = none, only a fault */
    bool has_fault;
    struct fake_fault fault;
};

struct fake_script {
    struct arena *own; /* the document, where the script owns it; else NULL */
    const char *file;  /* of the document; may be NULL */
    struct str model;
    uint64_t seed;
    bool lenient; /* requests that the provider would refuse are taken */
    struct str api_key;
    bool thinks; /* a reply has reasoning */
    bool rules;  /* `steps` are rules */
    struct fake_step *steps;
    size_t n;
};

/* The words of FAKE_FAULTS, NULL-terminated. */
extern const char *const fake_fault_names[];

/* Compiles the map at v (NULL or null: no conditions). On error what was made is freed with the
 * step by fake_when_free. ERR_INPUT with place. */
int fake_when_load(struct doc d, const struct val *v, struct fake_when *out,
                   struct err *e) MUST_CHECK;
void fake_when_free(struct fake_when *w);

/* Whether it asks about nothing, so that every request meets it. */
bool fake_when_is_any(const struct fake_when *w);

/* Whether the request meets every condition; on false `why` (may be NULL) gets one line. */
bool fake_when_test(const struct fake_when *w, const struct fake_request *rq, struct buf *why);

/* Loads the reply or fault written at v. ERR_INPUT with place. */
int fake_reply_load(struct doc d, const struct val *v, struct fake_reply *out,
                    struct err *e) MUST_CHECK;
int fake_fault_load(struct doc d, const struct val *v, struct fake_fault *out,
                    struct err *e) MUST_CHECK;

/* An answer under construction. */
struct fake_draft {
    struct buf body;
    struct buf ends; /* size_t offsets behind each piece */
};

/* Spoils the draft of a good answer as the fault says, and sets what is not its body in *out. */
void fake_fault_apply(const struct fake_fault *fault, const struct fake_request *rq, uint64_t seed,
                      struct fake_draft *draft, struct fake_answer *out);

/* How long the fault keeps the first byte back. */
int64_t fake_fault_delay_ms(const struct fake_fault *fault);

/* fake_answer with the memory of the answer taken from `arena`. */
void fake_answer_in(struct fake_session *f, struct arena *arena, struct str url, struct str body,
                    struct fake_answer *out);

enum { FAKE_HEADERS_MAX = 3 };

/* Writes the answer's headers into out[0..FAKE_HEADERS_MAX), their texts in arena; returns how
 * many. A wait that is no whole number of seconds is also told in milliseconds. */
size_t fake_headers(const struct fake_answer *a, struct arena *arena, struct http_header *out);
#endif
