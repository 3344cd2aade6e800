/* Any bytes as a golden set: what loads is checked and judges answers; what fails says why; opening
 * it says and gives the same. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "goldens/tests/opened.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static void on_finding(void *ctx, const struct finding *f)
{
    (void)ctx;
    assert(f->code != NULL && f->message.n > 0);
}

static void judge(const struct golden_task *task)
{
    static const struct str answers[] = {
        {NULL, 0}, {"", 0}, {"It fell by 4.2%, to 38.2.", 25}, {"{\"a\":[1,2]}", 11}};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct buf why = {0};
        bool passes = golden_answer_test(task->expect.answer, answers[i], &why);
        assert(passes == (why.n == 0));
        buf_free(&why);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct golden_set *s;
    struct err e = {.code = 0};
    bool loads = false;
    write_file(data, size);
    if (!opened_agrees(path, &loads)) {
        abort();
    }
    if (golden_load(path, &s, &e) != 0) {
        assert(e.message[0] != '\0');
        return 0;
    }
    golden_check(s, on_finding, NULL);
    for (size_t i = 0; i < s->n_tasks; i++) {
        assert(s->tasks[i].id.n > 0 && s->tasks[i].trials > 0);
        judge(&s->tasks[i]);
    }
    golden_free(s);
    return 0;
}
