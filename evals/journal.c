/* The journal of a run that goes on: which trials it holds. */
#include "evals/rundir_int.h"
#include "evals/runs.h"
#include "kernel/drive/lines.h"

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
    qsort(list, plan->n, sizeof *list, by_identity);
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

struct reading {
    const struct plan *plan;
    struct lines *lines;
    struct identity *list;
    struct arena *scratch;
    journal_line *line;
    void *ctx;
};

static int read_line(struct reading *r, uint32_t number, struct str text, uint64_t at,
                     struct err *e)
{
    struct eval_trial t;
    arena_clear(r->scratch);
    int rc = run_trial_read(r->scratch, lines_name(r->lines), number, text, &t, e);
    if (rc != 0) {
        return rc;
    }
    const struct identity *found = find(r->plan, r->list, &t);
    return found != NULL
               ? r->line(r->ctx, found->item, &t, text, at, e)
               : err_at(e, ERR_INPUT, lines_name(r->lines), number, 0,
                        "trial %" PRId64 " of %.*s (%.*s) is none of this run: expected the "
                        "journal that it wrote",
                        t.trial, STR_FMT(t.task), STR_FMT(t.model));
}

static int read_lines(struct reading *r, uint64_t *end, struct err *e)
{
    for (uint32_t number = 1;; number++) {
        struct str text;
        enum line_found found;
        uint64_t at = *end;
        int rc = lines_next(r->lines, end, &text, &found, e);
        if (rc != 0 || found != LINE_WHOLE) {
            return rc;
        }
        rc = read_line(r, number, text, at, e);
        if (rc != 0) {
            return rc;
        }
    }
}

int journal_read(const struct plan *plan, const char *path, journal_line *line, void *ctx,
                 uint64_t *bytes, struct err *e)
{
    struct reading r = {.plan = plan, .line = line, .ctx = ctx};
    *bytes = 0;
    int rc = lines_open(path, &r.lines, e);
    if (rc != 0) {
        return rc;
    }
    r.scratch = arena_new();
    r.list = list_identities(plan);
    rc = read_lines(&r, bytes, e);
    free(r.list);
    arena_free(r.scratch);
    lines_free(r.lines);
    return rc;
}
