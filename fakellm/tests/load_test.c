#include "ci/testing/testing.h"
#include "fakellm/fake.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* Longer than any message shows; a cut by bytes would fall into a character. */
#define LONG "aéééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé"

static const char *const good_steps = "steps: [{reply: {text: hi}}]\n";

/* What is refused, where, and a part of what is said. */
static const struct {
    const char *yaml;
    uint32_t line;
    uint32_t column;
    const char *says;
} refused[] = {
    {"steps: [{reply: {text: a}}]\n", 1, 1, "version"},
    {"version: 2\nsteps: [{reply: {text: a}}]\n", 1, 10, "1"},
    {"version: 1\n", 1, 1, "steps and rules"},
    {"version: 1\nsteps: []\n", 2, 8, "empty"},
    {"version: 1\nsteps: {}\n", 2, 8, "list"},
    {"version: 1\nsteps: [{reply: {text: a}}]\nrules: [{reply: {text: a}}]\n", 1, 1, "exactly one"},
    {"version: 1\nmodell: x\nsteps: [{reply: {}}]\n", 2, 1, "model"},
    {"version: 1\nmodel: [x]\nsteps: [{reply: {}}]\n", 2, 8, "string"},
    {"version: 1\nseed: -1\nsteps: [{reply: {}}]\n", 2, 7, "0"},
    {"version: 1\nseed: x\nsteps: [{reply: {}}]\n", 2, 7, "number"},
    {"version: 1\nsteps: [x]\n", 2, 9, "map"},
    {"version: 1\nsteps: [{repeat: 2}]\n", 2, 9, "reply or a fault"},
    {"version: 1\nsteps: [{reply: {}, replies: [{}]}]\n", 2, 17, "one of reply and replies"},
    {"version: 1\nsteps: [{replies: []}]\n", 2, 19, "at least one reply"},
    {"version: 1\nsteps: [{replies: [{text: a}, {txt: b}]}]\n", 2, 32, "txt"},
    {"version: 1\nsteps: [{reply: {}, when: {}}]\n", 2, 21, "when"},
    {"version: 1\nsteps: [{reply: {}, repeat: always}]\n", 2, 29, "forever"},
    {"version: 1\nsteps: [{reply: {}, repeat: 0}]\n", 2, 29, "1"},
    {"version: 1\nsteps: [{reply: {}, repeat: " LONG "}]\n", 2, 29, "ééé…\""},
    {"version: 1\nsteps:\n- {reply: {}}\n- {reply: {}, repeat: forever}\n- {reply: {}}\n", 5, 3,
     "this step is never reached: the one at line 4 repeats forever"},
    {"version: 1\nrules: [{reply: {}, repeat: 1}]\n", 2, 21, "repeat"},
    {"version: 1\nrules:\n- {when: {turn: 1}, reply: {}}\n- {when: {}, reply: {}}\n- {reply: {}}\n",
     5, 3, "this rule is never reached: the one at line 4"},
    {"version: 1\nrules: [{reply: {}, times: forever}]\n", 2, 28, "number"},
    {"version: 1\nsteps: [{reply: }]\n", 2, 17, "map"},
    {"version: 1\nsteps: [{reply: {txt: a}}]\n", 2, 18, "text"},
    {"version: 1\nsteps: [{reply: {text: 4}}]\n", 2, 24, "string"},
    {"version: 1\nsteps: [{reply: {stop: bored}}]\n", 2, 24, "end_turn"},
    {"version: 1\nsteps: [{reply: {ttft_ms: -1}}]\n", 2, 27, "0"},
    {"version: 1\nsteps: [{reply: {chunk: 5}}]\n", 2, 25, "random"},
    {"version: 1\nsteps: [{reply: {chunk: {bytes: 0}}}]\n", 2, 33, "1"},
    {"version: 1\nsteps: [{reply: {chunk: {bytes: 1, tokens: 1}}}]\n", 2, 25, "exactly one"},
    {"version: 1\nsteps: [{reply: {usage: {in: 1}}}]\n", 2, 26, "in"},
    {"version: 1\nsteps: [{reply: {usage: {input: 1.5}}}]\n", 2, 33, "whole"},
    {"version: 1\nsteps: [{reply: {calls: {}}}]\n", 2, 25, "list"},
    {"version: 1\nsteps: [{reply: {calls: [{id: a}]}}]\n", 2, 26, "name"},
    {"version: 1\nsteps: [{reply: {calls: [{name: a, arguments: [1]}]}}]\n", 2, 47,
     "map of arguments"},
    {"version: 1\nsteps: [{fault: {}}]\n", 2, 17, "status and kind"},
    {"version: 1\nsteps: [{fault: {status: 429, kind: hang}}]\n", 2, 17, "exactly one"},
    {"version: 1\nsteps: [{fault: {status: 200}}]\n", 2, 26, "400"},
    {"version: 1\nsteps: [{fault: {kind: explode}}]\n", 2, 24, "truncate"},
    {"version: 1\nsteps: [{fault: {kind: status}}]\n", 2, 24, "truncate"},
    {"version: 1\nsteps: [{fault: {kind: drip, after_bytes: 3}}]\n", 2, 43, "means nothing"},
    {"version: 1\nsteps: [{fault: {kind: hang, retry_after_s: 3}}]\n", 2, 45, "means nothing"},
    {"version: 1\nsteps: [{fault: {status: 500}, reply: {}}]\n", 2, 17, "no reply"},
    {"version: 1\nsteps: [{reply: {}, expect: {last_usr: a}}]\n", 2, 30, "last_user"},
    {"version: 1\nsteps: [{reply: {}, expect: {last_user: {like: a}}}]\n", 2, 42, "like"},
    {"version: 1\nsteps: [{reply: {}, expect: {last_user: {regex: '('}}}]\n", 2, 49,
     "regular expression"},
    {"version: 1\nsteps: [{reply: {}, expect: {tools: a}}]\n", 2, 37, "list"},
    {"version: 1\nsteps: [{reply: {}, expect: {tools: [1]}}]\n", 2, 38, "name of a tool"},
    {"version: 1\nsteps: [{reply: {}, expect: {tools: ['']}}]\n", 2, 38, "name of a tool"},
    {"version: 1\nsteps: [{reply: {}, expect: {turn: 0}}]\n", 2, 36, "1"},
};

static void names_the_place_of_every_mistake(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct arena *arena = arena_new();
        struct err e = {0};
        struct val *root;
        struct fake_script *script;
        CU_ASSERT_EQUAL_FATAL(
            yaml_parse(arena, "s.yaml", str_of(refused[i].yaml), YAML_CORE, &root, &e), 0);
        int rc = fake_load_doc((struct doc){arena, "s.yaml"}, root, &script, &e);
        bool good = rc == ERR_INPUT && e.line == refused[i].line && e.column == refused[i].column &&
                    strstr(e.message, refused[i].says) != NULL && strcmp(e.file, "s.yaml") == 0 &&
                    utf8_invalid_at(str_of(e.message)) == SIZE_MAX;
        if (!good) {
            printf("\n  case %zu: %s  gave %d at %u:%u %s\n", i, refused[i].yaml, rc, e.line,
                   e.column, e.message);
        }
        CU_ASSERT(good);
        arena_free(arena);
    }
}

/* A rule that answers a number of times, or some requests only, leaves others to the next. */
static void what_ends_may_stand_before_another(void)
{
    static const char *const good[] = {
        "steps: [{reply: {}, repeat: 2}, {reply: {}, repeat: forever}]",
        "rules: [{reply: {}, times: 1}, {when: {turn: 2}, reply: {}}, {reply: {}}]",
        "rules: [{when: {tools: []}, reply: {}}, {reply: {}}]",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct arena *arena = arena_new();
        struct err e = {0};
        struct val *root;
        struct fake_script *script = NULL;
        struct str text = arena_printf(arena, "version: 1\n%s\n", good[i]);
        CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, NULL, text, YAML_CORE, &root, &e), 0);
        CU_ASSERT_EQUAL(fake_load_doc((struct doc){arena, NULL}, root, &script, &e), 0);
        fake_free(script);
        arena_free(arena);
    }
}

static void takes_defaults_where_nothing_is_said(void)
{
    struct arena *arena = arena_new();
    struct err e = {0};
    struct val *root;
    struct fake_script *script;
    struct str text = arena_printf(arena, "version: 1\n%s", good_steps);
    CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, NULL, text, YAML_CORE, &root, &e), 0);
    CU_ASSERT_EQUAL_FATAL(fake_load_doc((struct doc){arena, NULL}, root, &script, &e), 0);
    CU_ASSERT(str_is(fake_model(script), "fake-1"));
    CU_ASSERT_EQUAL(fake_seed(script), 0);
    fake_free(script);
    arena_free(arena);
}

static void tells_a_missing_file_from_a_bad_one(void)
{
    struct fake_script *script;
    struct err e = {0};
    CU_ASSERT_EQUAL(fake_load("no/such/script.yaml", &script, &e), ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(fake_load("fakellm", &script, &e), ERR_INPUT);
    CU_ASSERT_EQUAL(fake_load("fakellm/fake.h", &script, &e), ERR_INPUT);
}

/* The published schema and the loader agree on the scripts that we ship. */
static void shipped_scripts_load_and_fit_their_schema(void)
{
    struct arena *arena = arena_new();
    struct err e = {0};
    struct str text;
    struct val *root;
    struct schema *schema;
    CU_ASSERT_EQUAL_FATAL(file_read(arena, "fakellm/script.schema.json", 1 << 20, &text, &e), 0);
    CU_ASSERT_EQUAL_FATAL(json_parse(arena, NULL, text, &root, &e), 0);
    CU_ASSERT_EQUAL_FATAL(schema_new(root, SCHEMA_2020_12, &schema, &e), 0);
    DIR *dir = opendir("goldens/quickstart");
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    size_t seen = 0;
    for (struct dirent *f = readdir(dir); f != NULL; f = readdir(dir)) {
        if (!str_ends(str_of(f->d_name), ".script.yaml")) {
            continue;
        }
        struct buf why = {0};
        struct fake_script *script;
        struct val *v;
        const char *path = path_join(arena, "goldens/quickstart", f->d_name);
        CU_ASSERT_EQUAL_FATAL(fake_load(path, &script, &e), 0);
        fake_free(script);
        CU_ASSERT_EQUAL_FATAL(file_read(arena, path, 1 << 20, &text, &e), 0);
        CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, path, text, YAML_CORE, &v, &e), 0);
        bool valid = schema_valid(schema, v, &why);
        buf_char(&why, '\0');
        CHECK_TEXT(valid ? "" : why.p, "");
        buf_free(&why);
        seen++;
    }
    closedir(dir);
    CU_ASSERT(seen >= 12);
    schema_free(schema);
    arena_free(arena);
}

/* The schema refuses what the loader refuses by form alone. */
static void the_schema_refuses_wrong_scripts(void)
{
    static const char *const wrong[] = {
        "{version: 1}",
        "{version: 1, steps: [{reply: {txt: a}}]}",
        "{version: 1, steps: [{}]}",
        "{version: 1, steps: [{fault: {status: 200}}]}",
        "{version: 1, steps: [{reply: {}, expect: {last_user: {like: a}}}]}",
        "{version: 1, rules: [{reply: {}, repeat: 2}]}",
        "{version: 1, steps: [{reply: {}, expect: {tools: ['']}}]}",
    };
    struct arena *arena = arena_new();
    struct err e = {0};
    struct str text;
    struct val *root;
    struct schema *schema;
    CU_ASSERT_EQUAL_FATAL(file_read(arena, "fakellm/script.schema.json", 1 << 20, &text, &e), 0);
    CU_ASSERT_EQUAL_FATAL(json_parse(arena, NULL, text, &root, &e), 0);
    CU_ASSERT_EQUAL_FATAL(schema_new(root, SCHEMA_2020_12, &schema, &e), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct val *v;
        CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, NULL, str_of(wrong[i]), YAML_CORE, &v, &e), 0);
        CU_ASSERT_FALSE(schema_valid(schema, v, NULL));
    }
    schema_free(schema);
    arena_free(arena);
}

TESTS(fake_load, {"names_the_place_of_every_mistake", names_the_place_of_every_mistake},
      {"what_ends_may_stand_before_another", what_ends_may_stand_before_another},
      {"takes_defaults_where_nothing_is_said", takes_defaults_where_nothing_is_said},
      {"tells_a_missing_file_from_a_bad_one", tells_a_missing_file_from_a_bad_one},
      {"shipped_scripts_load_and_fit_their_schema", shipped_scripts_load_and_fit_their_schema},
      {"the_schema_refuses_wrong_scripts", the_schema_refuses_wrong_scripts})
