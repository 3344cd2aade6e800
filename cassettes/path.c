/* Paths into JSON, a part of RFC 9535: names, indexes and wildcards, without filters and slices;
 * the `$.` before them may be left out. */
#include "cassettes/cassette_int.h"
#include "kernel/base/ascii.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

#include <string.h>

enum { STEPS_MAX = 64, DIGITS_MAX = 9, SHOWN_CHARS = 80 };

static int bad_path(struct str path, size_t at, const char *expected, struct err *e)
{
    struct arena *scratch = arena_new();
    int rc = err_set(e, ERR_INPUT,
                     "the path %.*s is wrong at its character %zu: expected %s; paths look like "
                     "metadata.user, messages[0].content, messages[*].name, [\"odd key\"]",
                     STR_FMT(text_preview(scratch, path, SHOWN_CHARS)), at + 1, expected);
    arena_free(scratch);
    return rc;
}

/* The bytes of the quoted text that `rest` begins with. In double quotes \ escapes the next. */
static size_t quoted_bytes(struct str rest)
{
    size_t n = 1;
    while (n < rest.n && rest.p[n] != rest.p[0]) {
        n += rest.p[n] == '\\' && rest.p[0] == '"' ? 2 : 1;
    }
    return n < rest.n ? n + 1 : rest.n;
}

static int read_quoted(struct arena *arena, struct str path, size_t *at, struct step *out,
                       struct err *e)
{
    struct str rest = str_slice(path, *at, path.n);
    struct str quoted = str_slice(rest, 0, quoted_bytes(rest));
    struct val *key = NULL;
    out->kind = STEP_KEY;
    if (quoted.p[0] == '"') {
        if (json_parse(arena, NULL, quoted, &key, NULL) != 0) {
            return bad_path(path, *at, "a key as a JSON string", e);
        }
        out->key = key->text;
    } else {
        if (quoted.n < 2 || quoted.p[quoted.n - 1] != '\'') {
            return bad_path(path, *at, "a key in quotes", e);
        }
        out->key = arena_str(arena, str_slice(quoted, 1, quoted.n - 1));
    }
    *at += quoted.n;
    return 0;
}

/* What stands in brackets, *at behind the opening one. */
static int read_bracket(struct arena *arena, struct str path, size_t *at, struct step *out,
                        struct err *e)
{
    struct str rest = str_slice(path, *at, path.n);
    if (str_starts(rest, "\"") || str_starts(rest, "'")) {
        int rc = read_quoted(arena, path, at, out, e);
        if (rc != 0) {
            return rc;
        }
    } else if (str_starts(rest, "*")) {
        out->kind = STEP_ALL;
        ++*at;
    } else {
        size_t n = 0;
        out->kind = STEP_INDEX;
        for (; n < rest.n && n < DIGITS_MAX && ascii_digit(rest.p[n]); n++) {
            out->index = out->index * 10 + (size_t)(rest.p[n] - '0');
        }
        if (n == 0) {
            return bad_path(path, *at, "a number, * or a key in quotes", e);
        }
        *at += n;
    }
    if (*at == path.n || path.p[*at] != ']') {
        return bad_path(path, *at, "]", e);
    }
    ++*at;
    return 0;
}

/* A name or * without brackets; the first of a path has no dot before it. */
static int read_name(struct arena *arena, struct str path, size_t *at, struct step *out,
                     struct err *e)
{
    if (*at > 0 && path.p[*at] != '.') {
        return bad_path(path, *at, "a key behind a dot, or [", e);
    }
    *at += *at > 0 ? 1 : 0;
    size_t from = *at;
    if (from < path.n && path.p[from] == '*') {
        out->kind = STEP_ALL;
        ++*at;
        return 0;
    }
    while (*at < path.n && strchr(".[]\"*", path.p[*at]) == NULL) {
        ++*at;
    }
    out->kind = STEP_KEY;
    out->key = arena_str(arena, str_slice(path, from, *at));
    return *at == from ? bad_path(path, from, "a key", e) : 0;
}

/* "$" is the whole where a step or nothing follows it; else it begins a key ("$schema"). */
static bool begins_at_root(struct str path)
{
    return str_is(path, "$") || str_starts(path, "$.") || str_starts(path, "$[");
}

int cassette_path_read(struct arena *arena, struct str text, struct json_path *out, struct err *e)
{
    struct step steps[STEPS_MAX];
    size_t at = begins_at_root(text) ? 1 : 0;
    *out = (struct json_path){0};
    if (text.n == 0) {
        return bad_path(text, 0, "a path; $ is the whole", e);
    }
    while (at < text.n) {
        if (out->n == STEPS_MAX) {
            return err_set(e, ERR_LIMIT, "a path of more than %d steps", STEPS_MAX);
        }
        struct step *s = &steps[out->n++];
        bool bracket = text.p[at] == '[';
        *s = (struct step){.kind = STEP_ALL};
        at += bracket ? 1 : 0;
        int rc = bracket ? read_bracket(arena, text, &at, s, e) : read_name(arena, text, &at, s, e);
        if (rc != 0) {
            return rc;
        }
    }
    out->steps = arena_array(arena, out->n, sizeof *out->steps);
    if (out->n > 0) {
        memcpy(out->steps, steps, out->n * sizeof *steps);
    }
    return 0;
}

bool cassette_step_to_key(const struct step *s, struct str key)
{
    return s->kind == STEP_ALL || (s->kind == STEP_KEY && str_eq(s->key, key));
}

bool cassette_step_to_item(const struct step *s, size_t i)
{
    return s->kind == STEP_ALL || (s->kind == STEP_INDEX && s->index == i);
}
