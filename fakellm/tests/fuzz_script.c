/* Any YAML as a fake script: what loads answers requests in whole pieces, with and without a
 * stream. */
#include <assert.h>

#include "fakellm/fake.h"
#include "kernel/base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUESTS = 4 };

static void check_answer(const struct fake_answer *a)
{
    size_t before = 0;
    assert(!a->mismatch || a->message.n > 0);
    for (size_t i = 0; i < a->n_pieces; i++) {
        assert(a->ends[i] >= before && a->ends[i] <= a->body.n);
        assert(a->at_ms[i] >= (i == 0 ? a->first_ms : a->at_ms[i - 1]));
        before = a->ends[i];
    }
    assert(a->status == 0 || before == a->body.n);
}

static void ask(const struct fake_script *s, struct str body)
{
    struct fake_session *f = fake_session_new(s);
    for (int i = 0; i < REQUESTS; i++) {
        struct fake_answer a;
        fake_answer(f, STR("http://127.0.0.1/v1/chat/completions"), body, &a);
        check_answer(&a);
    }
    (void)fake_leftover(f);
    fake_session_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct val *root = NULL;
    struct fake_script *s;
    struct err e = {.code = 0};
    if (yaml_parse(arena, "fuzz.yaml", (struct str){(const char *)data, size}, YAML_CORE, &root,
                   &e) == 0) {
        if (fake_load_doc((struct doc){arena, "fuzz.yaml"}, root, &s, &e) == 0) {
            ask(s, STR("{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},"
                       "{\"role\":\"user\",\"content\":\"margin\"}]}"));
            ask(s, STR("{\"model\":\"m\",\"stream\":true,\"messages\":"
                       "[{\"role\":\"user\",\"content\":\"margin\"},{\"role\":\"assistant\",\"tool_"
                       "calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                       "\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
                       "\"tool_call_id\":\"c1\",\"content\":\"4.2\"}]}"));
            ask(s, STR("no JSON"));
            fake_free(s);
        } else {
            assert(e.message[0] != '\0');
        }
    }
    arena_free(arena);
    return 0;
}
