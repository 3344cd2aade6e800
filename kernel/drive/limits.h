/* When a call may start: requests and tokens a minute, calls in flight, and what the provider's
 * answers say of its own limits. Pure: time comes in as an argument, in milliseconds that never
 * fall. */
#ifndef KERNEL_DRIVE_LIMITS_H
#define KERNEL_DRIVE_LIMITS_H

#include "kernel/wire/quota.h"

struct limits_options {
    int64_t rpm; /* starts in any 60 s; 0 = no limit */
    int64_t tpm; /* tokens of starts in any 60 s; 0 = no limit. A call that is larger alone may
                    start when nothing else counts */
    int64_t in_flight; /* calls at once, ≥ 1 */
};

/* What a call waits for. */
enum limits_why {
    LIMITS_NOTHING,
    LIMITS_RPM,
    LIMITS_TPM,
    LIMITS_IN_FLIGHT,
    LIMITS_PAUSE,    /* the provider asked for one (Retry-After) */
    LIMITS_REQUESTS, /* the provider's own limit of them is used up */
    LIMITS_TOKENS    /* likewise */
};

/* How a call ended, for the number of calls at once. */
enum limits_end { LIMITS_GOOD, LIMITS_OTHER };

/* A call that has started. */
struct limits_ticket {
    uint64_t number; /* of the start, from 0 */
    uint64_t cut;    /* how often the number of calls at once had been cut by then */
};

struct limits;

struct limits *limits_new(const struct limits_options *o);
void limits_free(struct limits *l); /* NULL allowed */

/* When a call of about `tokens` (≥ 0) may start: now, or a later time to ask again at; UINT64_MAX =
 * when a call in flight ends. *why is what it waits for. */
uint64_t limits_when(struct limits *l, int64_t tokens, uint64_t now, enum limits_why *why);

/* It starts: limits_when said now. */
struct limits_ticket limits_start(struct limits *l, int64_t tokens, uint64_t now);

/* Its answer's head has come. 429, 503 and 529 halve the number of calls at once, once for all that
 * were in flight then, and Retry-After holds every start back, for a minute at most. True when
 * that number was cut. */
bool limits_answer(struct limits *l, struct limits_ticket t, int status,
                   const struct wire_quotas *q, uint64_t now);

/* It took so many tokens, which count in the place of the estimate; -1 = unknown: that stays. Also
 * after its end. */
void limits_used(struct limits *l, struct limits_ticket t, int64_t tokens);

/* It is over. As many good ends as calls may be in flight let one more be. */
void limits_over(struct limits *l, enum limits_end how);

/* How many calls may be in flight now. */
int64_t limits_in_flight_max(const struct limits *l);
#endif
