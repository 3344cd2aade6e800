/* Who judges the rubrics of a task, and whether that can be done. */
#include "evals/run_int.h"

#include <string.h>

bool plan_judge(const struct eval_options *o, const struct golden_judge *j, struct plan_judge *out)
{
    *out = (struct plan_judge){.model = str_of(o->judge)};
    if (j != NULL) {
        out->model = o->judge != NULL ? out->model : j->model;
        out->provider = j->provider;
        out->script = j->fake;
    }
    return out->model.n > 0;
}

/* A mistake at the first rubric of the item's task. */
static int fail_at_rubric(const struct plan *p, const struct plan_item *item, struct err *e,
                          const char *message)
{
    struct golden_task *task = NULL;
    int rc = golden_task_load(p->sets[item->set], item->task, &task, e);
    if (rc == 0) {
        const struct val *rubric = golden_answer_rubric(task->expect.answer);
        rc = err_at(e, ERR_INPUT, task->path, rubric->line, rubric->column, "%s", message);
    }
    golden_task_free(task);
    return rc;
}

static int no_script(const struct plan *p, const struct plan_item *item,
                     const struct golden_judge *j, const struct plan_judge *judge, struct err *e)
{
    struct buf message = {0};
    buf_fmt(&message,
            "with --fake a script plays the judge too: write `judge: {model: %.*s, fake: FILE}` at "
            "the top of the set",
            STR_FMT(judge->model));
    buf_char(&message, '\0');
    int rc = j == NULL ? fail_at_rubric(p, item, e, message.p)
                       : err_at(e, ERR_INPUT, j->path, j->at->line, j->at->column, "%s", message.p);
    buf_free(&message);
    return rc;
}

/* checked: the script that was looked at last; NULL = none */
static int check_script(const struct plan *p, const struct plan_judge *judge, const char **checked,
                        struct err *e)
{
    struct shared_script *script = NULL;
    if (*checked != NULL && strcmp(*checked, judge->script) == 0) {
        return 0;
    }
    int rc = scripts_get(p->loaded, judge->script, &script, e);
    scripts_put(p->loaded, script);
    *checked = judge->script;
    return rc;
}

static int check_judge(const struct eval_options *o, struct plan *p, const struct plan_item *item,
                       const char **checked, struct err *e)
{
    struct golden_entry task = plan_task(p, item);
    struct plan_judge judge;
    if (!task.rubric) {
        return 0;
    }
    if (!plan_judge(o, task.judge, &judge)) {
        return fail_at_rubric(p, item, e,
                              "nobody judges this rubric: write `judge: MODEL` at the top of the "
                              "set, or give --judge MODEL");
    }
    if (o->source == EVAL_FAKE) {
        return judge.script == NULL ? no_script(p, item, task.judge, &judge, e)
                                    : check_script(p, &judge, checked, e);
    }
    struct plan_model asked = {.provider =
                                   judge.provider.n > 0 ? judge.provider : item->model->provider};
    return plan_find_endpoint(o, p, plan_format(&asked), e);
}

int plan_check_judges(const struct eval_options *o, struct plan *p, struct err *e)
{
    const char *checked = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        if (p->items[i].trial == 1) {
            rc = check_judge(o, p, &p->items[i], &checked, e);
        }
    }
    return rc;
}
