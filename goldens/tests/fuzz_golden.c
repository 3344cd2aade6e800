/* Any bytes as a golden set: what loads is checked and judges answers; what fails says why; opening
 * it says and gives the same. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "goldens/tests/opened.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUBRICS_MAX = 64 };

static char path[] = "/tmp/assay-fuzz-golden-XXXXXX";

static void remove_file(void)
{
    unlink(path);
}

static void write_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0) {
        fd = mkstemp(path);
        atexit(remove_file);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        abort();
    }
}

static void on_mistake(void *ctx, const struct err *e)
{
    ++*(size_t *)ctx;
    assert(e->message[0] != '\0');
}

static void on_finding(void *ctx, const struct finding *f)
{
    (void)ctx;
    assert(f->code != NULL && f->message.n > 0);
}

/* Each rubric is asked about at most once, and then all is decided. way: the verdicts are no, yes,
 * or both in turn. */
static void ask(const struct golden_answer *check, struct str answer, int way)
{
    struct golden_verdict said[RUBRICS_MAX];
    struct golden_verdicts v = {said, 0, STR("j")};
    struct buf why = {0};
    struct str open = golden_answer_open(check, answer, &v);
    while (open.p != NULL && v.n < RUBRICS_MAX) {
        for (size_t i = 0; i < v.n; i++) {
            assert(!str_eq(said[i].rubric, open));
        }
        assert(golden_answer_judge(check, answer, &v, &why) == GOLDEN_OPEN && why.n == 0);
        said[v.n] = (struct golden_verdict){open, way == 1 || (way == 2 && v.n % 2 == 0), open};
        v.n++;
        open = golden_answer_open(check, answer, &v);
    }
    enum golden_held held = golden_answer_judge(check, answer, &v, &why);
    assert((held == GOLDEN_OPEN) == (open.p != NULL));
    assert((held == GOLDEN_FAILS) == (why.n > 0));
    buf_free(&why);
}

static void judge(const struct golden_task *task)
{
    static const struct str answers[] = {
        {NULL, 0}, {"", 0}, {"It fell by 4.2%, to 38.2.", 25}, {"{\"a\":[1,2]}", 11}};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        for (int way = 0; way < 3; way++) {
            ask(task->expect.answer, answers[i], way);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct golden_set *s;
    struct err e = {.code = 0};
    bool loads = false;
    size_t mistakes = 0;
    write_file(data, size);
    if (!opened_agrees(path, &loads)) {
        abort();
    }
    golden_check(path, on_mistake, on_finding, &mistakes);
    assert((mistakes == 0) == loads);
    if (golden_load(path, &s, &e) != 0) {
        assert(e.message[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < s->n_tasks; i++) {
        assert(s->tasks[i].id.n > 0 && s->tasks[i].trials > 0);
        judge(&s->tasks[i]);
    }
    golden_free(s);
    return 0;
}
