/* What the files of the tools share: definitions as loaded, built-in answers, child processes. */
#ifndef KERNEL_DRIVE_TOOLS_INT_H
#define KERNEL_DRIVE_TOOLS_INT_H

#include "kernel/base/match.h"
#include "kernel/drive/tools_function.h"

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

enum builtin {
    BUILTIN_CALCULATOR,
    BUILTIN_SEARCH_DOCS,
    BUILTIN_NOW,
    BUILTIN_TASK_DONE,
    BUILTIN_READ_FILE,
    BUILTIN_WRITE_FILE,
    BUILTIN_LIST_FILES
};

/* One entry of `answers`. */
struct canned {
    struct arg_match *when;    /* NULL = always */
    const struct val *when_at; /* the map it was read from; NULL = always */
    const struct val *at;      /* where it is written */
    int64_t times;             /* how often it may be used; 0 = no limit */
    int64_t delay_ms;
    struct tool_output output;
};

/* A header of an HTTP tool's calls. */
struct http_tool_header {
    struct str name;
    struct str value; /* may hold ${NAME}, of the environment as it is when the call is sent */
    const struct val *at;
};

/* Where an HTTP tool's calls go. */
struct http_tool {
    struct str method;
    struct str url;
    struct http_tool_header *headers;
    size_t n_headers;
};

/* Where one tool gets its answers; the arrays are parallel to the toolset's specs. */
struct tool_def {
    enum tool_source source;
    enum builtin builtin;      /* TOOL_BUILTIN, TOOL_FILE; a terminal tool without a source is
                                  BUILTIN_TASK_DONE */
    char **argv;               /* TOOL_COMMAND, ends with NULL */
    const char *dir;           /* TOOL_COMMAND: working directory */
    const struct val *program; /* TOOL_COMMAND: where its first word is written */
    const char *root;          /* TOOL_FILE: the folder that it sees */
    const struct val *root_at; /* TOOL_FILE: where that is written */
    struct http_tool http;     /* TOOL_HTTP */
    struct canned *answers;    /* TOOL_CANNED */
    size_t n_answers;
    /* TOOL_FUNCTION: as in struct tool_function */
    void (*call)(void *ctx, const struct val *args, struct arena *arena, struct tool_output *out);
    void *ctx;
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

/* Whether a name is 1 to TOOL_NAME_MAX ASCII letters, digits and characters of `also`. */
bool tool_name_ok(struct str name, const char *also);

/* Adds a tool of the program, with the schema of `params`. Views of spec and def live as long as
 * the set. Errors as toolset_add_function. */
int toolset_add_made(struct toolset *t, const struct tool_spec *spec, const struct tool_def *def,
                     const struct tool_param *params, struct err *e) MUST_CHECK;

/* ---- tools_function.c ---- */

/* The schema of an object with these parameters (NULL = none), as described at
 * toolset_add_function; `tool` is named in errors. */
int params_schema(struct arena *arena, const char *tool, const struct tool_param *params,
                  struct val **out, struct err *e) MUST_CHECK;

/* ---- tools_builtin.c ---- */

struct builtin_info {
    const char *name;
    const char *description;
    const struct tool_param *params; /* NULL = none */
    bool terminal;
    bool in_root; /* works in a folder that the tool file gives: TOOL_FILE */
    enum tool_tier tier;
};

/* The built-in tool called `name`, or NULL; *which gets its number. */
const struct builtin_info *builtin_find(struct str name, enum builtin *which);

/* Appends the names of all built-in tools, for messages. */
void builtin_names(struct buf *out);

/* Appends the answer of a built-in tool without a folder to checked arguments. now_unix_ms: what
 * `now` shows. */
void builtin_answer(enum builtin which, const struct val *args, struct arena *arena,
                    int64_t now_unix_ms, struct buf *out);

/* ---- tools_command.c ---- */

/* A command under way: its start, its end, its output. */
struct job;

struct job_options {
    struct loop *loop;
    char **argv; /* ends with NULL */
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

/* ---- tools_files.c ---- */

/* The answer of a TOOL_FILE to checked arguments, in `arena`. */
void file_tool_answer(const struct tool_def *def, const struct val *args, struct arena *arena,
                      struct tool_output *out);

/* ---- tools_http.c ---- */

/* Reads the value of `http`. ERR_INPUT with its place. */
int http_tool_read(struct doc d, const struct val *v, struct arena *arena, struct http_tool *out,
                   struct err *e) MUST_CHECK;

/* Which variable of the environment is missing, in words, and in *at the header that needs it; n 0
 * = none. */
struct str http_tool_missing(const struct http_tool *t, struct arena *arena, const struct val **at);

/* A call of an HTTP tool under way. */
struct fetch;

struct fetch_options {
    struct loop *loop;
    struct sched *sched;
    const struct http_tool *tool;
    const struct val *args; /* a map; used during fetch_start only, as are the texts */
    struct str arguments;   /* the same as JSON */
    struct str request_id;  /* for the header Idempotency-Key; n 0 = none */
    int64_t limit_ms;       /* real time after which it fails with TIMEOUT; 0 = no limit */
    void *ctx;
    /* Once, never from inside fetch_start; views of output live until it returns. Not after
     * fetch_stop. What came from the environment stands as REDACTED in it. */
    void (*done)(void *ctx, const struct tool_output *output);
};

/* Sends it. NULL when it cannot be sent: *output then says why, in `arena`. Gone after done or
 * fetch_stop. */
struct fetch *fetch_start(const struct fetch_options *o, struct arena *arena,
                          struct tool_output *output);

void fetch_stop(struct fetch *f);
#endif
