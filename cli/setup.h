/* What `run`, `resume`, `fork` and `chat` share: a new run, or one that goes on. */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "cli/approve.h"
#include "cli/live.h"
#include "cli/replay.h"
#include "cli/settings.h"
#include "evals/resume.h"

/* ---- run.c ---- */

/* A new run, one that goes on in its own log, or one that goes on from a part of it in another. */
enum going { GOING_NEW, GOING_ON, GOING_FORKED };

/* What is behind `run`, `resume` and `fork`. */
int run_session(enum going how, int argc, char **argv);

/* ---- resume.c ---- */

const char *going_verb(enum going how);

struct resume_request {
    enum going how;
    const char *log;
    int64_t at;        /* GOING_FORKED: so many lines of it; 0 = not said */
    const char *trace; /* where its log goes; NULL = not said */
    bool has_prompt;
};

/* Brings the run up. Errors as resumed_open; ERR_USAGE: there is nothing to go on with, or no other
 * file for a fork. */
int resume_open(const struct resume_request *q, const struct toolset *tools, struct resumed **out,
                struct err *e) MUST_CHECK;

/* Whether the run had ended and only its last lines are not in the log. Not where a message, or
 * more budget than what it had spent, lets it go on. */
bool resume_only_ends(const struct resumed *r, bool has_prompt, const struct budget *budget);

/* Writes those, and prints the answer; returns the exit status. */
int resume_end(const struct resumed *r, const char *trace);

/* Says on stderr what of the log is left out. */
void resume_tell(const struct resumed *r);

/* ---- setup.c ---- */

/* The flags of a run; NULL, false and -1 = not given. */
struct run_flags {
    const char *model, *provider, *base_url, *tools, *system, *budget, *fake, *replay, *record,
        *trace, *temperature, *prices, *decisions;
    bool stream;
    struct replay_flags cassettes;
    int64_t max_tokens, seed; /* seed 0 = not given */
    struct settings settings;
    struct live_flags live;
};
#define RUN_FLAGS_NONE                                                                             \
    ((struct run_flags){.max_tokens = -1, .settings = SETTINGS_NONE, .live = LIVE_FLAGS_NONE})
enum { RUN_OPTIONS = 17 + REPLAY_OPTIONS + SETTINGS_OPTIONS + LIVE_OPTIONS };
/* Writes the options that fill *f to out, which has room for RUN_OPTIONS, and returns how many they
 * are: a run that goes on takes no --system and --seed. */
size_t run_options(struct run_flags *f, enum going how, struct option *out);

/* Their help: before and behind that of the recordings. */
extern const char help_sources[], help_runs[];

/* A rig's options out of flags, with what they point to. */
struct setup {
    struct rules *rules;
    struct rig_options rig; /* without prompt, identity, mend and callbacks */
    struct kernel_config settings;
    struct arena *arena;
    struct live live;
    struct toolset *tools;
    struct toolset *log_tools;
    struct prices *prices;
    struct resumed *resumed;
    struct loop *loop;
    struct approver *approver;
};

/* Checks the flags and opens what they name, and brings up the run that `from` names unless that is
 * a new one. log_tools: the tools that its log names, as --tools has them; NULL = those. Errors as
 * the parts. Close *s in any case. */
int setup_open(struct setup *s, const struct run_flags *f, const struct resume_request *from,
               const char *log_tools, struct err *e) MUST_CHECK;
void setup_close(struct setup *s);

/* Says on stderr what should be known of a replay; the exit status that it stands for. */
int report_replay(const struct player_report *p, bool strict);

/* Says on stderr why a run did not complete. */
void tell_run_status(const struct rig_outcome *o);
#endif
