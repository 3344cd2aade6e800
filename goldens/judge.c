/* The judge that a set names for its rubrics: loading, and doubts about it. */
#include "goldens/golden_int.h"
#include "kernel/drive/files.h"

/* {model: NAME, provider: P, fake: SCRIPT} */
static int load_map(struct golden_loaded *l, const struct val *v, struct golden_judge *out,
                    struct err *e)
{
    static const char *const keys[] = {"model", "provider", "fake", NULL};
    struct golden_model model = {0};
    struct doc d = l->doc;
    struct str fake = {0};
    int rc = doc_keys(d, v, "a judge", keys, e);
    rc = rc != 0 ? rc : golden_model_read(d, v, &model, e);
    rc = rc != 0 ? rc : doc_str(d, v, "fake", DOC_OPTIONAL, &fake, e);
    out->model = model.name;
    out->provider = model.provider;
    if (fake.n > 0) {
        out->fake = path_join(d.arena, l->dir, arena_cstr(d.arena, fake));
        out->fake_at = val_get(v, "fake");
    }
    return rc;
}

int golden_judge_load(struct golden_loaded *l, const struct val *root, struct err *e)
{
    const struct val *v = val_get(root, "judge");
    if (v == NULL || v->kind == VAL_NULL) {
        return 0;
    }
    struct judge_link *link = arena_alloc(l->set.arena, sizeof *link);
    *link = (struct judge_link){l->judges, {.at = v, .path = l->doc.file}};
    l->judges = link;
    l->judge = &link->judge;
    if (v->kind == VAL_STRING && v->text.n > 0) {
        l->judge->model = v->text;
        return 0;
    }
    if (v->kind != VAL_OBJECT) {
        return doc_fail(l->doc, v, e,
                        "expected the name of a model, or {model: NAME, provider: PROVIDER, fake: "
                        "SCRIPT}, found %s",
                        v->kind == VAL_STRING ? "an empty text" : val_kind_name(v->kind));
    }
    return load_map(l, v, l->judge, e);
}

void golden_check_rubric(const struct golden_report *r, const struct golden_task *t)
{
    const struct val *rubric = golden_answer_rubric(t->expect.answer);
    struct buf message = {0};
    if (rubric != NULL && t->judge == NULL) {
        buf_addz(&message, "nobody judges this rubric: write `judge: MODEL` at the top of the set");
        golden_tell(r, rubric->line, rubric->column, FINDING_ERROR, "no_judge", &message);
    }
}

void golden_check_judges(const struct golden_report *r, const struct golden_loaded *l)
{
    for (const struct judge_link *at = l->judges; at != NULL; at = at->next) {
        struct golden_report here = {r->found, r->ctx, at->judge.path};
        struct buf message = {0};
        if (at->judge.fake != NULL) {
            golden_check_script(&here, at->judge.fake, at->judge.fake_at);
        }
        if (!at->judge.used) {
            buf_addz(&message, "no task has a rubric for this judge; leave it out");
            golden_tell(&here, at->judge.at->line, at->judge.at->column, FINDING_WARNING,
                        "unused_judge", &message);
        }
    }
}
