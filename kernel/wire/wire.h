/* Codecs between the model messages of core and providers' JSON and SSE. Pure. Sources: OpenAI API
 * reference (Chat Completions, Responses), Anthropic Messages API reference, WHATWG HTML
 * "server-sent events". */
#ifndef KERNEL_WIRE_WIRE_H
#define KERNEL_WIRE_WIRE_H

#include "kernel/base/err.h"
#include "kernel/http.h"
#include "kernel/llm.h"

enum wire_format { WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES };

/* The version of the encoder, written into cassettes: raised when a request that is sent today
 * would no longer mean the same as its recording of before. */
enum { WIRE_ENCODER_VERSION = 1 };

/* The provider's name in logs and flags: "openai", "responses", "anthropic". */
const char *wire_provider(enum wire_format f);
bool wire_of_provider(struct str name, enum wire_format *out);

/* The format by the end of a URL's path (before ? and #): /chat/completions, /responses,
 * /v1/messages; false for anything else. */
bool wire_of_url(struct str url, enum wire_format *out);

/* Where the first segment of a path that names a version (v1, v1beta) begins, at its slash;
 * SIZE_MAX = there is none. */
size_t wire_version_at(struct str path);

/* The path below the base URL: "chat/completions", "responses", "messages". */
const char *wire_path(enum wire_format f);

/* ---- client side ---- */

/* Appends the request body as compact JSON: only what is set, and what the provider demands, keys
 * in a fixed order. Assistant messages go back with the provider's own parts (struct reply). Of the
 * history, names of tools that were made up and have other characters than letters, digits, _ and
 * -, or more than 64, and arguments that are no JSON object, which providers refuse, are sent in a
 * form that they take; outside of Chat Completions ids of calls too.
 *     WIRE_CHAT       model, messages, tools, stream, stream_options {"include_usage": true} when
 *                     streaming, temperature, max_completion_tokens
 *     WIRE_RESPONSES  model, instructions, input, tools (strict false), stream, temperature,
 *                     max_output_tokens, store false, include ["reasoning.encrypted_content"]
 *                     unless the model is one of those that do not reason
 *     WIRE_MESSAGES   model, max_tokens (8192 when unset: the provider demands one), system,
 *                     messages with alternating roles, tools, stream, temperature; texts of only
 *                     white space are left out, results of failed calls have is_error
 * Returns 0, or ERR_LIMIT where it does not fit into the buffer. */
int wire_encode_request(enum wire_format f, const struct llm_request *rq, struct buf *out,
                        struct err *e) MUST_CHECK;

/* A tool call that the provider itself carried out (web search, code execution). */
struct wire_server_call {
    struct str id;
    struct str name;
    struct str arguments; /* as sent; n 0 when the provider shows none */
};

/* What an answer came to: a reply or a failure. Views live as long as the decoder. */
struct wire_result {
    bool ok;
    struct reply reply;     /* ok */
    struct failure failure; /* not ok */
    struct wire_server_call *server_calls;
    size_t n_server_calls;
    bool streamed; /* the body was an event stream, by its content type or, without one, by its look
                    */
};

struct wire_decoder;

/* A decoder for one answer. status and headers as they came; views needed only during the call. */
struct wire_decoder *wire_decoder_new(enum wire_format f, int status,
                                      const struct http_header *headers, size_t n_headers);
void wire_decoder_free(struct wire_decoder *d); /* NULL allowed */

/* Takes the next bytes of the body, split anywhere. Memory is bounded: beyond 64 MiB the answer is
 * a failure. */
void wire_decoder_feed(struct wire_decoder *d, struct str bytes);

/* Text of the reply that came since the last call (streamed answers only); n 0 = none. Valid until
 * the next feed or end. */
struct str wire_decoder_delta(struct wire_decoder *d);

/* The body has ended (`clean`: as it should; else reset, timeout or refused). What it was into
 * *out: an answer with a status outside 200–299, an error object, a body that is no reply (HTML,
 * bad JSON, a stream that ends without finish reason) are failures with class, the provider's
 * message and Retry-After. The same for every split of the body. */
void wire_decoder_end(struct wire_decoder *d, enum http_end end, struct str detail,
                      struct wire_result *out);

/* ---- reading requests (cassette show, fake models) ---- */

/* Names of the tools that a request body offers, in its order, into *out (in arena); 0 when none.
 */
size_t wire_offered_tools(enum wire_format f, const struct val *body, struct arena *arena,
                          struct str **out);

/* A request's messages in our model (in arena): text blocks joined, calls, tool results. Never
 * fails: what it does not know is left out. A system prompt outside the messages comes first.
 * Returns the count. */
size_t wire_request_messages(enum wire_format f, const struct val *body, struct arena *arena,
                             struct message **out);

/* ---- server side ---- */

struct wire_reply_options {
    struct str model;
    struct str id;     /* "chatcmpl-1", "resp_1", "msg_1" */
    int64_t created_s; /* Unix time in the reply */
    bool stream;
    bool include_usage; /* WIRE_CHAT, stream: whether the client asked for the usage chunk */
    /* stream: text and arguments are cut into pieces of at most this many bytes, at characters; 0 =
     * one piece */
    size_t piece_bytes;
};

/* Appends the HTTP body of a reply: a completion, response or message, or an SSE stream of the
 * provider's events in their order. The provider's own parts (struct reply) stand in their places;
 * reasoning without them is a block or item without a signature. Where `ends` is not NULL, the
 * offset behind each event (or the whole body) is appended to it as a size_t. What a format cannot
 * say: Chat, how a model stopped at a stop sequence, a pause; Responses those too; Messages, a
 * content filter (it is a refusal there), arguments of no characters (they are {}) and white space
 * around arguments, counts of reasoning. Returns 0, or ERR_LIMIT where it does not fit. */
int wire_encode_reply(enum wire_format f, const struct reply *reply,
                      const struct wire_reply_options *o, struct buf *out, struct buf *ends,
                      struct err *e) MUST_CHECK;

/* Appends the provider's error body, e.g. {"error":{"message","type","param","code"}}. */
void wire_encode_error(enum wire_format f, int status, struct str message, struct buf *out);

/* Appends the event of a stream that tells an error after the answer has begun. */
void wire_encode_error_event(enum wire_format f, int status, struct str message, struct buf *out);

/* What a provider answers to a request that it does not take. */
struct wire_refusal {
    int status;
    struct str message;
    struct str param; /* WIRE_CHAT, WIRE_RESPONSES: what it is about; p NULL = null */
    struct str code;  /* the same formats; p NULL = null */
};

/* Whether the provider would take this body: types and ranges, roles, tools with their names and
 * schemas, each call with its one result in its place, and with `thinks` (its replies hold
 * thoughts) the thoughts before calls. False with *out in arena, in the provider's own words where
 * they are known. What a provider could only tell from its models and its stored responses is not
 * looked at, and no name that it does not know. Sources: see request_check.c. */
bool wire_check_request(enum wire_format f, const struct val *body, bool thinks,
                        struct arena *arena, struct wire_refusal *out) MUST_CHECK;

/* The same for a body that json_parse refused with *e; a path that there is not (404) or not by
 * this method (405, `known`); a model that there is not; an API key that is missing or wrong. Texts
 * in arena. */
struct wire_refusal wire_refuse_json(enum wire_format f, const struct err *e, struct arena *arena);
struct wire_refusal wire_refuse_path(enum wire_format f, struct str method, struct str path,
                                     bool known, struct arena *arena);
struct wire_refusal wire_refuse_model(enum wire_format f, struct str model, struct arena *arena);
struct wire_refusal wire_refuse_key(enum wire_format f, bool given);

/* Appends the error body of a refusal. */
void wire_encode_refusal(enum wire_format f, const struct wire_refusal *r, struct buf *out);

/* A request body without what equals its absence: members that are null or the provider's
 * documented default (stream false, n 1, temperature 1, top_p 1, tool_choice "auto" with tools, …),
 * in messages also null and an empty tool_calls, in Chat Completions' tools an empty description
 * and strict false; max_tokens counts as max_completion_tokens, a call of the history as
 * wire_encode_request sends it. Members come sorted. body must be
 * an object; the result (in arena) is for keys, never for sending. */
const struct val *wire_without_defaults(enum wire_format f, const struct val *body,
                                        struct arena *arena);
#endif
