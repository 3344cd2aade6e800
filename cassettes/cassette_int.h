/* Shared by the files of cassettes/ alone. */
#ifndef CASSETTES_CASSETTE_INT_H
#define CASSETTES_CASSETTE_INT_H

#include "cassettes/cassette.h"

enum {
    CASSETTE_BYTES_MAX = 256 << 20, /* of a file */
    CASSETTE_BODY_MAX = 64 << 20    /* of one decoded body */
};

/* cassette_load from a text that is in memory. path: named in errors. text need not outlive it. */
int cassette_parse(const char *path, struct str text, struct cassette **out, struct buf *warning,
                   struct err *e) MUST_CHECK;

/* ---- gunzip.c: content codings (RFC 9110 8.4.1, RFC 1950, 1951, 1952) ---- */

enum coding {
    CODING_IDENTITY, /* nothing named, or a body that is plain whatever its header says */
    CODING_GZIP,
    CODING_DEFLATE,
    CODING_UNKNOWN /* br, zstd, several: such a body is left as it is */
};

/* What `body` really is coded with, given the header's word (n 0 = no header). */
enum coding coding_of(struct str header, struct str body);

/* Appends the decoded body. ERR_INPUT: damaged, with zlib's reason in e; ERR_LIMIT beyond
 * CASSETTE_BODY_MAX. */
int coding_decode(enum coding coding, struct str body, struct buf *out, struct err *e) MUST_CHECK;

/* Removes what no longer holds of a decoded body: Content-Encoding, Transfer-Encoding,
 * Content-Length. Returns the new count. */
size_t headers_without_coding(struct http_header *headers, size_t n);

/* ---- redact.c: credentials by their known shapes ---- */

/* A part of a text that was replaced by REDACTED: [at, at + n) in the old one. */
struct redacted {
    size_t at;
    size_t n;
};
#define REDACTED_TEXT "REDACTED"

/* Finds the next credential at or after `from`; *at and *n are the part to hide, *what names its
 * kind. False when there is none. */
bool credential_find(struct str text, size_t from, size_t *at, size_t *n, const char **what);

/* Appends text with every credential replaced, and the parts (struct redacted) to `parts` (may be
 * NULL). Returns whether any was. */
bool redact_text(struct str text, struct buf *out, struct buf *parts);

/* The same, with every occurrence of `secret` (n 0 = none) replaced as well. */
bool redact_secret(struct str text, struct str secret, struct buf *out, struct buf *parts);

/* Appends a URL without its userinfo and without the values of its secret query parameters. Returns
 * whether anything was replaced. */
bool redact_url(struct str url, struct buf *out);

/* ---- write.c ---- */

/* Appends the head of a file: version, `assay` header, `interactions:`. */
void cassette_add_header(struct buf *out, struct str run, uint64_t seed, struct str started_at);

/* ---- key.c: what a request means ---- */

/* XXH3-128 of everything that makes two requests the same. */
struct key {
    uint64_t low;
    uint64_t high;
};

/* The part of a URL behind its host, without query and fragment. A view of uri. */
struct str url_path(struct str uri);

/* chat/completions, responses, messages; for other URLs the whole path without its query. A view
 * of uri or static. */
struct str request_path(struct str uri);

/* The body as it is compared, into out: canonical JSON without the provider's defaults, or the
 * bytes where it is no JSON; credentials redacted as in a file. json: the body as a value, or
 * NULL. */
void request_meaning(struct str uri, struct str body, const struct val *json, struct buf *out);

/* By path, method and meaning; by path and method alone. */
struct key key_of_request(struct str method, struct str uri, struct str body,
                          const struct val *json);
struct key key_of_place(struct str method, struct str uri);

/* ---- index.c: interactions by key ---- */

/* Interactions with the same key stand in their order; each is taken once. */
struct index;
#define INDEX_NONE UINT32_MAX

/* Room for n interactions, in arena. */
struct index *index_new(struct arena *arena, uint32_t n);
void index_add(struct index *x, struct key key, uint32_t item);
/* The first of the key that was not taken yet, or INDEX_NONE. */
uint32_t index_take(struct index *x, struct key key);
/* The first of the key, taken or not, and the one after `item`; INDEX_NONE at the end. */
uint32_t index_first(const struct index *x, struct key key);
uint32_t index_after(const struct index *x, uint32_t item);

/* ---- diff.c: how two requests differ ---- */

struct difference {
    size_t count;     /* places that differ, 0 = equal; counting ends at DIFFERENCES_MAX */
    struct buf where; /* the first: `messages[3].content: recorded "…", sent "…"` */
};
enum { DIFFERENCES_MAX = 1000 };

/* Compares two meanings (request_meaning). Free with difference_free. */
struct difference difference_of(struct str recorded, struct str sent);
void difference_free(struct difference *d);

/* ---- read.c: an interaction as what it says ---- */

enum interaction_kind { KIND_CHAT, KIND_RESPONSES, KIND_MESSAGES, KIND_TOOL, KIND_HTTP };

/* One interaction understood. Free with reading_free; messages and tools live in the arena it was
 * made with. */
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

struct reading reading_of(const struct interaction *it, struct arena *arena);
void reading_free(struct reading *r);
const char *kind_name(enum interaction_kind kind); /* FORMATS.md, `cassette show --json` */
/* The name of a tool interaction's tool. */
struct str tool_name(const struct interaction *it);

/* ---- show_json.c ---- */

/* Appends one line of `cassette show --json`. file: as the user named it. */
void show_json(struct buf *out, const struct reading *r, const char *file);

#endif
