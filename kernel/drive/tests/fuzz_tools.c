/* Any YAML as a list of tools: it loads into specs that keep their promises, or an error says where
 * it fails. */
#include <assert.h>

#include "kernel/base/yaml.h"
#include "kernel/drive/tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_specs(const struct toolset *t)
{
    size_t n;
    const struct tool_spec *specs = toolset_specs(t, &n);
    for (size_t i = 0; i < n; i++) {
        enum tool_source source;
        assert(specs[i].name.n > 0 && specs[i].timeout_ms > 0 && specs[i].max_output >= 0);
        assert(toolset_source(t, specs[i].name, &source));
        for (size_t k = 0; k < i; k++) {
            assert(!str_eq(specs[i].name, specs[k].name));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct toolset *t = toolset_new();
    struct val *root = NULL;
    struct err e = {.code = 0};
    if (yaml_parse(arena, "fuzz.yaml", (struct str){(const char *)data, size}, YAML_CORE, &root,
                   &e) == 0) {
        const struct val *list = val_is(root, VAL_OBJECT) ? val_get(root, "tools") : root;
        if (val_is(list, VAL_ARRAY)) {
            int rc = toolset_add_list(t, (struct doc){arena, "fuzz.yaml"}, list, ".", &e);
            assert(rc == 0 || e.message[0] != '\0');
        }
    }
    check_specs(t);
    toolset_free(t);
    arena_free(arena);
    return 0;
}
