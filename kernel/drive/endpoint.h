/* A model over HTTP: a codec and a transport make an llm. */
#ifndef KERNEL_DRIVE_ENDPOINT_H
#define KERNEL_DRIVE_ENDPOINT_H

#include "kernel/drive/sched.h"
#include "kernel/llm.h"
#include "kernel/wire/wire.h"

/* A shorter API key is a placeholder and not hidden: it may be a part of any word. */
enum { ENDPOINT_KEY_BYTES_MIN = 4 };

struct endpoint_options {
    enum wire_format format;
    /* With or without /v1, a trailing slash, a query. Of WIRE_MESSAGES /v1 goes behind every path
     * that does not end in it. n 0 = the provider's own. */
    struct str base_url;
    /* Goes into the header that the format and the host want: Authorization, x-api-key (Messages)
     * or api-key (Azure). n 0 = no such header. */
    struct str api_key;
    struct str key_from; /* where it is from, or would be, for messages: "OPENAI_API_KEY" */
    /* Sent too, in the place of ours of the same name. */
    const struct http_header *headers;
    size_t n_headers;
    struct sched *sched; /* of the session: a request that cannot be sent fails in its next turn */
    /* For people, told as each call ends: why it did not end well, as the transport says it
     * (addresses, certificates), or what to look at for its status; empty where the failure says
     * it all, and after a good reply. The failure itself has a fixed text by kind, so that a replay
     * logs the same. May be NULL. */
    void (*note)(void *ctx, struct str text);
    void *note_ctx;
    /* Told of the tokens that a reply took, before its end is; -1 = unknown. May be NULL. */
    void (*used)(void *ctx, int64_t tokens);
    void *used_ctx;
};

/* The base URL that is asked where none is named. */
const char *endpoint_provider_url(enum wire_format f);

/* Whether the host of a base URL is one of Azure's, whose keys and paths are its own. */
bool endpoint_is_azure(struct str base_url);

/* An llm over `transport` (which must outlive it and is not freed with it). Option texts are
 * copied. A broken history fails as FAIL_HISTORY and is never sent. The API key never stands in a
 * failure's message or a note: REDACTED stands in its place. */
struct llm *llm_endpoint(struct transport *transport, const struct endpoint_options *o);

/* The environment variables that hold the key and the address of a format's provider:
 * "OPENAI_API_KEY", "OPENAI_BASE_URL", or Anthropic's. */
const char *endpoint_key_variable(enum wire_format f);
const char *endpoint_url_variable(enum wire_format f);
#endif
