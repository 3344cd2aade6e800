/* Rules of what does not count when a request looks for its recording. Each is a path into the JSON
 * body of a request, or into the arguments of a tool's calls; what it leads to is left out, or has
 * the matches of a pattern replaced. Rules work one after the other, in the order they came. */
#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"
#include "kernel/base/regex.h"
#include "kernel/base/text.h"

#include <stdlib.h>

enum { RULES_MAX = 64, RULE_BYTES_MAX = 4096, SHOWN_CHARS = 80 };

struct rule {
    enum cassette_rule_kind kind;
    struct str text; /* as it was given */
    struct str tool; /* of whose calls; n 0 = of requests */
    struct json_path path;
    struct regex *pattern; /* RULE_NORMALISE */
    struct str with;
};

struct rules {
    struct arena *arena;
    struct rule items[RULES_MAX];
    size_t n;
};

struct rules *cassette_rules_new(void)
{
    struct rules *r = mem_zero(sizeof *r);
    r->arena = arena_new();
    return r;
}

void cassette_rules_free(struct rules *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        regex_free(r->items[i].pattern);
    }
    arena_free(r->arena);
    free(r);
}

/* ---- reading a rule ---- */

/* "tool:NAME:" before a path. */
static struct str take_tool(struct str text, struct str *tool)
{
    struct str rest = str_slice(text, sizeof "tool:" - 1, text.n);
    size_t colon = str_starts(text, "tool:") ? str_find(rest, STR(":")) : SIZE_MAX;
    if (colon == SIZE_MAX || colon == 0) {
        return text;
    }
    *tool = str_slice(rest, 0, colon);
    return str_slice(rest, colon + 1, rest.n);
}

/* PATH=REGEX=>TEXT; the last => counts. */
static int read_normaliser(struct rules *r, struct str text, struct rule *rule, struct err *e)
{
    size_t eq = str_find(text, STR("="));
    size_t arrow = SIZE_MAX;
    for (size_t i = text.n; i >= 2 && arrow == SIZE_MAX; i--) {
        arrow = text.p[i - 2] == '=' && text.p[i - 1] == '>' ? i - 2 : SIZE_MAX;
    }
    if (arrow == SIZE_MAX || arrow <= eq) {
        return err_set(e, ERR_INPUT,
                       "expected PATH=REGEX=>TEXT, such as "
                       "'messages[*].content=[0-9a-f]{32}=>ID', got \"%.*s\"",
                       STR_FMT(text_preview(r->arena, rule->text, SHOWN_CHARS)));
    }
    rule->with = str_slice(text, arrow + 2, text.n);
    int rc = cassette_path_read(r->arena, str_slice(text, 0, eq), &rule->path, e);
    return rc != 0 ? rc : regex_new(str_slice(text, eq + 1, arrow), &rule->pattern, e);
}

int cassette_rules_add(struct rules *r, enum cassette_rule_kind kind, struct str text,
                       struct err *e)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->items[i].kind == kind && str_eq(r->items[i].text, text)) {
            return 0;
        }
    }
    if (r->n == RULES_MAX || text.n > RULE_BYTES_MAX) {
        return err_set(e, ERR_LIMIT, "at most %d rules of at most %d bytes each", RULES_MAX,
                       RULE_BYTES_MAX);
    }
    struct rule *rule = &r->items[r->n];
    *rule = (struct rule){.kind = kind, .text = arena_str(r->arena, text)};
    struct str path = take_tool(rule->text, &rule->tool);
    int rc = kind == RULE_IGNORE ? cassette_path_read(r->arena, path, &rule->path, e)
                                 : read_normaliser(r, path, rule, e);
    if (rc == 0 && kind == RULE_IGNORE && rule->path.n == 0) {
        rc = err_set(e, ERR_INPUT, "the path %.*s leaves nothing to compare; name a part",
                     STR_FMT(path));
    }
    r->n += rc == 0 ? 1 : 0;
    return rc;
}

int cassette_rules_add_all(struct rules *r, const struct rules *from, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && from != NULL && i < from->n; i++) {
        rc = cassette_rules_add(r, from->items[i].kind, from->items[i].text, e);
    }
    return rc;
}

size_t cassette_rules_count(const struct rules *r)
{
    return r == NULL ? 0 : r->n;
}

struct str cassette_rules_text(const struct rules *r, size_t i, enum cassette_rule_kind *kind)
{
    *kind = r->items[i].kind;
    return r->items[i].text;
}

/* ---- applying them ---- */

static struct str replaced(struct arena *arena, const struct rule *rule, struct str s)
{
    struct buf out = {0};
    size_t from = 0, at = 0, n = 0;
    while (from <= s.n && regex_find(rule->pattern, s, from, &at, &n) == 1) {
        buf_add(&out, str_slice(s, from, at));
        buf_add(&out, rule->with);
        from = at + n;
        if (n == 0) { /* nothing was matched: on behind the next character */
            size_t next = from + 1;
            while (next < s.n && ((unsigned char)s.p[next] & 0xc0) == 0x80) {
                next++;
            }
            buf_add(&out, str_slice(s, from, next));
            from = next;
        }
    }
    buf_add(&out, str_slice(s, from, s.n));
    s = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return s;
}

/* Every string in a value, keys aside. */
static struct val normalised(struct arena *arena, const struct rule *rule, const struct val *v)
{
    struct val made = *v;
    if (v->kind == VAL_STRING) {
        made.text = replaced(arena, rule, v->text);
    } else if (v->kind == VAL_ARRAY) {
        made.items = arena_array(arena, v->count, sizeof *made.items);
        for (size_t i = 0; i < v->count; i++) {
            made.items[i] = normalised(arena, rule, &v->items[i]);
        }
    } else if (v->kind == VAL_OBJECT) {
        made.members = arena_array(arena, v->count, sizeof *made.members);
        for (size_t i = 0; i < v->count; i++) {
            made.members[i] = v->members[i];
            made.members[i].value = normalised(arena, rule, &v->members[i].value);
        }
    }
    return made;
}

static bool rewrite(struct arena *arena, const struct rule *rule, size_t step, const struct val *v,
                    struct val *out);

/* A list's item that is left out is null, so that the others keep their places. */
static void rewrite_items(struct arena *arena, const struct rule *rule, size_t step,
                          const struct val *v, struct val *out)
{
    const struct step *s = &rule->path.steps[step];
    out->items = arena_array(arena, v->count, sizeof *out->items);
    for (size_t i = 0; i < v->count; i++) {
        out->items[i] = v->items[i];
        if (cassette_step_to_item(s, i) &&
            !rewrite(arena, rule, step + 1, &v->items[i], &out->items[i])) {
            out->items[i] = (struct val){.kind = VAL_NULL};
        }
    }
}

static void rewrite_members(struct arena *arena, const struct rule *rule, size_t step,
                            const struct val *v, struct val *out)
{
    const struct step *s = &rule->path.steps[step];
    out->members = arena_array(arena, v->count, sizeof *out->members);
    out->count = 0;
    for (size_t i = 0; i < v->count; i++) {
        struct member *m = &out->members[out->count];
        bool kept = true;
        *m = v->members[i];
        if (cassette_step_to_key(s, m->key)) {
            kept = rewrite(arena, rule, step + 1, &v->members[i].value, &m->value);
        }
        out->count += kept ? 1 : 0;
    }
}

/* What the rule makes of the value where its steps from `step` on begin; false = it is left out. */
static bool rewrite(struct arena *arena, const struct rule *rule, size_t step, const struct val *v,
                    struct val *out)
{
    *out = *v;
    if (step == rule->path.n) {
        if (rule->kind == RULE_IGNORE) {
            return false;
        }
        *out = normalised(arena, rule, v);
    } else if (v->kind == VAL_ARRAY) {
        rewrite_items(arena, rule, step, v, out);
    } else if (v->kind == VAL_OBJECT) {
        rewrite_members(arena, rule, step, v, out);
    }
    return true;
}

static bool is_for(const struct rule *rule, struct str uri)
{
    struct str tool = str_starts(uri, "tool:") ? str_slice(uri, 5, uri.n) : STR("");
    return str_eq(rule->tool, tool);
}

bool cassette_rules_apply(const struct rules *r, struct str uri, struct str meaning, bool json,
                          struct buf *out)
{
    struct arena *arena = arena_new();
    struct val v = {.kind = VAL_STRING, .text = meaning};
    struct val *parsed = NULL;
    bool applied = false;
    if (json && json_parse(arena, NULL, meaning, &parsed, NULL) == 0) {
        v = *parsed;
    }
    for (size_t i = 0; r != NULL && i < r->n; i++) {
        if (is_for(&r->items[i], uri)) {
            struct val before = v;
            applied = true;
            if (!rewrite(arena, &r->items[i], 0, &before, &v)) {
                v = before;
            }
        }
    }
    if (applied && json) {
        json_add_canonical(out, &v);
    } else if (applied) {
        buf_add(out, v.text);
    }
    arena_free(arena);
    return applied;
}
