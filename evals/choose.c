/* Which tasks --task and --filter leave. */
#include "evals/plan_int.h"
#include "kernel/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { TAGS_SHOWN = 20 };

/* ---- --task ---- */

static int by_choice(const void *a, const void *b)
{
    const struct plan_choice *x = a;
    const struct plan_choice *y = b;
    return str_cmp(x->id, y->id);
}

/* Reads "ID" or "ID,ID,…". */
static int read_choice(const struct eval_options *o, struct plan *p, struct err *e)
{
    struct str rest = str_of(o->task);
    if (o->task == NULL) {
        return 0;
    }
    p->chosen = arena_array(p->arena, rest.n + 1, sizeof *p->chosen);
    while (rest.p != NULL) {
        struct str id = str_trim(str_cut(&rest, ','));
        if (id.n == 0) {
            return err_set(e, ERR_USAGE,
                           "--task wants a task's id, or several with commas, got \"%s\"", o->task);
        }
        p->chosen[p->n_chosen++] = (struct plan_choice){id, false};
    }
    qsort(p->chosen, p->n_chosen, sizeof *p->chosen, by_choice);
    return 0;
}

/* Whether --task names the task or there is no --task; marks what is found. */
static bool is_named(struct plan *p, struct str id)
{
    struct plan_choice key = {id, false};
    if (p->chosen == NULL) {
        return true;
    }
    struct plan_choice *at = bsearch(&key, p->chosen, p->n_chosen, sizeof key, by_choice);
    if (at != NULL) {
        at->found = true;
    }
    return at != NULL;
}

/* ---- --filter ---- */

/* Reads "TAG", "!TAG", or several with commas, of the n-th --filter. */
static int read_filter(struct plan *p, const char *filter, size_t n, struct err *e)
{
    struct str rest = str_of(filter);
    while (rest.p != NULL) {
        struct str tag = str_trim(str_cut(&rest, ','));
        bool excludes = str_starts(tag, "!");
        tag = excludes ? str_trim(str_slice(tag, 1, tag.n)) : tag;
        if (tag.n == 0) {
            return err_set(e, ERR_USAGE,
                           "--filter wants tags with commas, !TAG for one that is left out, got "
                           "\"%s\"",
                           filter);
        }
        p->tags[p->n_tags++] = (struct plan_tag){tag, n, excludes, false};
    }
    return 0;
}

static int read_filters(const struct eval_options *o, struct plan *p, struct err *e)
{
    size_t room = 0;
    int rc = 0;
    for (size_t i = 0; i < o->n_filters; i++) {
        room += strlen(o->filters[i]) + 1;
    }
    p->tags = arena_array(p->arena, room, sizeof *p->tags);
    for (size_t i = 0; rc == 0 && i < o->n_filters; i++) {
        rc = read_filter(p, o->filters[i], i, e);
    }
    return rc;
}

static bool has_tag(const struct golden_entry *task, struct str tag)
{
    for (size_t i = 0; i < task->n_tags; i++) {
        if (str_eq(task->tags[i], tag)) {
            return true;
        }
    }
    return false;
}

/* Whether each --filter holds: one of its tags, where it names some, and none that it leaves out.
 * Marks the tags that are found. */
static bool fits_filters(struct plan *p, const struct golden_entry *task)
{
    bool fits = true, some = true;
    for (size_t i = 0; i < p->n_tags; i++) {
        struct plan_tag *t = &p->tags[i];
        bool has = has_tag(task, t->tag);
        bool first = i == 0 || p->tags[i - 1].filter != t->filter;
        if (first) {
            fits = fits && some;
            some = true;
            for (size_t k = i; k < p->n_tags && p->tags[k].filter == t->filter; k++) {
                some = some && p->tags[k].excludes;
            }
        }
        t->found = t->found || has;
        some = some || (has && !t->excludes);
        fits = fits && !(has && t->excludes);
    }
    return fits && some;
}

/* ---- both ---- */

int plan_read_choice(const struct eval_options *o, struct plan *p, struct err *e)
{
    int rc = read_choice(o, p, e);
    return rc != 0 ? rc : read_filters(o, p, e);
}

bool plan_chooses(struct plan *p, const struct golden_entry *task)
{
    bool fits = fits_filters(p, task);
    return is_named(p, task->id) && fits;
}

/* The tags that the tasks have, each once, at most TAGS_SHOWN. */
static size_t list_tags(const struct plan *p, struct str tags[TAGS_SHOWN])
{
    size_t n = 0;
    for (size_t s = 0; s < p->n_sets; s++) {
        for (size_t i = 0; i < p->sets[s]->n_tasks; i++) {
            struct golden_entry task = golden_entry(p->sets[s], i);
            for (size_t t = 0; t < task.n_tags && n < TAGS_SHOWN; t++) {
                size_t at = 0;
                while (at < n && !str_eq(tags[at], task.tags[t])) {
                    at++;
                }
                tags[at] = task.tags[t];
                n = at == n ? n + 1 : n;
            }
        }
    }
    return n;
}

/* The tags that there are, behind a semicolon. */
static void add_tags(const struct plan *p, struct buf *out)
{
    struct str tags[TAGS_SHOWN];
    size_t n = list_tags(p, tags);
    buf_addz(out, n == 0 ? ": no task there has any tag" : "; the tags there: ");
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out, "%s%.*s", i > 0 ? ", " : "", STR_FMT(tags[i]));
    }
}

static int no_tasks(const struct eval_options *o, const struct plan *p, struct err *e)
{
    struct buf text = {0};
    if (p->n_tags == 0) {
        return err_set(e, ERR_NOT_FOUND, "%s: there are no tasks in it", o->sets[0]);
    }
    buf_fmt(&text, "no task%s fits --filter", o->task == NULL ? "" : " that --task names");
    for (size_t i = 0; i < o->n_filters; i++) {
        buf_fmt(&text, "%s %s", i > 0 ? " and" : "", o->filters[i]);
    }
    add_tags(p, &text);
    err_set(e, ERR_NOT_FOUND, "%.*s", STR_FMT(buf_str(&text)));
    buf_free(&text);
    return ERR_NOT_FOUND;
}

static int check_tags(const struct plan *p, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n_tags; i++) {
        struct buf text = {0};
        if (!p->tags[i].found) {
            add_tags(p, &text);
            rc = err_set(e, ERR_NOT_FOUND, "no task has the tag %.*s%.*s", STR_FMT(p->tags[i].tag),
                         STR_FMT(buf_str(&text)));
        }
        buf_free(&text);
    }
    return rc;
}

/* --task names an id that no task has. */
static int unknown_task(const struct plan *p, struct str id, struct err *e)
{
    struct arena *scratch = arena_new();
    size_t n = 0;
    for (size_t s = 0; s < p->n_sets; s++) {
        n += p->sets[s]->n_tasks;
    }
    const char **ids = arena_array(scratch, n, sizeof *ids);
    n = 0;
    for (size_t s = 0; s < p->n_sets; s++) {
        for (size_t i = 0; i < p->sets[s]->n_tasks; i++) {
            ids[n++] = arena_cstr(scratch, golden_entry(p->sets[s], i).id);
        }
    }
    const char *close = text_closest(id, ids, n);
    struct str hint = close == NULL ? arena_printf(scratch, "the first of %zu is %s", n, ids[0])
                                    : arena_printf(scratch, "did you mean %s?", close);
    int rc = err_set(e, ERR_NOT_FOUND, "--task: no task has the id %.*s; %.*s", STR_FMT(id),
                     STR_FMT(hint));
    arena_free(scratch);
    return rc;
}

/* An id that is named twice stands twice, side by side, and one of the two is marked as found. */
static int check_choice(const struct plan *p, struct err *e)
{
    for (size_t i = 0; i < p->n_chosen;) {
        struct str id = p->chosen[i].id;
        bool found = false;
        for (; i < p->n_chosen && str_eq(p->chosen[i].id, id); i++) {
            found = found || p->chosen[i].found;
        }
        if (!found) {
            return unknown_task(p, id, e);
        }
    }
    return 0;
}

int plan_check_choice(const struct eval_options *o, const struct plan *p, struct err *e)
{
    int rc = check_choice(p, e);
    rc = rc != 0 ? rc : check_tags(p, e);
    return rc == 0 && p->n == 0 ? no_tasks(o, p, e) : rc;
}
