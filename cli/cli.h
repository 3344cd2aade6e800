/* The program `assay`: one file a verb, and what they share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "evals/exit.h"
#include "evals/resume.h"
#include "evals/rig.h"
#include "kernel/base/err.h"
#include "kernel/base/finding.h"
#include "kernel/base/sink.h"
#include "kernel/drive/tools.h"

enum { HELP_TEXTS_MAX = 8 };

struct verb {
    const char *name;
    const char *summary;
    /* What --help prints, one behind the other: usage, options, an example; NULL ends them. */
    const char *help[HELP_TEXTS_MAX + 1];
    int (*run)(int argc, char **argv); /* the words behind the verb; returns the exit status */
};

/* A verb's second word. */
struct sub_verb {
    const char *name;
    int (*run)(int argc, char **argv); /* the words without the second one */
};

/* Runs the one that the first word which is no flag names; unknown or missing: says which there
 * are. */
int sub_verb_run(const char *verb, const struct sub_verb *subs, size_t n, int argc, char **argv);

extern const struct verb verb_run, verb_init, verb_chat, verb_resume, verb_fork, verb_eval,
    verb_golden, verb_cassette, verb_fake, verb_serve, verb_record, verb_replay, verb_trace,
    verb_score, verb_compare, verb_report, verb_merge;

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

/* ---- rescore.c ---- */

/* `assay score RUN`. */
int score_run(int argc, char **argv);

/* ---- eval.c ---- */

/* Appends a line a trial, then the summary with its figures; `more` appends members that follow,
 * with their commas; NULL = none. */
void print_report_json(struct sink *out, const struct eval_report *r,
                       void (*more)(void *ctx, struct sink *out), void *ctx);

/* ---- trace_check.c ---- */

/* `assay trace check`. */
int trace_check(int argc, char **argv);

/* ---- options.c ---- */

/* OPTION_NAME: of a file, a model and the like: a text that is not empty, as that of a variable
 * that is not set would be. */
enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NAME, OPTION_INT, OPTION_LIST };

/* The values of an option that may be given several times, in order. */
enum { OPTION_LIST_MAX = 32 };
struct option_list {
    const char *at[OPTION_LIST_MAX];
    size_t n;
};

struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *out;        /* bool *, const char **, int64_t *, struct option_list * */
    int64_t min, max; /* OPTION_INT */
};

enum { WORDS_MAX = 4096 };

/* The words that are no options, in order. */
struct words {
    const char *at[WORDS_MAX];
    size_t n;
};

/* Reads `--name value`, `--name=value`, flags, -o and -n for --out and --dry-run, and `--` before
 * words that begin with a dash; options and words may be mixed. ERR_USAGE: an unknown option (with
 * the closest known one), a missing or bad value, an option that is no list given twice. */
int options_parse(const struct option *options, size_t n, int argc, char **argv,
                  struct words *words, struct err *e) MUST_CHECK;

/* Whether s is digits, perhaps with decimals, that JSON takes for a number: 0, 12, 0.25. */
bool plain_number(struct str s);

/* "steps=8,tokens=60000,cost_usd=0.5,seconds=120,calls=50,calls_per_reply=10" over what *budget
 * holds. */
int budget_parse(const char *text, struct budget *budget, struct err *e) MUST_CHECK;

/* The table that --prices names, owned by the caller; NULL for NULL. Errors as prices_load. */
int prices_open(const char *path, struct prices **out, struct err *e) MUST_CHECK;
/* NULL is fine. */
int temperature_check(const char *text, struct err *e) MUST_CHECK;

/* Checks that an option's text (NULL allowed) is UTF-8, as logs and requests must be. ERR_USAGE. */
int text_check(const char *option, const char *text, struct err *e) MUST_CHECK;
/* "http://HOST[:PORT]..." or https; n 0 is the provider's own. option: who says it, for the
 * error. ERR_USAGE. */
int base_url_check(const char *option, struct str url, struct err *e) MUST_CHECK;
/* --speed real|none into *real, which stays where the flag was not given. ERR_USAGE. */
int speed_parse(const char *speed, bool *real, struct err *e) MUST_CHECK;
int provider_check(const char *provider, struct err *e) MUST_CHECK;
/* The wire format of a provider's name; Chat Completions for NULL. */
enum wire_format provider_format(const char *provider);

/* ---- replay.c: how cassettes are recorded and replayed ---- */

/* The flags; NULL and false = not given. `mode` is read by those who have it. */
struct replay_flags {
    const char *mode, *match, *speed, *rechunk, *max_age;
    bool strict;
    struct option_list ignore, normalise;
};
enum { REPLAY_OPTIONS = 7 };
/* Writes the options that fill *f, all but --mode, to out; returns how many they are. */
size_t replay_options(struct replay_flags *f, struct option *out);

/* What the flags come to where answers come from `source`. *rules: what out->rules points to, owned
 * by the caller in any case; NULL = none. ERR_USAGE. */
int replay_parse(const struct replay_flags *f, enum eval_source source, struct eval_cassettes *out,
                 struct rules **rules, struct err *e) MUST_CHECK;

/* What the flags come to for a server whose source is set; *rules as above. ERR_USAGE. */
struct serve_options;
int serve_cassettes(const struct replay_flags *f, struct serve_options *o, struct rules **rules,
                    struct err *e) MUST_CHECK;

/* "30d", "12h", "90m" in milliseconds, as --max-age has it. ERR_USAGE. */
int age_parse(const char *text, int64_t *ms, struct err *e) MUST_CHECK;

/* Their help. */
extern const char help_recordings[];

/* ---- settings.c: how the loop behaves ---- */

/* The flags of the loop's settings; NULL, false and -1 = not given. */
struct settings {
    const char *repeat, *compaction, *approve;
    bool fenced_calls, close_names;
    int64_t max_consecutive, no_progress, tool_retries, attempts, context_tokens;
};
#define SETTINGS_NONE                                                                              \
    ((struct settings){.max_consecutive = -1,                                                      \
                       .no_progress = -1,                                                          \
                       .tool_retries = -1,                                                         \
                       .attempts = -1,                                                             \
                       .context_tokens = -1})
extern const char help_loop[];

enum { SETTINGS_OPTIONS = 10 };
/* Writes the SETTINGS_OPTIONS options that fill *s to out. */
void settings_options(struct settings *s, struct option *out);

/* Sets in *config what the flags say. A tier's policy that no flag names is `ask` for danger, where
 * `tools` (NULL: never) has such a tool, and `allow` for the others. ERR_USAGE. */
int settings_apply(const struct settings *s, const struct toolset *tools,
                   struct kernel_config *config, struct err *e) MUST_CHECK;

/* ---- live.c: how live endpoints are called ---- */

/* Its flags; NULL and -1 = not given. */
struct live_flags {
    const char *timeout, *ca, *key_file;
    struct option_list headers;
    int64_t rpm, tpm, max_in_flight;
    bool verbose; /* waits are told; the option is the verb's */
    bool patient; /* unless --timeout says more only the connection has a deadline: who asks has its
                     own */
};
#define LIVE_FLAGS_NONE ((struct live_flags){.rpm = -1, .tpm = -1, .max_in_flight = -1})
extern const char help_endpoint[];

enum { LIVE_OPTIONS = 7 };
/* Writes the LIVE_OPTIONS options that fill *f to out. */
void live_options(struct live_flags *f, struct option *out);

/* Those that count where another program asks and has the key: not --key-file. */
enum { PROXY_OPTIONS = LIVE_OPTIONS - 1 };
/* Their help. */
extern const char help_proxy[];
void proxy_options(struct live_flags *f, struct option *out);

/* What is made of flags and environment; texts are the environment's, the flags' or in arena. */
struct live {
    struct live_settings settings;
    struct str base_url; /* n 0 = the provider's own */
    struct str api_key;  /* n 0 = none */
};

/* base_url as the flag says, NULL = not given. The key is read only where `calls`, as
 * for a replay nothing of it counts. ERR_USAGE; of the key's file as file_read_secret. */
int live_open(const struct live_flags *f, enum wire_format format, const char *base_url, bool calls,
              struct arena *arena, struct live *out, struct err *e) MUST_CHECK;

/* The same for a server that records; *out is for live_prepare. ERR_USAGE: also where the server
 * records nothing and a flag is given. */
int proxy_open(const struct live_flags *f, struct arena *arena, struct serve_options *o,
               struct live *out, struct err *e) MUST_CHECK;

/* The base URLs, by enum wire_format, that a program of somebody else's would ask: what
 * `flag` gave for all (NULL = nothing), or what the environment says, or the provider's own.
 * ERR_USAGE: one is no URL. */
int upstreams_of(const char *flag, const char *given, struct str out[3], struct err *e) MUST_CHECK;

/* ---- approve.c: calls that want a decision ---- */

/* Decides by a file of decisions, else by asking on the terminal, else denies. */
struct approver;

/* decisions: the file that --decisions names, or NULL. ERR_INPUT with the place, ERR_NOT_FOUND,
 * ERR_IO. Owned by the caller; loop must outlive it. */
int approver_new(struct loop *loop, const char *decisions, struct approver **out,
                 struct err *e) MUST_CHECK;
void approver_free(struct approver *a); /* NULL allowed */

/* Warns of lines of the file that cannot hold: there is no such tool, or its tier (by enum
 * tool_tier) is decided about otherwise, unasked. */
void approver_check(const struct approver *a, const struct toolset *tools,
                    const enum tier_policy *tiers);

/* What the file of decisions says about a call: false where no line of it fits. */
bool approver_decides(const struct approver *a, struct str name, struct str arguments,
                      enum decision *decision);

/* What rig_options.ask is told; answers with rig_approve, now or later. */
void approver_ask(struct approver *a, struct rig *rig, struct str call_id, struct str name,
                  struct str arguments);

/* The run is over: what is being asked wants no answer any more. */
void approver_end(struct approver *a);

/* ---- setup.c: what run, resume, fork and chat share ---- */

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

/* ---- progress.c: the line of a run that goes on ---- */

/* On a terminal as standard error; NULL elsewhere. */
struct progress;
struct progress *progress_new(void);
void progress_show(void *progress, const struct eval_progress *p);
void progress_free(struct progress *p); /* takes the line away; NULL allowed */

/* ---- mend.c ---- */

/* Appends the command that records anew what this command line replays: the same words for a shell,
 * with --replay turned into --record and `--mode all`. */
void mend_command(struct buf *out, const char *verb, int argc, char **argv);
/* The same of an eval without --task, --model and --filter, for one of its trials. */
void mend_trial(struct buf *out, int argc, char **argv);
/* Appends the command that goes on with an eval whose run directory is dir. */
void resume_command(struct buf *out, int argc, char **argv, const char *dir);
/* Appends the command that records the program argv (NULL-terminated) into path. rules NULL = none.
 */
void mend_record(struct buf *out, const char *path, const char *mode, const struct rules *rules,
                 char **argv);

/* ---- tell.c: talking to people ---- */

/* Says an error on stderr; returns the exit status that its code stands for. */
int tell_error(const struct err *e);

/* A message on stderr: ends with one newline, further lines are indented, and what a terminal would
 * obey are spaces. */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* All of `s` to standard output; false when it could not be written (closed pipe, full disk), said
 * on stderr. */
bool put_out(struct str s);

/* Text for standard output that goes out piece by piece. */
struct sink sink_to_stdout(void);
/* The rest of it; false when it could not be written or made, said on stderr. */
bool sink_end_stdout(struct sink *s);

/* The same for what a model said: a terminal gets it without what it would obey, a file or pipe
 * gets every byte. */
bool put_text(struct str s);

/* Whether colours are wanted on this stream: a terminal, and no NO_COLOR. */
bool want_color(int fd);

/* Prints findings of the check verbs, for people or as JSON lines. */
struct findings {
    bool json;
    size_t errors;
    size_t warnings;
    size_t unread; /* of the errors: files that the machine could not read */
    struct buf out;
};
/* ctx: the struct findings. */
void findings_add(void *ctx, const struct finding *f);
/* A file that could not be loaded, as a finding of its own. */
void findings_add_err(struct findings *f, const char *file, const struct err *e);
/* Prints them and the count; returns the exit status: 0, 2 when there were errors, or 4 when
 * all of them are files that could not be read though they may be. */
int findings_end(struct findings *f, const char *what, size_t n_files);

/* Files of one kind, as verbs look for them below a folder. */
struct file_kind {
    const char *what;                 /* "golden set", for messages */
    const char *const *endings;       /* of their names; NULL ends them */
    bool (*is_one)(const char *path); /* NULL = the ending is enough */
    const char *like;                 /* how one is known: "*.yaml" */
};

extern const struct file_kind
    kind_cassette;                      /* any *.yaml, *.yml, *.json but tools, sets and scripts */
extern const struct file_kind kind_set; /* a golden set */
extern const struct file_kind kind_script; /* a script of a fake model */

/* The files that the words name, in their order, into *out and *n (in arena): a word that is a
 * folder stands for each file of this kind below it. ERR_INPUT: there is none. Errors as dir_tree.
 */
int words_files(struct arena *arena, const struct words *words, const struct file_kind *kind,
                const char ***out, size_t *n, struct err *e) MUST_CHECK;

/* What is behind `check`: `FILE... [--json]`, each file given to check_file; a folder stands for
 * those below it. verb names it in messages. */
int check_files(int argc, char **argv, const char *verb, const struct file_kind *kind,
                void (*check_file)(const char *path, struct findings *f));

/* The tools that --tools names: a file, or built-in names with commas; NULL: calculator,
 * search_docs, now. */
int tools_open(const char *value, struct toolset **out, struct err *e) MUST_CHECK;

#endif
