/* Shared by the files of an agent's run: agent.c runs the program, agent_traffic.c tells its
 * conversations apart, agent_log.c puts them in order and writes the event log. */
#ifndef EVALS_AGENT_INT_H
#define EVALS_AGENT_INT_H

#include "evals/agent.h"
#include "kernel/drive/prices.h"
#include "kernel/wire/wire.h"

enum {
    TRAFFIC_REQUESTS_MAX = 10000,    /* of one run */
    TRAFFIC_BYTES_MAX = 256 << 20,   /* that are kept of it */
    TRAFFIC_CANDIDATES_MAX = 1000000 /* pairs of a conversation and a call that are looked at */
};

struct conversation;

/* One request and what became of it. A request that is made again because it failed is the same
 * turn. */
struct turn {
    struct turn *next;
    struct conversation *of;
    enum wire_format format;
    struct str model;
    struct str *tools; /* offered */
    size_t n_tools;
    struct message *heard; /* what is new in it: user messages and tool results */
    size_t n_heard;
    enum { TURN_OPEN, TURN_ANSWERED, TURN_FAILED } state;
    struct reply reply;     /* TURN_ANSWERED */
    struct failure failure; /* TURN_FAILED, and of the newest attempt that failed */
    struct str previous;    /* the id of the reply that it names to go on from */
    struct str id;          /* of the reply, where the provider keeps it (Responses) */
    int64_t attempts;
    int64_t at_ms; /* the newest attempt's */
    int64_t ended_ms;
    struct conversation **children; /* by call: the first that it has led to */
    struct wire_decoder *decoder;   /* while it is open */
    struct buf head;                /* the first bytes of its answer */
};

/* Requests each of which goes on from the one before. */
struct conversation {
    struct conversation *next; /* in order of arrival */
    struct turn *first, *last;
    struct str system;
    size_t n_messages;                     /* of the last request, without the system message */
    uint64_t prefix;                       /* a hash of them */
    uint64_t asked;                        /* a hash of the system message */
    struct conversation *parent, *sibling; /* whose call has led to it, and the next one there */
    int prompted;                          /* 2: it begins with the prompt, 1: holds it */
};

/* What passed between a program and its models. */
struct traffic {
    struct arena *arena; /* owned by the caller */
    struct str prompt;
    struct conversation *first, **last;
    size_t n_conversations, n_calls;
    size_t requests, bytes;
    struct str mismatch; /* why a script refused a request; n 0 = it did not */
};

void traffic_init(struct traffic *t, struct arena *arena, struct str prompt);

/* A request has come; NULL for one beyond the limits. */
struct turn *traffic_request(struct traffic *t, enum wire_format f, struct str body, int64_t at_ms);
void traffic_head(struct turn *turn, int status, const struct http_header *headers, size_t n);
void traffic_body(struct traffic *t, struct turn *turn, struct str piece);
/* HTTP_STOPPED: the program has hung up. */
void traffic_end(struct traffic *t, struct turn *turn, enum http_end end, struct str detail,
                 int64_t at_ms);

/* ---- agent_log.c ---- */

/* What the log says of the run besides its traffic. */
struct agent_facts {
    struct str run;
    uint64_t seed;
    struct str started_at;
    struct str command;
    const struct golden_task *task;
    const struct prices *prices;
    bool timed; /* times are as measured; else each conversation takes what its answers took */
    struct str answer; /* p NULL = the last reply's text */
    enum run_status status;
    struct str reason;
};

/* Puts the conversations in their order and appends the event log; sums, calls and answer into
 * *out, views in the traffic's arena. */
void agent_log(struct traffic *t, const struct agent_facts *facts, struct buf *log,
               struct rig_outcome *out);

/* The failure that a conversation ended with, the first in arrival; NULL = all were answered. */
const struct failure *traffic_unanswered(const struct traffic *t);
#endif
