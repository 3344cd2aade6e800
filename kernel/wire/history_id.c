/* Ids of calls, in a form that every provider takes back: models and servers make up others
 * ("functions.f:0"), and a history may come from another provider. Sources: the pattern and the
 * length that Anthropic and OpenAI name in their errors (^[a-zA-Z0-9_-]+$, at most 64). */
#include "kernel/base/hash.h"
#include "kernel/wire/wire_int.h"

enum { ID_MAX = 64, ID_KEPT = 40 };

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
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
