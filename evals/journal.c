/* The journal of a run that goes on: which trials it holds. */
#include "evals/run_int.h"
#include "evals/runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { JOURNAL_BYTES_MAX = 1 << 30 };

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
        list[i] = (struct identity){
            item->task->id, plan->n_models > 1 ? item->model->label : STR(""), item->trial, i};
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
    const char *path;
    struct identity *list;
    void (*line)(void *ctx, size_t item, const struct eval_trial *t, struct str text, uint64_t at);
    void *ctx;
};

static int read_line(const struct reading *r, uint32_t number, struct str text, uint64_t at,
                     struct err *e)
{
    struct arena *scratch = arena_new();
    struct eval_trial t;
    int rc = run_trial_read(scratch, r->path, number, text, &t, e);
    const struct identity *found = rc == 0 ? find(r->plan, r->list, &t) : NULL;
    if (found != NULL) {
        r->line(r->ctx, found->item, &t, text, at);
    } else if (rc == 0) {
        rc = err_at(e, ERR_INPUT, r->path, number, 0,
                    "trial %" PRId64 " of %.*s (%.*s) is none of this run: expected the journal "
                    "that it wrote",
                    t.trial, STR_FMT(t.task), STR_FMT(t.model));
    }
    arena_free(scratch);
    return rc;
}

static int read_lines(const struct reading *r, struct str text, uint64_t *whole, struct err *e)
{
    uint32_t number = 0;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < text.n; at = (size_t)*whole) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        if (end == NULL) {
            break;
        }
        rc = read_line(r, ++number, str_slice(text, at, (size_t)(end - text.p)), at, e);
        *whole = (uint64_t)(end - text.p) + 1;
    }
    return rc;
}

int journal_read(const struct plan *plan, const char *path,
                 void (*line)(void *ctx, size_t item, const struct eval_trial *t, struct str text,
                              uint64_t at),
                 void *ctx, uint64_t *bytes, struct err *e)
{
    struct arena *arena = arena_new();
    struct str text = {0};
    struct reading r = {plan, path, list_identities(plan), line, ctx};
    *bytes = 0;
    int rc = file_read(arena, path, JOURNAL_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : read_lines(&r, text, bytes, e);
    if (rc == 0 && *bytes < text.n) {
        rc = file_cut(path, *bytes, e);
    }
    free(r.list);
    arena_free(arena);
    return rc;
}
