/* What the loop and the codecs talk about: messages, tool calls, replies, failures, usage, tools.
 * Plain data; all strings are views whose owner each function names. */
#ifndef KERNEL_CORE_MODEL_H
#define KERNEL_CORE_MODEL_H

#include "kernel/base/schema.h"
#include "kernel/base/val.h"

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };

/* `arguments` is the text as the model sent it. */
struct tool_call {
    struct str id;
    struct str name;
    struct str arguments;
};

/* One message of a history. */
struct message {
    enum role role;
    bool content_null; /* assistant only: content is null, not "" */
    struct str content;
    struct str reasoning;    /* assistant only; p NULL = none */
    struct str parts;        /* assistant only: as in struct reply */
    struct tool_call *calls; /* assistant only */
    size_t n_calls;
    struct str call_id; /* tool only: which call it answers */
    bool notice; /* user only: written by the loop, in the place of messages that were left out */
};

/* Why a reply ended; the same words for every provider. */
#define STOP_REASONS(X)                                                                            \
    X(STOP_END_TURN, "end_turn")                                                                   \
    X(STOP_TOOL_USE, "tool_use")                                                                   \
    X(STOP_MAX_TOKENS, "max_tokens")                                                               \
    X(STOP_STOP_SEQUENCE, "stop_sequence")                                                         \
    X(STOP_CONTENT_FILTER, "content_filter")                                                       \
    X(STOP_REFUSAL, "refusal")                                                                     \
    X(STOP_PAUSE, "pause")

/* Token counts; -1 = the provider did not say. `cached` and `cache_write` are parts of `input`,
 * `reasoning` of `output`. */
struct usage {
    int64_t input;
    int64_t cached;
    int64_t cache_write;
    int64_t output;
    int64_t reasoning;
};
#define USAGE_UNKNOWN ((struct usage){-1, -1, -1, -1, -1})

/* What a model costs, in nano-units of the currency for a million tokens. */
struct price {
    int64_t input;
    int64_t cached;      /* of input, read from a cache; -1 = as input */
    int64_t cache_write; /* of input, written to a cache; -1 = as input */
    int64_t output;
    int64_t reasoning;          /* of output; -1 = as output */
    const struct price *beyond; /* what a reply costs whose input is more than `above` tokens; NULL
                                   = the same */
    int64_t above;
};

enum { PRICE_TIERS_MAX = 16 }; /* a price and those beyond it */

/* The most that a million tokens may cost, in nano-units: a million of the currency. */
#define PRICE_NANO_MAX INT64_C(1000000000000000)

/* What one reply costs in nano-units, rounded half up once; -1 when the counts of input or output
 * are unknown or p is NULL. A part whose count is unknown is billed with the whole. Counts up to
 * 10^9 and prices up to PRICE_NANO_MAX do not overflow; beyond them the cost is unknown. */
int64_t usage_cost_nano(const struct usage *u, const struct price *p);

/* Whether two prices (NULL = none) are the same amounts. */
bool price_equal(const struct price *a, const struct price *b);

/* Adds one reply's counts to a sum; a count that is unknown in either is unknown in the sum. */
void usage_add(struct usage *sum, const struct usage *more);

/* Appends a call as every JSON of ours shows it; and the member "calls": [...] of several. */
void tool_call_add(struct buf *out, const struct tool_call *c);
void tool_calls_put(struct buf *out, const struct tool_call *calls, size_t n);

/* Appends the member "usage": {...} as every JSON of ours shows it, null for an unknown count. */
void usage_put(struct buf *out, const struct usage *u);

/* Why a model call failed. The second column is the word in logs; the third whether a retry may
 * help. */
#define FAIL_CLASSES(X)                                                                            \
    X(FAIL_TIMEOUT, "timeout", true)                                                               \
    X(FAIL_CONNECT, "connection", true)    /* refused, reset, name not found */                    \
    X(FAIL_RATE_LIMIT, "rate_limit", true) /* 429 */                                               \
    X(FAIL_OVERLOADED, "overloaded", true) /* 503, 529, overloaded_error */                        \
    X(FAIL_SERVER, "server", true)         /* other 5xx, 408, 409 */                               \
    X(FAIL_AUTH, "auth", false)            /* 401, 403 */                                          \
    X(FAIL_REQUEST, "bad_request", false)  /* other 4xx */                                         \
    X(FAIL_PROTOCOL, "protocol", true)     /* an answer that is no reply: HTML, bad JSON, cut */   \
    X(FAIL_HISTORY, "history", false)      /* our own request was malformed: never sent */         \
    X(FAIL_MISS, "cassette_miss", false)                                                           \
    X(FAIL_SCRIPT, "script_mismatch", false)

#define MODEL_ENUM2(name, text)        name,
#define MODEL_ENUM3(name, text, retry) name,
enum stop_reason { STOP_REASONS(MODEL_ENUM2) };
enum fail_class { FAIL_CLASSES(MODEL_ENUM3) };
#undef MODEL_ENUM2
#undef MODEL_ENUM3

const char *stop_name(enum stop_reason stop);
/* The stop reason named `name`; false for an unknown one. */
bool stop_of_name(struct str name, enum stop_reason *out);
const char *fail_name(enum fail_class c);
/* The class named `name`; false for an unknown one. */
bool fail_of_name(struct str name, enum fail_class *out);
bool fail_retryable(enum fail_class c);
const char *role_name(enum role r);

/* A complete reply of a model. */
struct reply {
    bool content_null;
    struct str content;
    struct str reasoning; /* p NULL = none */
    /* What the provider wants to see again in the next request and this model has no words for
     * (signed and encrypted reasoning, calls that the provider carries out itself), as compact
     * JSON: one member, named as the provider, with the list of the reply's parts in their order.
     * An object is a part as it came (one that holds a text or a call stands for that too); a
     * number stands for so many bytes of `content`, null for the next call.
     * {"anthropic":[{"type":"thinking",…},12,null]}. p NULL = nothing of the kind */
    struct str parts;
    struct tool_call *calls;
    size_t n_calls;
    enum stop_reason stop;
    struct str stop_raw; /* the provider's word; p NULL = it gave none */
    struct usage usage;
};

/* A model call that gave no reply. */
struct failure {
    enum fail_class class;
    int status;             /* HTTP status; 0 = none came */
    int64_t retry_after_ms; /* what the server asked for; -1 = nothing */
    bool shown;             /* a part of the reply had been handed on as deltas */
    struct str message;
};

enum tool_tier { TIER_READ, TIER_WRITE, TIER_DANGER };

enum { TOOL_TIMEOUT_MS = 30000, TOOL_OUTPUT_CHARS = 4000 };

/* A tool as the loop and the model see it. */
struct tool_spec {
    struct str name;
    struct str description;
    struct str parameters;    /* its JSON Schema as compact JSON text */
    const struct val *schema; /* the same as a value */
    struct schema *validator; /* compiled; NULL = arguments are not checked */
    enum tool_tier tier;
    bool serial;
    bool idempotent;
    bool polling;
    bool terminal;
    int64_t timeout_ms;
    int64_t max_output; /* characters; 0 = no limit */
};

/* The spec called `name` among n, or NULL. */
const struct tool_spec *tool_find(const struct tool_spec *specs, size_t n, struct str name);

/* Codes of tool errors as the model reads them. */
#define TOOL_ERRORS(X)                                                                             \
    X(BAD_ARGUMENTS)                                                                               \
    X(BAD_PARAMETERS)                                                                              \
    X(UNKNOWN_TOOL)                                                                                \
    X(REPEATED_CALL)                                                                               \
    X(TOOL_ERROR)                                                                                  \
    X(TIMEOUT)                                                                                     \
    X(DENIED)                                                                                      \
    X(LIMIT)                                                                                       \
    X(CANCELLED)                                                                                   \
    X(TRUNCATED_CALL)

/* What a tool gave. ok: `content` is its output (text or JSON). Not ok: code (one of TOOL_ERRORS,
 * or the tool's own word), message, retryable, hint. */
struct tool_output {
    bool ok;
    struct str content;
    struct str code;
    struct str message;
    struct str hint; /* n 0 = none */
    bool retryable;
    bool truncated; /* content was cut to the tool's max_output */
    bool cached;    /* the earlier result of the same call */
};

/* Checks a history as providers do (I1), usable alone: the system message only first; roles in a
 * legal order; every call of an assistant message answered by exactly one tool message with its id,
 * in call order, before anything else; no answer without its call; ids not empty and not twice in
 * one message. Returns 0, or ERR_STATE with the index and the reason in e. */
int history_check(const struct message *messages, size_t n, struct err *e) MUST_CHECK;
#endif
