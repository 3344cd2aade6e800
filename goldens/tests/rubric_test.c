/* Rubrics: what they decide together with other checks, who judges them, doubts about both. */
#include "ci/testing/testing.h"
#include "goldens/answer_int.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdio.h>

/* An answer check as loaded from text. */
struct loaded {
    struct arena *arena;
    struct golden_loaded l;
    struct golden_answer *check;
};

static void load(struct loaded *x, const char *text)
{
    struct val *v;
    struct err e = {0};
    x->arena = arena_new();
    x->l = (struct golden_loaded){.doc = {x->arena, NULL}};
    CU_ASSERT_EQUAL_FATAL(yaml_parse(x->arena, NULL, str_of(text), YAML_CORE, &v, &e), 0);
    CU_ASSERT_EQUAL_FATAL(golden_answer_load(&x->l, v, &x->check, &e), 0);
}

static void unload(struct loaded *x)
{
    golden_answers_free(x->l.answers);
    arena_free(x->arena);
}

/* Part P and part Q become true (t), false (f) or open (o) by what stands in their places. */
static const char *part(char value, char name)
{
    static char rubric[2][16];
    char *at = rubric[name == 'Q'];
    snprintf(at, sizeof rubric[0], "{rubric: %c}", name);
    return value == 't' ? "{contains: x}" : value == 'f' ? "{contains: y}" : at;
}

/* Kleene's strong logic of three values (Introduction to Metamathematics, 1952, § 64). */
static const struct {
    char p, q, both, either;
} kleene[] = {
    {'t', 't', 't', 't'}, {'t', 'f', 'f', 't'}, {'t', 'o', 'o', 't'},
    {'f', 't', 'f', 't'}, {'f', 'f', 'f', 'f'}, {'f', 'o', 'f', 'o'},
    {'o', 't', 'o', 't'}, {'o', 'f', 'f', 'o'}, {'o', 'o', 'o', 'o'},
};

static char held(const char *text)
{
    struct loaded x;
    load(&x, text);
    enum golden_held h = golden_answer_judge(x.check, STR("x"), NULL, NULL);
    struct str open = golden_answer_open(x.check, STR("x"), NULL);
    CU_ASSERT_EQUAL(open.p != NULL, h == GOLDEN_OPEN);
    unload(&x);
    return h == GOLDEN_HOLDS ? 't' : h == GOLDEN_FAILS ? 'f' : 'o';
}

static void checks_and_open_rubrics_combine_as_kleene_has_it(void)
{
    char text[200];
    for (size_t i = 0; i < sizeof kleene / sizeof kleene[0]; i++) {
        const char *p = part(kleene[i].p, 'P');
        const char *q = part(kleene[i].q, 'Q');
        char both = kleene[i].both;
        snprintf(text, sizeof text, "{all: [%s, %s]}", p, q);
        CU_ASSERT_EQUAL(held(text), both);
        snprintf(text, sizeof text, "{any: [%s, %s]}", p, q);
        CU_ASSERT_EQUAL(held(text), kleene[i].either);
        snprintf(text, sizeof text, "{not: {all: [%s, %s]}}", p, q);
        CU_ASSERT_EQUAL(held(text), both == 't' ? 'f' : both == 'f' ? 't' : 'o');
    }
}

/* What is asked for next, and what comes of it. */
static const struct {
    const char *check;
    const char *met;   /* rubrics with a verdict, by their one letter */
    const char *unmet; /* likewise */
    enum golden_held held;
    const char *open; /* or NULL */
    const char *why;  /* or NULL */
} verdicts[] = {
    {"{rubric: A}", "", "", GOLDEN_OPEN, "A", NULL},
    {"{rubric: A}", "A", "", GOLDEN_HOLDS, NULL, NULL},
    {"{rubric: A}", "", "A", GOLDEN_FAILS, NULL, "rubric \"A\" not met: no A (judge j1)"},
    {"{rubric: ' A '}", "A", "", GOLDEN_HOLDS, NULL, NULL},
    {"{not: {rubric: A}}", "", "A", GOLDEN_HOLDS, NULL, NULL},
    {"{not: {rubric: A}}", "A", "", GOLDEN_FAILS, NULL,
     "rubric \"A\" is met, and must not be: no A (judge j1)"},
    {"{all: [{rubric: A}, {rubric: B}]}", "", "", GOLDEN_OPEN, "A", NULL},
    {"{all: [{rubric: A}, {rubric: B}]}", "A", "", GOLDEN_OPEN, "B", NULL},
    {"{all: [{rubric: A}, {rubric: B}]}", "", "A", GOLDEN_FAILS, NULL, "rubric \"A\" not met"},
    {"{all: [{rubric: A}, {rubric: B}]}", "AB", "", GOLDEN_HOLDS, NULL, NULL},
    {"{all: [{rubric: A}, {contains: y}]}", "", "", GOLDEN_FAILS, NULL, "expected"},
    {"{any: [{rubric: A}, {contains: x}]}", "", "", GOLDEN_HOLDS, NULL, NULL},
    {"{any: [{rubric: A}, {rubric: B}]}", "", "A", GOLDEN_OPEN, "B", NULL},
    {"{any: [{rubric: A}, {rubric: B}]}", "A", "", GOLDEN_HOLDS, NULL, NULL},
    {"{any: [{rubric: A}, {rubric: B}]}", "", "AB", GOLDEN_FAILS, NULL,
     "none of these holds: rubric \"A\" not met: no A (judge j1); rubric \"B\" not met"},
    {"{all: [{any: [{contains: x}, {rubric: A}]}, {not: {rubric: B}}]}", "", "", GOLDEN_OPEN, "B",
     NULL},
    {"{any: [{all: [{contains: y}, {rubric: A}]}, {rubric: B}]}", "", "", GOLDEN_OPEN, "B", NULL},
    {"{all: [{rubric: A}, {rubric: A}]}", "A", "", GOLDEN_HOLDS, NULL, NULL},
    /* an undecided regex is no yes, whatever a judge says beside it */
    {"{all: [{regex: '^(x+)+$'}, {rubric: A}]}", "", "", GOLDEN_FAILS, NULL, "too many steps"},
};

static const char undecided[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx!";

static void verdicts_decide_what_hangs_on_them(void)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        struct loaded x;
        struct golden_verdict said[4];
        struct golden_verdicts v = {said, 0, STR("j1")};
        struct buf why = {0};
        load(&x, verdicts[i].check);
        for (int met = 0; met < 2; met++) {
            const char *names = met ? verdicts[i].met : verdicts[i].unmet;
            for (; *names != '\0'; names++) {
                struct str name = arena_str(x.arena, (struct str){names, 1});
                said[v.n++] = (struct golden_verdict){
                    name, met, arena_printf(x.arena, "no %.*s", STR_FMT(name))};
            }
        }
        struct str answer = str_of(undecided);
        struct str open = golden_answer_open(x.check, answer, &v);
        enum golden_held h = golden_answer_judge(x.check, answer, &v, &why);
        buf_char(&why, '\0');
        CU_ASSERT_EQUAL(h, verdicts[i].held);
        CU_ASSERT_EQUAL(open.p == NULL, verdicts[i].open == NULL);
        if (open.p != NULL && verdicts[i].open != NULL) {
            CU_ASSERT(str_is(open, verdicts[i].open));
        }
        bool said_why = verdicts[i].why == NULL
                            ? why.n == 1
                            : str_find(buf_str(&why), str_of(verdicts[i].why)) != SIZE_MAX;
        if (!said_why || h != verdicts[i].held) {
            printf("\n  %s: %d, %s\n", verdicts[i].check, (int)h, why.p);
        }
        CU_ASSERT(said_why);
        buf_free(&why);
        unload(&x);
    }
}

static void an_answer_that_is_missing_asks_nobody(void)
{
    struct loaded x;
    load(&x, "{not: {rubric: A}}");
    CU_ASSERT_PTR_NULL(golden_answer_open(x.check, (struct str){NULL, 0}, NULL).p);
    CU_ASSERT_EQUAL(golden_answer_judge(x.check, (struct str){NULL, 0}, NULL, NULL), GOLDEN_FAILS);
    CU_ASSERT_PTR_NULL(golden_answer_open(NULL, STR("x"), NULL).p);
    CU_ASSERT_PTR_NULL(golden_answer_rubric(NULL));
    CU_ASSERT_PTR_NOT_NULL(golden_answer_rubric(x.check));
    unload(&x);
}

/* ---- judges of sets ---- */

static const char *write_file(struct arena *arena, const char *dir, const char *name,
                              const char *text)
{
    struct err e = {0};
    const char *path = path_join(arena, dir, name);
    CU_ASSERT_EQUAL_FATAL(file_replace(path, str_of(text), &e), 0);
    return path;
}

static void a_task_has_the_judge_of_its_file_or_of_what_includes_it(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct golden_set *set;
    struct err e = {0};
    write_file(arena, dir, "plain.yaml", "version: 1\nname: p\ntasks: [{id: a, prompt: x}]\n");
    write_file(arena, dir, "own.yaml",
               "version: 1\nname: o\njudge: j2\ntasks: [{id: b, prompt: x}]\n");
    const char *path =
        write_file(arena, dir, "set.yaml",
                   "version: 1\nname: s\njudge: {model: j1, provider: anthropic, fake: f.yaml}\n"
                   "include: [plain.yaml, own.yaml]\ntasks: [{id: c, prompt: x}]\n");
    CU_ASSERT_EQUAL_FATAL(golden_load(path, &set, &e), 0);
    CU_ASSERT_EQUAL_FATAL(set->n_tasks, 3);
    CU_ASSERT(str_is(set->tasks[0].judge->model, "j1"));
    CU_ASSERT(str_is(set->tasks[1].judge->model, "j2"));
    CU_ASSERT_PTR_EQUAL(set->tasks[2].judge, set->tasks[0].judge);
    CU_ASSERT(str_is(set->tasks[2].judge->provider, "anthropic"));
    CHECK_TEXT(set->tasks[2].judge->fake, path_join(arena, dir, "f.yaml"));
    golden_free(set);
    arena_free(arena);
}

static void note(void *ctx, const struct finding *f)
{
    buf_fmt(ctx, "%u:%u %s %s %.*s\n", f->line, f->column, finding_severity_name(f->severity),
            f->code, STR_FMT(f->message));
}

static void note_mistake(void *ctx, const struct err *e)
{
    buf_fmt(ctx, "%u:%u %s\n", e->line, e->column, e->message);
}

static void rubrics_without_judges_and_judges_without_rubrics_are_found(void)
{
    static const struct {
        const char *judge, *answer, *want;
    } cases[] = {
        {"judge: j", "{rubric: is kind}", ""},
        {"models: null", "{all: [{contains: a}, {rubric: is kind}]}",
         "7:42 error no_judge nobody judges this rubric: write `judge: MODEL` at the top of the "
         "set\n"},
        {"judge: j", "{contains: a}",
         "3:8 warning unused_judge no task has a rubric for this judge; leave it out\n"},
        {"judge: {model: j, fake: none.yaml}", "{rubric: is kind}",
         "3:25 error missing_script there is no script none.yaml\n"},
        /* a rubric alone may hold: it is not said to be in vain */
        {"judge: j", "{all: [{equals: abc}, {rubric: is kind}]}", ""},
        {"judge: j", "{all: [{rubric: is kind}, {not: {rubric: is kind}}]}",
         "7:46 error never_holds no answer passes this check and the one at line 7, which wants "
         "the opposite; leave one out\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        const char *dir = testing_dir();
        struct buf found = {0};
        const char *text = arena_printf(arena,
                                        "version: 1\nname: s\n%s\ntasks:\n- id: a\n  prompt: x\n"
                                        "  expect: {answer: %s}\n",
                                        cases[i].judge, cases[i].answer)
                               .p;
        golden_check(write_file(arena, dir, "set.yaml", text), note_mistake, note, &found);
        buf_char(&found, '\0');
        struct str got = buf_str(&found);
        size_t folder = str_find(got, str_of(dir));
        if (folder != SIZE_MAX) { /* of the test's own */
            size_t n = str_of(dir).n + 1;
            got = arena_printf(arena, "%.*s%.*s", STR_FMT(str_slice(got, 0, folder)),
                               STR_FMT(str_slice(got, folder + n, got.n)));
        }
        CHECK_TEXT(got.p, cases[i].want);
        buf_free(&found);
        arena_free(arena);
    }
}

TESTS(golden_rubric,
      {"checks_and_open_rubrics_combine_as_kleene_has_it",
       checks_and_open_rubrics_combine_as_kleene_has_it},
      {"verdicts_decide_what_hangs_on_them", verdicts_decide_what_hangs_on_them},
      {"an_answer_that_is_missing_asks_nobody", an_answer_that_is_missing_asks_nobody},
      {"a_task_has_the_judge_of_its_file_or_of_what_includes_it",
       a_task_has_the_judge_of_its_file_or_of_what_includes_it},
      {"rubrics_without_judges_and_judges_without_rubrics_are_found",
       rubrics_without_judges_and_judges_without_rubrics_are_found})
