#include "fakellm/tests/scripted.h"
#include "kernel/base/yaml.h"

#include <stdio.h>
#include <stdlib.h>

const char *const ask_plain =
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
const char *const ask_stream =
    "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
    "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

struct scripted scripted_new(const char *yaml)
{
    struct scripted s = {.arena = arena_new()};
    struct err e = {0};
    struct val *root;
    if (yaml_parse(s.arena, "test.yaml", str_of(yaml), YAML_CORE, &root, &e) != 0 ||
        fake_load_doc((struct doc){s.arena, "test.yaml"}, root, &s.script, &e) != 0) {
        char text[2048];
        fprintf(stderr, "%s\n", err_text(&e, text, sizeof text));
        exit(EXIT_FAILURE);
    }
    s.session = fake_session_new(s.script);
    return s;
}

void scripted_free(struct scripted *s)
{
    fake_session_free(s->session);
    fake_free(s->script);
    arena_free(s->arena);
}

void scripted_ask(struct scripted *s, const char *body, struct fake_answer *out)
{
    fake_answer(s->session, STR("http://127.0.0.1:1/v1/chat/completions"), str_of(body), out);
}
