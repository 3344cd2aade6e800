/* A session driven by hand, event by event, for tests of the kernel. The invariants are checked on
 * the way (check.h), and at the end the log is fed again and must come out the same. */
#ifndef KERNEL_CORE_TESTS_HAND_H
#define KERNEL_CORE_TESTS_HAND_H

#include "kernel/core/replay.h"
#include "kernel/core/tests/check.h"

enum { HAND_COMMANDS = 64 };
enum { LOOKUP, REFUND, WATCH, DONE_TOOL, SERIAL, SET_KEY, N_TOOLS };

struct hand {
    struct arena *arena;
    struct kernel_config config; /* to be changed before hand_begin */
    struct tool_spec tools[N_TOOLS];
    struct kernel *k;
    struct check *check;
    struct buf log;
    struct command commands[HAND_COMMANDS]; /* what the last event led to */
    size_t n_commands;
    bool unchecked; /* the test does what no driver may do */
};

extern struct hand hand;

void hand_set_up(void);
void hand_begin(void); /* a user message at 0 ms */
void hand_tear_down(void);

/* A tool without any mark, its schema compiled; free its validator. */
struct tool_spec hand_tool(const char *name, const char *schema);

/* Each gives kernel_feed's code. */
int hand_feed(struct event ev, uint64_t now);
/* Triples of id, name and arguments, ended by NULL. Takes 10 tokens in, 5 out. */
int hand_reply(uint64_t now, enum stop_reason stop, const char *text, ...)
    __attribute__((sentinel));
int hand_result(uint64_t now, const char *id, const char *content);
int hand_tool_fails(uint64_t now, const char *id, const char *code, bool retryable);
int hand_fails(uint64_t now, enum fail_class class, int64_t retry_after_ms);
int hand_tick(uint64_t now);
int hand_cancel(uint64_t now);
int hand_approve(uint64_t now, const char *id, enum decision decision);
int hand_resume(uint64_t now, const char *text); /* NULL = without a message */

/* The process died when so many lines were in the log; the kernel is brought up from them, and the
 * log holds them and what follows from them. SIZE_MAX = all. */
void hand_crash(size_t lines);

enum run_status hand_status(void);
const char *hand_types(void); /* of the log's lines, with spaces */
bool hand_logged(const char *text);
size_t hand_times_logged(const char *text);
size_t hand_lines(void);

/* How many commands of a kind the last event led to. */
size_t hand_commanded(enum command_kind kind);

/* Message i of the history from its end, 0 = the newest. */
const struct message *hand_message(size_t i);
size_t hand_messages(void);
void hand_check_history(void);
void hand_check_reason(const char *want);
#endif
