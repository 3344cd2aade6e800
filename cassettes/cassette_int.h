/* Shared by the files of cassettes/ alone. */
#ifndef CASSETTES_CASSETTE_INT_H
#define CASSETTES_CASSETTE_INT_H

#include "cassettes/cassette.h"
#include "kernel/wire/wire.h"

enum {
    CASSETTE_BYTES_MAX = 256 << 20, /* of a file */
    CASSETTE_BODY_MAX = 64 << 20    /* of one decoded body */
};

/* ---- check.c ---- */

/* Whether an interaction as it would be written still says a secret, such as one over two blocks of
 * a reply; appends its kind and part to *why. */
bool cassette_says_secret(struct str interaction, struct buf *why);

/* ---- har.c ---- */

/* cassette_import from a text that is in memory and need not outlive it. */
int cassette_import_text(const char *path, struct str text, struct cassette **out,
                         struct buf *left_out, struct err *e) MUST_CHECK;

/* ---- coding.c ---- */

/* Undoes the content coding of an answer's body (gzip, deflate; others are left as they are): the
 * body, into arena, and the headers that spoke of it; its pieces are dropped, since they counted
 * coded bytes. ERR_INPUT: damaged, with zlib's reason in e; ERR_LIMIT beyond CASSETTE_BODY_MAX;
 * nothing is changed then. */
int cassette_undo_coding(struct interaction *it, struct arena *arena, struct err *e) MUST_CHECK;

/* ---- credential.c: credentials by their known shapes ---- */

/* The kind of credential that `value` begins with by what stands before it (`"api_key": "`), *n its
 * bytes; NULL when it is none. */
const char *cassette_named_credential(struct str before, struct str value, size_t *n);

/* Whether a text, or what it says as JSON, may hold a credential at all: false for most, at a
 * fraction of the cost of looking. Not for the pieces of a stream, which may cut one up. */
bool cassette_may_hold_credential(struct str text);

/* Finds the next credential at or after `from`; *at and *n are the part to hide, *what names its
 * kind. False when there is none. */
bool cassette_find_credential(struct str text, size_t from, size_t *at, size_t *n,
                              const char **what);

/* ---- redact.c: what stands in the place of credentials ---- */

#define REDACTED_TEXT "REDACTED"

/* What stands instead of a part: nothing, where a credential in pieces goes on; REDACTED with an id
 * of the secret, so that different ones stay apart; REDACTED alone, for the session's own key: so
 * it stands in its log. The last that holds of overlapping parts wins. */
enum hidden {
    REDACTED_REST,
    REDACTED_NUMBERED,
    REDACTED_QUOTED, /* the same in double quotes, for a value that is no string */
    REDACTED_OWN
};

/* A part [at, at + n) of a text that is hidden. */
struct redacted {
    size_t at;
    size_t n;
    enum hidden hidden;
    uint32_t id;
    const char *what; /* the kind of credential, for people */
};

/* The bytes of what stands instead of the part, "REDACTED-1a2b3c4d" as a rule; the id of a secret.
 * Keys are long and random, so that 32 bits of a hash tell nothing of one. */
size_t cassette_redacted_bytes(const struct redacted *part);
uint32_t cassette_secret_id(struct str secret);

/* Appends a text with every REDACTED-1a2b3c4d as REDACTED: a request means the same whichever key
 * was hidden in it. */
void cassette_forget_ids(struct str text, struct buf *out);

/* Append a text with every credential replaced: any text (cassette_find_in_text); a valid JSON text
 * (cassette_find_in_json); why a call failed, in which `secret` (n 0 = none) is hidden too. Return
 * whether anything was replaced. */
bool cassette_redact_text(struct str text, struct buf *out);
bool cassette_redact_json(struct str json, struct buf *out);
bool cassette_redact_detail(struct str detail, struct str secret, struct buf *out);

/* The same for an answer's body (cassette_find_in_answer), in which `secret` is hidden too; appends
 * the parts to `parts`. */
bool cassette_redact_answer(const struct interaction *it, struct str secret, struct buf *out,
                            struct buf *parts);

/* Appends the text with what stands for each part (in order, apart) instead; whether there is any.
 */
bool cassette_put_redacted(struct str text, const struct buf *parts, struct buf *out);

/* Appends a URL without its userinfo and without the values of its secret query parameters. Returns
 * whether anything was replaced. */
bool cassette_redact_url(struct str url, struct buf *out);

/* ---- texts.c: credentials in what a body says ---- */

/* Append the parts to hide (struct redacted), in order and apart from each other: of a text, in
 * which JSON is read as JSON; of a valid JSON text, each of its strings a text; of the body of an
 * answer: a tool's output is a text, what a stream brings in pieces is read as a whole. */
void cassette_find_in_text(struct str text, struct buf *parts);
void cassette_find_in_json(struct str json, struct buf *parts);
void cassette_find_in_answer(const struct interaction *it, struct buf *parts);

/* The JSON of a line of a stream: all of it, or the data of an event (WHATWG HTML, server-sent
 * events). */
struct str cassette_json_of_line(struct str line);

/* Appends one part; the parts as an array, valid until `parts` changes. */
void cassette_add_part(struct buf *parts, const struct redacted *part);
struct redacted *cassette_parts(const struct buf *parts, size_t *n);

/* Puts parts in order and makes one of those that overlap. */
void cassette_sort_parts(struct buf *parts);

/* ---- write.c ---- */

/* The pieces `in` of a body as they are when `parts` of it are replaced, into out (n of each). */
void cassette_move_chunks(const struct cassette_chunk *in, size_t n, const struct buf *parts,
                          struct cassette_chunk *out);

/* What the head of a file says; 0 of a member = left out. */
struct cassette_head {
    struct str run;
    uint64_t seed;
    struct str started_at;
    struct cassette_place place;
    const struct rules *rules; /* NULL = none */
};

/* Appends the head of a file: version, `assay` header, `interactions:`. */
void cassette_add_head(struct buf *out, const struct cassette_head *head);

/* ---- path.c: paths into JSON ---- */

enum step_kind { STEP_KEY, STEP_INDEX, STEP_ALL };

struct step {
    enum step_kind kind;
    struct str key; /* STEP_KEY */
    size_t index;   /* STEP_INDEX */
};

struct json_path {
    struct step *steps;
    size_t n; /* 0 = the whole */
};

/* Reads a path as users write it (cassettes/README.md, "What does not count"); what it needs is
 * copied into arena. ERR_INPUT: what was expected at which character; ERR_LIMIT: too many steps. */
int cassette_path_read(struct arena *arena, struct str text, struct json_path *out,
                       struct err *e) MUST_CHECK;

/* Whether a step leads to a member of an object, to an item of a list. */
bool cassette_step_to_key(const struct step *s, struct str key);
bool cassette_step_to_item(const struct step *s, size_t i);

/* ---- rules.c ---- */

/* Appends a meaning (cassette_meaning; json: whether it is JSON) as the rules leave it. False,
 * nothing appended: no rule is for such a request. */
bool cassette_rules_apply(const struct rules *r, struct str uri, struct str meaning, bool json,
                          struct buf *out);

/* ---- key.c: what a request means ---- */

/* XXH3-128 of everything that makes two requests the same. */
struct key {
    uint64_t low;
    uint64_t high;
};

/* The part of a URL behind its host, without query and fragment. A view of uri. */
struct str cassette_url_path(struct str uri);

/* chat/completions, responses, messages; for other URLs the path behind the segment of a version,
 * without its query: of …/v1/models?a=b it is /models, whatever gateway it went through. A view of
 * uri or static. */
struct str cassette_request_path(struct str uri);

/* The body as it is compared, into out: canonical JSON without the provider's defaults, or the
 * bytes where it is no JSON; credentials redacted as in a file. json: the body as a value, or
 * NULL. */
void cassette_meaning(struct str uri, struct str body, const struct val *json, struct buf *out);

/* The key of a JSON body that holds nothing to hide. Of one that does it is no recording's key:
 * what is hidden stands in none. */
struct key cassette_key_as_sent(struct str method, struct str uri, const struct val *json);

/* The same by rules (NULL = none), and the key that goes with it. */
void cassette_meaning_by(const struct rules *rules, struct str uri, struct str body,
                         const struct val *json, struct buf *out);
struct key cassette_key_by(const struct rules *rules, struct str method, struct str uri,
                           struct str body, const struct val *json);

/* By path, method and meaning; by path and method alone. */
struct key cassette_key_of_request(struct str method, struct str uri, struct str body,
                                   const struct val *json);
struct key cassette_key_of_place(struct str method, struct str uri);

/* ---- index.c: interactions by key ---- */

/* Interactions with the same key stand in their order; each is taken once. */
struct index;
#define INDEX_NONE UINT32_MAX

/* Room for n interactions, in arena. */
struct index *cassette_index_new(struct arena *arena, uint32_t n);
void cassette_index_add(struct index *x, struct key key, uint32_t item);
/* The first of the key that was not taken yet, or INDEX_NONE. */
uint32_t cassette_index_take(struct index *x, struct key key);
/* The first of the key, taken or not, and the one after `item`; INDEX_NONE at the end. */
uint32_t cassette_index_first(const struct index *x, struct key key);
uint32_t cassette_index_after(const struct index *x, uint32_t item);

/* ---- diff.c: how two requests differ ---- */

struct difference {
    size_t count;     /* places that differ, 0 = equal; counting ends at DIFFERENCES_MAX */
    struct buf where; /* the first: `messages[3].content: recorded "…", sent "…"` */
};
enum { DIFFERENCES_MAX = 1000 };

/* Compares two meanings (cassette_meaning). Free with cassette_difference_free. */
struct difference cassette_difference(struct str recorded, struct str sent);
void cassette_difference_free(struct difference *d);

/* Tells the first `most` differences of two texts one by one, with the path and both values as JSON
 * or "nothing", shortened; returns how many there are, at most DIFFERENCES_MAX. */
size_t cassette_differences(struct str a, struct str b, size_t most,
                            void (*told)(void *ctx, struct str path, struct str a, struct str b),
                            void *ctx);

/* ---- read.c: an interaction as what it says ---- */

enum interaction_kind { KIND_CHAT, KIND_RESPONSES, KIND_MESSAGES, KIND_TOOL, KIND_HTTP };

/* One interaction understood. Free with cassette_reading_free; messages and tools live in the arena
 * it was made with. */
struct reading {
    const struct interaction *it;
    enum interaction_kind kind;
    struct wire_decoder *decoder; /* NULL for tools and plain HTTP */
    struct wire_result result;    /* valid with decoder */
    bool streamed;
    struct str *tools; /* that the request offers */
    size_t n_tools;
    struct message *messages; /* of the request */
    size_t n_messages;
};

struct reading cassette_reading_of(const struct interaction *it, struct arena *arena);
void cassette_reading_free(struct reading *r);
const char *cassette_kind_name(enum interaction_kind kind); /* as `cassette show --json` has it */
/* Whether both have the same answer: status, end and body. */
bool cassette_answered_alike(const struct interaction *a, const struct interaction *b);
/* The name of a tool interaction's tool. */
struct str cassette_tool_name(const struct interaction *it);

/* ---- show_json.c ---- */

/* Appends one line of `cassette show --json`. file: as the user named it. */
void cassette_show_json(struct buf *out, const struct reading *r, const char *file);

#endif
