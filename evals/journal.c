/* The journal of a run that goes on: which trials it holds. */
#include "evals/order_int.h"
#include "evals/rundir_int.h"
#include "evals/trial_lines_int.h"

#include <inttypes.h>
#include <stdlib.h>

/* What tells a trial of a run from the others. */
struct identity {
    struct str task;
    struct str model; /* n 0 where one model runs */
    int64_t trial;
    size_t item;
};

static int by_identity(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;
    int order = str_cmp(x->task, y->task);
    order = order != 0 ? order : str_cmp(x->model, y->model);
    return order != 0 ? order : (x->trial > y->trial) - (x->trial < y->trial);
}

/* Sorted; freed by the caller. */
static struct identity *list_identities(const struct plan *plan)
{
    struct identity *list = mem_alloc((plan->n + 1) * sizeof *list);
    for (size_t i = 0; i < plan->n; i++) {
        const struct plan_item *item = &plan->items[i];
        list[i] =
            (struct identity){plan_task(plan, item).id,
                              plan->n_models > 1 ? item->model->label : STR(""), item->trial, i};
    }
    order_list(list, plan->n, sizeof *list, by_identity);
    return list;
}

static const struct identity *find(const struct plan *plan, const struct identity *list,
                                   const struct eval_trial *t)
{
    struct identity key = {t->task, plan->n_models > 1 ? t->model : STR(""), t->trial, 0};
    const struct identity *at = bsearch(&key, list, plan->n, sizeof key, by_identity);
    if (at == NULL && plan->n_models > 1) {
        key.model = STR(""); /* a script or recording names it */
        at = bsearch(&key, list, plan->n, sizeof key, by_identity);
    }
    return at;
}

static int none_of_this(const struct trial_lines *l, struct err *e)
{
    return err_at(e, ERR_INPUT, lines_name(l->from), l->number, 0,
                  "trial %" PRId64 " of %.*s (%.*s) is none of this run: expected the journal that "
                  "it wrote",
                  l->trial.trial, STR_FMT(l->trial.task), STR_FMT(l->trial.model));
}

int journal_read(const struct plan *plan, const char *path, journal_line *line, void *ctx,
                 uint64_t *bytes, struct err *e)
{
    struct trial_lines l = {.journal = true};
    *bytes = 0;
    int rc = lines_open(path, &l.from, e);
    if (rc != 0) {
        return rc;
    }
    l.scratch = arena_new();
    struct identity *list = list_identities(plan);
    rc = trial_lines_next(&l, e);
    while (rc == 0 && l.found == LINE_WHOLE) {
        const struct identity *found = find(plan, list, &l.trial);
        rc =
            found == NULL ? none_of_this(&l, e) : line(ctx, found->item, &l.trial, l.text, l.at, e);
        rc = rc != 0 ? rc : trial_lines_next(&l, e);
    }
    *bytes = l.next;
    free(list);
    arena_free(l.scratch);
    lines_free(l.from);
    return rc;
}
