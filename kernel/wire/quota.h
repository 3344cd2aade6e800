/* What providers' headers say of their rate limits. Sources: OpenAI's guide "Rate limits"
 * (x-ratelimit-*), Anthropic's API reference "Rate limits" (anthropic-ratelimit-*), RFC 9110 10.2.3
 * (Retry-After), RFC 3339. */
#ifndef KERNEL_WIRE_QUOTA_H
#define KERNEL_WIRE_QUOTA_H

#include "kernel/http.h"

/* One limit; -1 = not said. */
struct wire_quota {
    int64_t limit;    /* what there is when nothing is used */
    int64_t left;     /* of it, when the answer was made */
    int64_t reset_ms; /* from then until all of it is there again */
};

struct wire_quotas {
    int64_t retry_after_ms; /* -1 = not said */
    struct wire_quota requests;
    struct wire_quota tokens;
};

/* Reads the headers of an answer. A time of day counts from the answer's own Date, so that no clock
 * is asked; what cannot be read counts as not said, and no wait is longer than a week. */
struct wire_quotas wire_quotas_read(const struct http_header *headers, size_t n);
#endif
