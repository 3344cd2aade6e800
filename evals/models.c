/* Which models a run has, what they are called, and where their recordings lie. */
#include "evals/plan_int.h"
#include "kernel/base/ascii.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"

#include <string.h>

enum { MODELS_MAX = 1000, FILE_NAME_MAX = 100, FOLDERS_SHOWN = 20 };

/* ---- the list ---- */

static struct plan_model *table_add(struct plan *p, struct str name, struct str provider,
                                    struct err *e)
{
    for (size_t i = 0; i < p->n_models; i++) {
        struct plan_model *m = &p->models[i];
        if (str_eq(m->name, name) && str_eq(m->provider, provider)) {
            return m;
        }
    }
    if (p->n_models == MODELS_MAX) {
        err_set(e, ERR_LIMIT, "more than %d models in one run", MODELS_MAX);
        return NULL;
    }
    p->models[p->n_models] = (struct plan_model){.name = name, .provider = provider};
    return &p->models[p->n_models++];
}

/* Adds a model to those of one set, once; --provider counts for all. */
static int add(const struct eval_options *o, struct plan *p, struct plan_models *of,
               struct str name, struct str provider, struct err *e)
{
    struct plan_model *m =
        table_add(p, name, o->provider != NULL ? str_of(o->provider) : provider, e);
    for (size_t i = 0; i < of->n; i++) {
        if (of->at[i] == m) {
            return 0;
        }
    }
    if (m == NULL) {
        return ERR_LIMIT;
    }
    of->at[of->n++] = m;
    return 0;
}

/* "NAME@PROVIDER" */
static bool split_label(struct str label, struct str *name, struct str *provider)
{
    enum wire_format f;
    size_t at = label.n;
    while (at > 0 && label.p[at - 1] != '@') {
        at--;
    }
    *provider = str_slice(label, at, label.n);
    *name = str_slice(label, 0, at == 0 ? 0 : at - 1);
    return name->n > 0 && wire_of_provider(*provider, &f);
}

/* One that the set has too keeps the provider that the set says. */
static int add_named(const struct eval_options *o, struct plan *p, const struct golden_set *set,
                     struct plan_models *of, struct str name, struct err *e)
{
    struct str bare, provider;
    int rc = 0;
    bool found = false;
    for (size_t i = 0; rc == 0 && i < set->n_models; i++) {
        if (str_eq(set->models[i].name, name)) {
            found = true;
            rc = add(o, p, of, name, set->models[i].provider, e);
        }
    }
    if (found) {
        return rc;
    }
    return split_label(name, &bare, &provider) ? add(o, p, of, bare, provider, e)
                                               : add(o, p, of, name, STR(""), e);
}

static bool fits_file_name(uint32_t c)
{
    return c > 0x7f ? !text_is_control(c)
                    : ascii_alnum((char)c) || c == '.' || c == '_' || c == '-';
}

/* Letters of all scripts stay; each byte of what had better not stand in a file name is a _. */
static struct str file_name(struct arena *arena, struct str label)
{
    char *name = arena_cstr(arena, label);
    for (size_t i = 0; i < label.n;) {
        size_t at = i;
        uint32_t c = utf8_next(label, &i);
        if (!fits_file_name(c) || (c == '.' && at == 0)) {
            memset(name + at, '_', i - at);
        }
    }
    return str_of(name);
}

/* Whether a replay has recordings of this model in a folder of its own. */
static bool has_folder(const struct eval_options *o, struct str name, struct str provider)
{
    struct arena *scratch = arena_new();
    struct str both = arena_printf(scratch, "%.*s@%.*s", STR_FMT(name), STR_FMT(provider));
    bool there = path_is_dir(path_join(scratch, o->cassettes, file_name(scratch, name).p)) ||
                 path_is_dir(path_join(scratch, o->cassettes, file_name(scratch, both).p));
    arena_free(scratch);
    return there;
}

/* Whether the set's own models are run: scripts name theirs, and so do recordings that lie in no
 * folders of models. */
static bool set_counts(const struct eval_options *o, const struct golden_set *set)
{
    bool any = false;
    for (size_t i = 0; o->source == EVAL_REPLAY && i < set->n_models; i++) {
        any = any || has_folder(o, set->models[i].name, set->models[i].provider);
    }
    return o->source != EVAL_FAKE && (o->source != EVAL_REPLAY || any);
}

static int list_models(const struct eval_options *o, struct plan *p, const struct golden_set *set,
                       struct plan_models *of, struct err *e)
{
    int rc = 0;
    of->at =
        arena_array(p->arena, (o->n_models + 1) * (set->n_models + 1), sizeof(struct plan_model *));
    for (size_t i = 0; rc == 0 && i < o->n_models; i++) {
        rc = add_named(o, p, set, of, str_of(o->models[i]), e);
    }
    for (size_t i = 0; rc == 0 && o->n_models == 0 && set_counts(o, set) && i < set->n_models;
         i++) {
        rc = add(o, p, of, set->models[i].name, set->models[i].provider, e);
    }
    return rc != 0 || of->n > 0 ? rc : add(o, p, of, str_of(o->model), STR(""), e);
}

/* ---- names ---- */

static size_t count_named(const struct golden_set *set, struct str name)
{
    size_t n = 0;
    for (size_t i = 0; i < set->n_models; i++) {
        n += str_eq(set->models[i].name, name);
    }
    return n;
}

/* Whether the run or a set has the name with several providers: one of them alone is called as it
 * is among the others, and finds its recordings. */
static bool has_several_providers(const struct plan *p, struct str name)
{
    size_t run = 0, most = 0;
    for (size_t i = 0; i < p->n_models; i++) {
        run += str_eq(p->models[i].name, name);
    }
    for (size_t i = 0; i < p->n_sets; i++) {
        size_t n = count_named(p->sets[i], name);
        most = n > most ? n : most;
    }
    return run > 1 || most > 1;
}

static int check_names(const struct plan *p, struct err *e)
{
    for (size_t i = 0; i < p->n_models; i++) {
        struct str one = p->models[i].file;
        if (one.n > FILE_NAME_MAX) {
            return err_set(e, ERR_USAGE,
                           "the name of the model %.*s is too long for a folder: where several "
                           "models run it has at most %d bytes",
                           STR_FMT(p->models[i].label), FILE_NAME_MAX);
        }
        for (size_t j = 0; j < p->n_models; j++) {
            struct str other = p->models[j].file;
            struct str rest = str_slice(other, one.n, other.n);
            bool same = i < j && str_cmp_nocase(one, other) == 0;
            bool longer =
                str_cmp_nocase(one, str_slice(other, 0, one.n)) == 0 && str_starts(rest, "--");
            if (same || longer) {
                return err_set(e, ERR_USAGE,
                               "the models %.*s and %.*s would share file names (%.*s, %.*s%s): "
                               "run one of them apart, with --model",
                               STR_FMT(p->models[i].label), STR_FMT(p->models[j].label),
                               STR_FMT(one), STR_FMT(other),
                               same && !str_eq(one, other) ? "; capitals do not count" : "");
            }
        }
    }
    return 0;
}

static int name_models(struct plan *p, struct err *e)
{
    for (size_t i = 0; i < p->n_models; i++) {
        struct plan_model *m = &p->models[i];
        m->label = m->provider.n > 0 && has_several_providers(p, m->name)
                       ? arena_printf(p->arena, "%.*s@%.*s", STR_FMT(m->name), STR_FMT(m->provider))
                       : m->name;
        m->file = file_name(p->arena, m->label);
    }
    return p->n_models > 1 ? check_names(p, e) : 0;
}

/* ---- recordings ---- */

/* The folders in `path` that hold recordings, where it holds none itself; shown in *out. */
static size_t model_folders(const char *path, struct buf *out)
{
    struct arena *scratch = arena_new();
    struct str *names = NULL, *inside = NULL;
    size_t n = 0, m = 0, found = 0;
    bool flat = dir_list(scratch, path, ".yaml", &names, &n, NULL) == 0 && n > 0;
    if (flat || dir_list(scratch, path, "", &names, &n, NULL) != 0) {
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const char *folder = path_join(scratch, path, arena_cstr(scratch, names[i]));
        if (path_is_dir(folder) && dir_list(scratch, folder, ".yaml", &inside, &m, NULL) == 0 &&
            m > 0) {
            found++;
            if (found <= FOLDERS_SHOWN) {
                buf_fmt(out, "%s%.*s", found > 1 ? ", " : "", STR_FMT(names[i]));
            }
        }
    }
    arena_free(scratch);
    return found;
}

/* Where one model runs its folder is taken when it is there, or when the others have one. */
static void find_folders(const struct eval_options *o, struct plan *p)
{
    struct buf others = {0};
    for (size_t i = 0; o->cassettes != NULL && i < p->n_models; i++) {
        struct plan_model *m = &p->models[i];
        const char *own = m->file.n == 0 ? NULL : path_join(p->arena, o->cassettes, m->file.p);
        bool there = own != NULL && path_is_dir(own);
        bool apart = p->n_models > 1 || there ||
                     (o->source == EVAL_RECORD && model_folders(o->cassettes, &others) > 0);
        m->cassettes = own != NULL && apart ? own : o->cassettes;
    }
    buf_free(&others);
}

int plan_check_folders(const struct eval_options *o, const struct plan *p, struct err *e)
{
    struct buf names = {0};
    int rc = 0;
    bool flat = p->n_models == 1 && p->models[0].cassettes == o->cassettes;
    if (o->source == EVAL_REPLAY && flat && model_folders(o->cassettes, &names) > 0) {
        size_t first = str_find(buf_str(&names), STR(","));
        rc = err_set(
            e, ERR_NOT_FOUND,
            "%s: there are only folders of models in it: %.*s; name one, or several, as in "
            "--model %.*s",
            o->cassettes, STR_FMT(buf_str(&names)), STR_FMT(str_slice(buf_str(&names), 0, first)));
    }
    buf_free(&names);
    return rc;
}

/* ---- where they are asked ---- */

int plan_find_endpoint(const struct eval_options *o, struct plan *p, enum wire_format f,
                       struct err *e)
{
    if (o->endpoint == NULL || p->found[f]) {
        return 0;
    }
    p->found[f] = true;
    return o->endpoint(o->endpoint_ctx, f, &p->endpoints[f], e);
}

static int find_endpoints(const struct eval_options *o, struct plan *p, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n_models; i++) {
        rc = plan_find_endpoint(o, p, plan_format(&p->models[i]), e);
    }
    return rc;
}

enum wire_format plan_format(const struct plan_model *m)
{
    enum wire_format f = WIRE_CHAT;
    (void)wire_of_provider(m->provider, &f);
    return f;
}

int plan_list_models(const struct eval_options *o, struct plan *p, struct err *e)
{
    int rc = 0;
    p->models = arena_array(p->arena, MODELS_MAX, sizeof *p->models);
    p->of_set = arena_array(p->arena, p->n_sets, sizeof *p->of_set);
    for (size_t i = 0; rc == 0 && i < p->n_sets; i++) {
        rc = list_models(o, p, p->sets[i], &p->of_set[i], e);
    }
    rc = rc != 0 ? rc : name_models(p, e);
    if (rc == 0) {
        find_folders(o, p);
    }
    return rc != 0 || o->agent != NULL ? rc : find_endpoints(o, p, e);
}
