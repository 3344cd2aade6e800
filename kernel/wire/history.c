/* What models and servers made up, in a form that every provider takes back. A history with a tool
 * name or an id of other characters, or with arguments that are no JSON object, is refused as a
 * whole: one slip of the model would be the end of the session, and a history may come from another
 * provider. Sources: the patterns that the OpenAI and Anthropic APIs name in their errors
 * (^[a-zA-Z0-9_-]{1,64}$), and servers that decode arguments to fill their chat templates. */
#include "kernel/base/ascii.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

enum { ID_MAX = 64, ID_KEPT = 40 };

static bool is_allowed(char c)
{
    return ascii_alnum(c) || c == '_' || c == '-';
}

struct str history_name(const struct tool_spec *offered, size_t n_offered, struct str name,
                        char room[HISTORY_NAME_MAX])
{
    size_t n = name.n < HISTORY_NAME_MAX ? name.n : HISTORY_NAME_MAX;
    if (name.n == 0) {
        return STR("unnamed");
    }
    bool good = name.n == n;
    for (size_t i = 0; i < n; i++) {
        room[i] = is_allowed(name.p[i]) ? name.p[i] : '_';
        good = good && room[i] == name.p[i];
    }
    return good || tool_find(offered, n_offered, name) != NULL ? name : (struct str){room, n};
}

struct str history_arguments(struct str arguments)
{
    struct arena *arena = arena_new();
    struct val *v = NULL;
    bool good = json_parse(arena, NULL, arguments, &v, NULL) == 0 && val_is(v, VAL_OBJECT);
    arena_free(arena);
    return good ? arguments : STR("{}");
}

struct str history_id(struct str id, struct arena *arena)
{
    bool good = id.n > 0 && id.n <= ID_MAX;
    for (size_t i = 0; i < id.n && good; i++) {
        good = is_allowed(id.p[i]);
    }
    if (good) {
        return id;
    }
    char kept[ID_KEPT];
    size_t n = id.n < ID_KEPT ? id.n : ID_KEPT;
    for (size_t i = 0; i < n; i++) {
        kept[i] = is_allowed(id.p[i]) ? id.p[i] : '_';
    }
    return arena_printf(arena, "%.*s_%016llx", (int)n, kept, (unsigned long long)hash64(0, id));
}
