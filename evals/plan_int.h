/* What a run is to do: which tasks, with which models, how often, and what that needs. */
#ifndef EVALS_PLAN_INT_H
#define EVALS_PLAN_INT_H

#include "evals/agent.h"
#include "evals/eval.h"

/* A model that tasks are run with. */
struct plan_model {
    struct str name;       /* n 0 = the script's or the recording's */
    struct str provider;   /* as wire_provider names it; n 0 = open */
    struct str label;      /* the name, or NAME@PROVIDER where the run or a set has several */
    struct str file;       /* the label as a part of file names */
    const char *cassettes; /* the folder of its recordings */
};

/* Those of one set. */
struct plan_models {
    const struct plan_model **at;
    size_t n; /* at least 1 */
};

struct plan_item {
    const struct plan_model *model;
    int64_t trial; /* from 1 */
    uint32_t set;  /* which one of the plan */
    uint32_t task; /* which one of the set */
};

/* An id that --task names. */
struct plan_choice {
    struct str id;
    bool found; /* a task has it */
};

/* A tag that a --filter names. */
struct plan_tag {
    struct str tag;
    size_t filter; /* which one */
    bool excludes;
    bool found; /* a task has it */
};

struct plan {
    struct arena *arena;
    struct golden_set **sets;
    size_t n_sets;
    struct plan_model *models; /* of all sets, each once */
    size_t n_models;
    struct plan_models *of_set;        /* by set */
    struct eval_endpoint endpoints[3]; /* by enum wire_format, of those that a model has */
    bool found[3];                     /* likewise */
    struct plan_choice *chosen;        /* in the order of str_cmp; NULL = all tasks */
    size_t n_chosen;
    struct plan_tag *tags; /* in the order of the filters */
    size_t n_tags;
    struct plan_item *items; /* in the order of the sets, then the models, then the trials */
    size_t n;
    const char **scripts; /* that are played, in the order of the tasks, of all shards */
    size_t n_scripts, cap_scripts;
    bool several;               /* a task has more than one trial */
    struct toolset *no_tools;   /* for tasks without tools */
    struct scripts *loaded;     /* that are played or were lately */
    struct agent_command agent; /* n 0 = our own loop is what is evaluated */
    struct agents *agents;      /* while it runs: the program and its server; else NULL */
};

/* Loads the sets and lists what is to be run. Errors as eval_run. */
int plan_make(const struct eval_options *o, struct plan *out, struct err *e) MUST_CHECK;
/* Checks what its source needs, as far as can be told before anything is run. Errors as eval_run.
 */
int plan_check(const struct eval_options *o, struct plan *p, struct err *e) MUST_CHECK;
void plan_free(struct plan *p);

/* What is known of an item's task without loading it. */
struct golden_entry plan_task(const struct plan *p, const struct plan_item *item);

/* The script that plays a task with EVAL_FAKE, where the task says `fake`; NULL = it has none. */
const char *plan_script(const struct eval_options *o, const char *fake);

/* ---- plan_names.c ---- */

/* The trial's trace, relative to the run directory, and its cassette's path with `mark` before the
 * ending; in arena. */
const char *plan_trace(const struct plan *p, const struct plan_item *item, struct arena *arena);
const char *plan_cassette(const struct plan *p, const struct plan_item *item, const char *mark,
                          struct arena *arena);

/* The folder of the logs of what a judge was asked about the trial of a trace, both relative to the
 * run directory; in arena. */
const char *judge_logs(struct str trace, struct arena *arena);

/* Likewise the file with what a program under test wrote to its standard error. */
const char *stderr_name(struct str trace, struct arena *arena);

/* ---- models.c ---- */

/* Fills the plan's models, those of each set, and where they are asked, from its sets. ERR_USAGE:
 * two would share file names; ERR_LIMIT; errors of the options' `endpoint`. */
int plan_list_models(const struct eval_options *o, struct plan *p, struct err *e) MUST_CHECK;

/* ERR_NOT_FOUND: the folder of a replay holds recordings of models alone, and none of them is
 * named. */
int plan_check_folders(const struct eval_options *o, const struct plan *p,
                       struct err *e) MUST_CHECK;

/* Fills one of the plan's endpoints, unless it was. Errors of the options' `endpoint`. */
int plan_find_endpoint(const struct eval_options *o, struct plan *p, enum wire_format f,
                       struct err *e) MUST_CHECK;

/* The form of its endpoint's messages: Chat Completions where that is open. */
enum wire_format plan_format(const struct plan_model *m);

/* ---- choose.c ---- */

/* Reads --task and --filter into the plan. ERR_USAGE. */
int plan_read_choice(const struct eval_options *o, struct plan *p, struct err *e) MUST_CHECK;

/* Whether they leave the task; marks what is found of them. */
bool plan_chooses(struct plan *p, const struct golden_entry *task);

/* ERR_NOT_FOUND: an id or a tag that no task has, or no task is left (the plan's n is 0). Every
 * task was asked about before. */
int plan_check_choice(const struct eval_options *o, const struct plan *p, struct err *e) MUST_CHECK;

/* ---- plan_judge.c ---- */

/* Who judges the answers to a task. */
struct plan_judge {
    struct str model;
    struct str provider; /* n 0 = the one of the run */
    const char *script;  /* plays it with EVAL_FAKE; NULL = none */
};

/* task: the judge that it names, NULL = none. False where nobody judges. */
bool plan_judge(const struct eval_options *o, const struct golden_judge *task,
                struct plan_judge *out);

/* Sees to it that every rubric has its judge, and that this can be asked. ERR_INPUT with place;
 * errors of its script; of the options' `endpoint`. */
int plan_check_judges(const struct eval_options *o, struct plan *p, struct err *e) MUST_CHECK;

/* ---- scripts.c ---- */

/* Scripts that many trials play. */
struct scripts;
struct shared_script;
struct scripts *scripts_new(void);
void scripts_free(struct scripts *all); /* NULL allowed; none is played any more */

/* The script of a file, loaded at first need; it stays loaded until scripts_put, and a while
 * longer. Errors as fake_load. */
int scripts_get(struct scripts *all, const char *path, struct shared_script **out,
                struct err *e) MUST_CHECK;
void scripts_put(struct scripts *all, struct shared_script *s); /* s NULL allowed */
const struct fake_script *scripts_script(const struct shared_script *s);
#endif
