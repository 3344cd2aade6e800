/* What the files of the tools share: definitions as loaded, built-in answers, child processes. */
#ifndef KERNEL_DRIVE_TOOLS_INT_H
#define KERNEL_DRIVE_TOOLS_INT_H

#include "kernel/base/match.h"
#include "kernel/drive/tools.h"

enum {
    TOOLS_MAX = 1024,
    TOOL_NAME_MAX = 64,
    TOOL_ANSWERS_MAX = 10000,       /* canned answers of one tool */
    TOOL_ARGV_MAX = 256,            /* words of a command */
    TOOL_MS_MAX = 86400000,         /* a day: longest timeout and delay */
    TOOL_CHARS_MAX = 1000000000,    /* largest max_output */
    TOOL_FILE_BYTES_MAX = 16 << 20, /* of a tool file */
    COMMANDS_MAX = 16,              /* child processes at once */
    COMMAND_OUTPUT_MAX = 1 << 20,   /* bytes of stdout */
    COMMAND_STDERR_CHARS = 200      /* of stderr, in a failure's message */
};

enum builtin { BUILTIN_CALCULATOR, BUILTIN_SEARCH_DOCS, BUILTIN_NOW, BUILTIN_TASK_DONE };

/* One entry of `answers`. */
struct canned {
    struct arg_match *when;    /* NULL = always */
    const struct val *when_at; /* the map it was read from; NULL = always */
    int64_t times;             /* how often it may be used; 0 = no limit */
    int64_t delay_ms;
    struct tool_output output;
};

/* Where one tool gets its answers; the arrays are parallel to the toolset's specs. */
struct tool_def {
    enum tool_source source;
    enum builtin builtin; /* TOOL_BUILTIN; a terminal tool without a source is BUILTIN_TASK_DONE */
    char **argv;          /* TOOL_COMMAND, ends with NULL */
    const char *dir;      /* TOOL_COMMAND: working directory */
    const struct val *program; /* TOOL_COMMAND: where its first word is written */
    struct canned *answers;    /* TOOL_CANNED */
    size_t n_answers;
    size_t first_answer; /* its number among all answers of the set, for counters */
    const char *file;    /* where it is written, for messages; NULL for a tool of the program */
    uint32_t line;
};

struct toolset {
    struct arena *arena;
    struct tool_spec *specs;
    struct tool_def *defs;
    size_t n;
    size_t cap;
    size_t n_answers;
};

/* The index of the tool called `name`, or SIZE_MAX. */
size_t toolset_find(const struct toolset *t, struct str name);

/* ---- tools_builtin.c ---- */

struct builtin_info {
    const char *name;
    const char *description;
    const char *parameters; /* compact JSON */
    bool terminal;
};

/* The built-in tool called `name`, or NULL; *which gets its number. */
const struct builtin_info *builtin_find(struct str name, enum builtin *which);

/* Appends the names of all built-in tools, for messages. */
void builtin_names(struct buf *out);

/* Appends the answer of a built-in tool to checked arguments. now_unix_ms: what `now` shows. */
void builtin_answer(enum builtin which, const struct val *args, struct arena *arena,
                    int64_t now_unix_ms, struct buf *out);

/* ---- tools_command.c ---- */

/* A child process: its start, its end, its output. */
struct job;

struct job_options {
    struct loop *loop;
    char *const *argv;
    const char *dir;
    struct str input;      /* for stdin; copied */
    struct str request_id; /* for ASSAY_REQUEST_ID in its environment; copied; n 0 = none */
    int64_t limit_ms;      /* real time after which it is killed with TIMEOUT; 0 = no limit */
    void *ctx;
    /* Once, never from inside job_start; views of output live until it returns. Not after job_stop.
     */
    void (*done)(void *ctx, const struct tool_output *output);
};

/* Starts it, or lets it wait while COMMANDS_MAX others run. NULL when it could not be started:
 * *output then says why, in `arena`. Gone after done or job_stop. */
struct job *job_start(const struct job_options *o, struct arena *arena, struct tool_output *output);

/* Kills it and its process group. */
void job_stop(struct job *j);
#endif
