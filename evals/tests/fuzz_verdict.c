/* Any bytes as what a judge said, and as the answer that it is asked about: a verdict is one of
 * two, and nothing that an answer says changes what is asked. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evals/rubric_int.h"
#include "kernel/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_reply(struct arena *arena, struct str text)
{
    bool pass = false;
    struct str reason = {NULL, 0};
    struct buf why = {0};
    bool read = verdict_read(arena, text, &pass, &reason, &why);
    assert(read == (why.n == 0));
    assert(!read || (reason.n > 0 && str_find(text, STR("pass")) != SIZE_MAX) ||
           str_find(text, STR("\\u")) != SIZE_MAX);
    buf_free(&why);
}

static void ask(struct arena *arena, struct str text)
{
    struct buf out = {0};
    struct val *v = NULL;
    struct str turns[2] = {STR("p"), text};
    struct golden_task task = {.turns = turns, .n_turns = 2};
    verdict_request(&out, &task, text, STR("r"));
    int rc = json_parse(arena, NULL, buf_str(&out), &v, NULL);
    assert(rc == 0 && v->count == 3 && str_is(val_text(val_get(v, "rubric")), "r"));
    assert(val_get(v, "task")->count == 2 && val_is(val_get(v, "answer"), VAL_STRING));
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct str text = {(const char *)data, size};
    read_reply(arena, text);
    ask(arena, text);
    arena_free(arena);
    return 0;
}
