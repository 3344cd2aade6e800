/* What the files of goldens/ share. */
#ifndef GOLDENS_GOLDEN_INT_H
#define GOLDENS_GOLDEN_INT_H

#include "goldens/golden.h"

enum {
    GOLDEN_SET_BYTES_MAX = 64 << 20, /* of one file */
    GOLDEN_TASKS_MAX = 100000,
    GOLDEN_TOOLS_BUCKETS = 256
};

/* What the tasks of a file inherit. */
struct golden_defaults {
    struct str system;
    const struct val *tools; /* where it is written; NULL = none */
    struct budget budget;
    int64_t trials;
    const struct val *fake; /* where a script is named; NULL = none */
};

/* A set with what it owns besides its arena. */
struct golden_loaded {
    struct golden_set set;                            /* first: golden_free gets its address */
    struct doc doc;                                   /* of the file that is being loaded */
    const char *dir;                                  /* of that file */
    size_t cap;                                       /* room in set.tasks */
    size_t files_cap;                                 /* and in set.files */
    const struct include *within;                     /* the files that are being loaded */
    struct golden_tools *tools[GOLDEN_TOOLS_BUCKETS]; /* by hash of their source */
    struct golden_tools *first_tools;                 /* the same in order of their first use */
    struct golden_tools *last_tools;
    struct golden_answer *answers; /* every check made, for freeing */
    struct golden_opened *opened;  /* NULL: all tasks stay in memory */
    struct toolset *own_tools;     /* where it is opened: of the task that is being loaded */
    struct golden_tools *shared;   /* the tools of the task loaded last; NULL = its own */
    struct golden_judge *judge;    /* of the file that is being loaded; NULL = none */
    struct judge_link *judges;     /* all of them, the last one first */
    struct golden_lint *lint;      /* it is checked: loading goes on behind a mistake */
};

/* A judge that a file names. */
struct judge_link {
    struct judge_link *next;
    struct golden_judge judge;
};

/* A file that is being loaded, and the one that includes it. */
struct include {
    const struct include *by; /* NULL = the set itself */
    const char *path;
};

/* A toolset and what it was made from: tasks that name the same source share it. */
struct golden_tools {
    struct golden_tools *next;
    struct golden_tools *next_used;
    const char *path;       /* a tool file; NULL = a list in the set */
    const struct val *list; /* likewise; both NULL = no tools */
    struct toolset *set;
    bool broken; /* it could not be loaded, which has been told */
    bool calls;  /* where it is checked: a task that names the file expects a call, */
    bool *named; /* and whether a task names each of its tools; NULL = not even the file */
};

/* Loads the task written at v. Where the set is opened, nothing of it but the tools that it shares
 * belongs to l when l->answers and l->own_tools are taken away. ERR_INPUT with place; ERR_STATE:
 * its tools are broken, which has been told. */
int golden_task_read(struct golden_loaded *l, const struct val *v,
                     const struct golden_defaults *def, struct golden_task *out,
                     struct err *e) MUST_CHECK;

/* An opened set that holds nothing yet; what it owns. */
struct golden_opened *golden_opened_new(void);
void golden_opened_free(struct golden_opened *o); /* NULL allowed */

/* Reads a file of an opened set piece by piece: the items of `tasks` are put aside, *root gets the
 * rest, *first the number of the first. False: it is small, or cannot be read so, or something
 * is wrong; then golden_opened_read of its whole text does it or says what. */
bool golden_opened_stream(struct golden_loaded *l, size_t max_bytes, struct val **root,
                          size_t *first);

/* The same of a text. Errors as yaml_parse. */
int golden_opened_read(struct golden_loaded *l, struct str text, struct val **root, size_t *first,
                       struct err *e) MUST_CHECK;

/* Checks so many tasks that were put aside and adds them to the set. tasks: the list, which holds
 * them itself where they came by a merge key. Errors as golden_task_read. */
int golden_opened_add(struct golden_loaded *l, const struct val *tasks, size_t first,
                      const struct golden_defaults *def, struct err *e) MUST_CHECK;

/* Frees what only opening needs. */
void golden_opened_end(struct golden_opened *o);

/* Loads the `expect` map at v (NULL: nothing is expected but completion). ERR_INPUT with place. */
int golden_expect_load(struct golden_loaded *l, const struct val *v, struct golden_expect *out,
                       struct err *e) MUST_CHECK;
void golden_expect_free(struct golden_expect *x);

/* Reads `model` and `provider` of the map v. ERR_INPUT with place. */
int golden_model_read(struct doc d, const struct val *v, struct golden_model *out,
                      struct err *e) MUST_CHECK;

/* Loads the `models` of the set at root. ERR_INPUT with place. */
int golden_models_load(struct golden_loaded *l, const struct val *root, struct err *e) MUST_CHECK;

/* Loads the `judge` of the set at root, which counts from then on. ERR_INPUT with place. */
int golden_judge_load(struct golden_loaded *l, const struct val *root, struct err *e) MUST_CHECK;

/* Appends "; did you mean NAME?" where a YAML file beside `path`, which is not there, has nearly
 * its name. */
void golden_add_close_file(struct buf *out, const char *path);

/* Compiles the answer check written at v. It belongs to l. ERR_INPUT with place. */
int golden_answer_load(struct golden_loaded *l, const struct val *v, struct golden_answer **out,
                       struct err *e) MUST_CHECK;
void golden_answers_free(struct golden_answer *all);

/* Keys that people put where they do not belong: into a set, a task, an answer check. */
extern const struct doc_elsewhere golden_not_in_set[];
extern const struct doc_elsewhere golden_not_in_task[];
extern const struct doc_elsewhere golden_not_in_answer[];

/* Where findings of golden_check go. */
struct golden_report {
    void (*found)(void *ctx, const struct finding *f);
    void *ctx;
    const char *file;
};

/* Hands a finding on; frees the message. */
void golden_tell(const struct golden_report *r, uint32_t line, uint32_t column,
                 enum finding_severity severity, const char *code, struct buf *message);

/* Finds arguments (a map of matchers, NULL: none) that no call of the tool can meet. */
void golden_check_args(const struct golden_report *r, const struct tool_spec *tool,
                       const struct val *args);
/* Finds parameters that the tool requires and that the expected arguments of the call at `at` leave
 * out: a call that the tool accepts would have more than is expected. */
void golden_check_required(const struct golden_report *r, const struct tool_spec *tool,
                           const struct val *args, const struct val *at);

/* Finds expectations of a task that can never hold, or say nothing. */
void golden_check_expect(const struct golden_report *r, const struct golden_task *t);
void golden_check_answer(const struct golden_report *r, const struct golden_answer *a);

/* Finds rubrics that nobody judges, judges without rubrics, scripts of judges that are not there.
 */
void golden_check_rubric(const struct golden_report *r, const struct golden_task *t);
void golden_check_judges(const struct golden_report *r, const struct golden_loaded *l);

/* Finds what is wrong with the script at `path`, which is named at `at`. */
void golden_check_script(const struct golden_report *r, const char *path, const struct val *at);

/* Whether a regular expression is written as in JavaScript, `/x/i`; then says so. */
bool golden_check_slashes(const struct golden_report *r, const struct val *at, struct str regex);

/* Calls found(ctx, number) for each number in a text for people: digits with thousands separators,
 * a decimal part, an exponent, a minus sign (also U+2212, also before a currency sign). A number
 * followed by % is found twice: 4.2% is 4.2 and 0.042. Stops when found returns true, and returns
 * that. */
bool golden_numbers(struct str text, bool (*found)(void *ctx, struct str number), void *ctx);
#endif
