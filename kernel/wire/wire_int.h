/* What the files of the wire room share: the SSE parser, the reply under construction, errors. */
#ifndef KERNEL_WIRE_WIRE_INT_H
#define KERNEL_WIRE_WIRE_INT_H

#include "kernel/base/arena.h"
#include "kernel/wire/wire.h"

enum {
    WIRE_BODY_BYTES_MAX = 64 << 20, /* of one answer */
    WIRE_BLOCKS_MAX = 2048,         /* texts and calls of one reply */
    WIRE_PREVIEW_CHARS = 200,       /* of a body that is shown in a message */
};

/* ---- sse.c: event streams, WHATWG HTML 9.2.6 ---- */

/* A parser, zero-initialised at the start of a stream. */
struct sse {
    struct buf line; /* the line so far, without its end */
    struct buf data;
    struct buf event;
    bool after_first_line; /* a BOM may only open the first */
    bool after_cr;         /* an LF that comes now belongs to it */
    bool data_seen;
    bool handed_out; /* the event in the buffers was given to the caller */
};

/* One event; views are valid until the next call with the same parser. */
struct sse_event {
    struct str name; /* n 0 = none given */
    struct str data;
};

/* Takes bytes off the front of *bytes until an event is complete: true and *out. False when all are
 * taken and no event is complete. */
bool sse_next(struct sse *s, struct str *bytes, struct sse_event *out);

/* The stream has ended: an event without its blank line (also without a line end) counts. */
bool sse_end(struct sse *s, struct sse_event *out);
void sse_free(struct sse *s);

/* ---- draft.c: the reply under construction ---- */

struct own;

enum block_kind {
    BLOCK_GONE, /* replaced by a later, complete form */
    BLOCK_TEXT,
    BLOCK_REFUSAL,
    BLOCK_REASONING,
    BLOCK_CALL,
    BLOCK_SERVER_CALL,
    BLOCK_OTHER /* nothing that a reply holds: only `own` counts */
};

/* A piece of a reply. */
struct block {
    enum block_kind kind;
    int64_t index; /* the provider's; < 0 = it gave none */
    struct str id;
    struct str name;
    struct buf text;  /* text, or arguments */
    struct str whole; /* arguments given in full at the start; they count when no piece follows */
    struct own *own;  /* the provider's own JSON of it, where it may want to see that again */
    bool told;        /* by the `own` of the block before */
};

/* OPEN: no finish reason yet. FINISHED: it came. DONE: nothing more can come. */
enum draft_state { DRAFT_OPEN, DRAFT_FINISHED, DRAFT_DONE, DRAFT_FAILED };

struct draft {
    struct arena *arena;
    enum draft_state state;
    bool streamed;
    struct block *blocks;
    size_t n_blocks;
    size_t cap_blocks;
    enum stop_reason stop;
    struct str stop_raw;
    struct usage usage; /* as the provider counts */
    struct failure failure;
    struct buf delta; /* text not yet handed out */
};

void draft_free(struct draft *d);

/* The newest block of a kind with that index, or NULL. */
struct block *draft_find(struct draft *d, enum block_kind kind, int64_t index);

/* The newest block with that index, or NULL. */
struct block *draft_at(struct draft *d, int64_t index);

/* A new block, or NULL when there are too many: the draft has failed then. Valid until the next. */
struct block *draft_add(struct draft *d, enum block_kind kind, int64_t index);

/* Appends text that came as a piece: it is handed on as a delta of a streamed answer. The block is
 * the newest with that kind and index, or a new one. */
void draft_say(struct draft *d, enum block_kind kind, int64_t index, struct str text);

/* Forgets the blocks of one index. */
void draft_drop(struct draft *d, int64_t index);

/* Fails the draft, unless it has failed before. */
void draft_fail(struct draft *d, enum fail_class class, int status, struct str message);
void draft_fmt(struct draft *d, enum fail_class class, int status, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The finish reason, with the provider's word (copied). */
void draft_finish(struct draft *d, enum stop_reason stop, struct str raw);

/* A count of tokens into *out when v is one. */
void draft_count(int64_t *out, const struct val *v);

/* The words of a provider and what they mean; ends with a NULL word. */
struct stop_word {
    const char *word;
    enum stop_reason stop;
};
/* The meaning of a word; STOP_END_TURN for an unknown one. */
enum stop_reason stop_of_word(const struct stop_word *words, struct str raw);

/* Arguments as the model sent them: a string's characters, any other value's own text, nothing for
 * null and NULL. */
struct str arguments_text(const struct val *v);

/* The draft as a result; a draft that has not failed becomes a reply. */
void draft_result(struct draft *d, enum wire_format f, struct wire_result *out);

/* ---- own.c: a part as the provider sent it, which grows by pieces ---- */

/* Begins block b's own JSON with a copy of v. Nothing where b is NULL or v no map. */
void own_begin(struct draft *d, struct block *b, const struct val *v);
void own_free(struct own *o); /* NULL allowed */

/* Grow a member of b's own JSON, which has begun: characters behind its text, an item behind its
 * list, pieces of the JSON text that takes its place. */
void own_say(struct draft *d, struct block *b, struct str key, struct str piece);
void own_item(struct draft *d, struct block *b, struct str key, const struct val *item);
void own_json(struct draft *d, struct block *b, struct str key, struct str piece);

/* Sets a member that is a text. */
void own_set(struct draft *d, struct block *b, struct str key, struct str text);

/* Whether a member is there, and neither null nor an empty list. */
bool own_tells(const struct own *o, const char *key);

/* Appends it as compact JSON. */
void own_add(struct buf *out, const struct own *o);

/* ---- parts.c ---- */

/* What reply.parts says of the draft's blocks, in its arena; p NULL when no block has something of
 * its own that the provider wants to see again. */
struct str parts_kept(struct draft *d, enum wire_format f);

/* A part of an assistant message, for encoders. */
struct part {
    enum { PART_TEXT, PART_CALL, PART_OWN } kind;
    struct str text;              /* PART_TEXT: never empty. PART_OWN: the provider's JSON */
    const struct tool_call *call; /* PART_CALL */
    const struct val *own;        /* PART_OWN */
};

/* The parts of an assistant message in order, as the provider of format f sent them; without its
 * own parts: the text, then the calls. A part that holds a text or a call stands for that; where
 * the message does not have it, the part is left out. Into *out (in arena); returns the count. */
size_t parts_of(const struct message *m, enum wire_format f, struct arena *arena,
                struct part **out);

/* ---- decode_error.c ---- */

/* True when v tells an error instead of a reply. */
bool error_is(const struct val *v);

/* Fails the draft with the error that v tells. status: of the HTTP answer. v NULL or without a
 * message: the message is a preview of `body`. */
void error_fail(struct draft *d, int status, const struct val *v, struct str body);

/* ---- quota.c ---- */

/* What Retry-After and its relatives ask for, in ms; -1 = nothing. */
int64_t quota_retry_after_ms(const struct http_header *headers, size_t n);

/* ---- the formats: one event of a stream, or a whole body ---- */

void chat_event(struct draft *d, const struct val *v);
void chat_body(struct draft *d, const struct val *v);
void responses_event(struct draft *d, const struct val *v);
void responses_body(struct draft *d, const struct val *v);
void messages_event(struct draft *d, const struct val *v);
void messages_body(struct draft *d, const struct val *v);

/* ---- history.c: what a model made up, as every provider takes it back ---- */

enum { HISTORY_NAME_MAX = 64 };

/* The name itself where it is offered or good, else in `room` one of letters, digits, _ and -, cut
 * to what may stand there; "unnamed" for none. offered: the request's tools; NULL and 0 = not
 * known. */
struct str history_name(const struct tool_spec *offered, size_t n_offered, struct str name,
                        char room[HISTORY_NAME_MAX]);

/* The arguments themselves where they are a JSON object, else {}: the result of the call tells the
 * model what was wrong with them. */
struct str history_arguments(struct str arguments);

/* The id itself where it is good, else one that is made of it (in arena), the same each time. */
struct str history_id(struct str id, struct arena *arena);

/* ---- encode.c: what requests of several formats have in common ---- */

/* Begins the next object of a list with its type; the caller closes it. */
void encode_begin(struct buf *out, const char *type);

/* Appends a part as the provider sent it (PART_OWN) to a list. */
void encode_own(struct buf *out, const struct part *part);

/* Appends a tool's name, description where it has one, and schema as members of an object. */
void encode_tool(struct buf *out, const struct tool_spec *tool, const char *schema_key);

/* Append the member, where it is set. */
void encode_stream(struct buf *out, const struct llm_request *rq);
void encode_temperature(struct buf *out, const struct llm_request *rq);

/* ---- requests of the formats ---- */

void chat_encode(const struct llm_request *rq, struct buf *out);
void responses_encode(const struct llm_request *rq, struct buf *out);
void messages_encode(const struct llm_request *rq, struct buf *out);

/* ---- serve.c: replies as a server writes them ---- */

/* A reply being written. */
struct writing {
    const struct reply *reply;
    const struct wire_reply_options *o;
    struct buf *out;
    struct buf *ends; /* may be NULL */
    struct arena *arena;
    struct part *parts; /* of the reply; without the text of a refusal */
    size_t n_parts;
    int64_t events; /* written so far */
};

/* Whether the reply is a refusal: its content is what the model refuses with. */
bool serve_refused(const struct reply *r);

/* Whether there is anything to tell of usage. */
bool serve_usage_known(const struct usage *u);

/* Input and output together; -1 = not known. */
int64_t serve_usage_total(const struct usage *u);

/* Appends a member that is a count, unless that is not known (negative). */
void serve_put_count(struct buf *out, const char *key, int64_t count);

enum served_kind { SERVED_REASONING, SERVED_TEXT, SERVED_REFUSAL, SERVED_CALL, SERVED_OWN };

/* A piece of a reply as Messages (a block) and Responses (an item) write it: one of its parts, its
 * reasoning, or a text without a part. */
struct served {
    enum served_kind kind;
    struct str id;                /* Responses: its own */
    struct str text;              /* of reasoning, text, refusal */
    const struct tool_call *call; /* SERVED_CALL */
    const struct val *own;        /* SERVED_OWN */
};

/* The reply as pieces, into *out (in its arena); returns the count. Reasoning that no part of type
 * `own_reasoning` holds comes first; a text that is empty, or what a model refuses with, is a piece
 * too. */
size_t serve_pieces(const struct writing *w, const char *own_reasoning, struct served **out);

/* Notes that an event of the body ends here. */
void serve_note_end(const struct writing *w);

/* How much of `s` goes first: at most `max` bytes (0 = all), cut at a character. */
size_t serve_cut(struct str s, size_t max);

void chat_serve(struct writing *w);
void responses_serve(struct writing *w);
void messages_serve(struct writing *w);

/* ---- chat_encode.c: what stands in messages of both directions ---- */

/* Appends the member "reasoning_details" with the parts that are such. Returns whether there are
 * any. */
bool chat_add_details(struct buf *out, const struct part *parts, size_t n);

/* Appends the member "extra_content" of call `nth` (from 1), or of the message itself (0), if there
 * is one. */
void chat_add_extra(struct buf *out, const struct part *parts, size_t n, size_t nth);
#endif
