/* The models that a set is run with. */
#include "goldens/golden_int.h"
#include "kernel/base/text.h"
#include "kernel/wire/wire.h"

enum { MODELS_MAX = 100, SHOWN_CHARS = 60 };

int golden_model_read(struct doc d, const struct val *v, struct golden_model *out, struct err *e)
{
    enum wire_format format;
    int rc = doc_str(d, v, "model", DOC_REQUIRED, &out->name, e);
    rc = rc != 0 ? rc : doc_str(d, v, "provider", DOC_OPTIONAL, &out->provider, e);
    if (rc == 0 && out->name.n == 0) {
        return doc_fail(d, val_get(v, "model"), e, "the name of the model is empty");
    }
    if (rc == 0 && out->provider.n > 0 && !wire_of_provider(out->provider, &format)) {
        return doc_fail(d, val_get(v, "provider"), e,
                        "there is no provider \"%.*s\": expected openai, responses or anthropic",
                        STR_FMT(text_preview(d.arena, out->provider, SHOWN_CHARS)));
    }
    return rc;
}

/* NAME, or {model: NAME, provider: P} */
static int load_model(struct doc d, const struct val *v, struct golden_model *out, struct err *e)
{
    static const char *const keys[] = {"model", "provider", NULL};
    if (v->kind == VAL_STRING && v->text.n > 0) {
        out->name = v->text;
        return 0;
    }
    if (v->kind != VAL_OBJECT) {
        return doc_fail(d, v, e,
                        "expected the name of a model, or {model: NAME, provider: PROVIDER}, "
                        "found %s",
                        v->kind == VAL_STRING ? "an empty text" : val_kind_name(v->kind));
    }
    int rc = doc_keys(d, v, "a model", keys, e);
    return rc != 0 ? rc : golden_model_read(d, v, out, e);
}

/* A name may stand with two providers. Names become folders, so capitals do not tell two apart. */
static bool same_model(const struct golden_model *a, const struct golden_model *b)
{
    bool apart = a->provider.n > 0 && b->provider.n > 0 && !str_eq(a->provider, b->provider);
    return str_cmp_nocase(a->name, b->name) == 0 && !(apart && str_eq(a->name, b->name));
}

int golden_models_load(struct golden_loaded *l, const struct val *root, struct err *e)
{
    const struct val *list = NULL;
    struct golden_set *s = &l->set;
    int rc = doc_list(l->doc, root, "models", DOC_OPTIONAL, &list, e);
    if (rc != 0 || list == NULL) {
        return rc;
    }
    if (list->count == 0 || list->count > MODELS_MAX) {
        return doc_fail(l->doc, list, e, "expected 1 to %d models, found %zu", (int)MODELS_MAX,
                        list->count);
    }
    s->models = arena_array(s->arena, list->count, sizeof *s->models);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        struct golden_model *m = &s->models[s->n_models++];
        rc = load_model(l->doc, &list->items[i], m, e);
        for (size_t j = 0; j < i && rc == 0; j++) {
            if (same_model(&s->models[j], m)) {
                rc = doc_fail(l->doc, &list->items[i], e,
                              "the model \"%.*s\" stands here twice: expected each once, or with "
                              "a provider of its own each time (capitals do not count: names "
                              "become folders)",
                              STR_FMT(text_preview(l->doc.arena, m->name, SHOWN_CHARS)));
            }
        }
    }
    return rc;
}
