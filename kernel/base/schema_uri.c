#include "kernel/base/ascii.h"
#include "kernel/base/schema_int.h"

#include <string.h>

/* The parts of a URI reference; p NULL = not there. The path is always there, perhaps empty. */
struct uri {
    struct str scheme;
    struct str authority;
    struct str path;
    struct str query;
};

static size_t find_any(struct str s, const char *set)
{
    size_t i = 0;
    while (i < s.n && (s.p[i] == '\0' || strchr(set, s.p[i]) == NULL)) {
        i++;
    }
    return i;
}

static struct str drop(struct str s, size_t n)
{
    return str_slice(s, n, s.n);
}

static struct uri split(struct str s)
{
    struct uri u = {0};
    s = str_slice(s, 0, find_any(s, "#"));
    size_t colon = find_any(s, ":/?");
    if (colon > 0 && colon < s.n && s.p[colon] == ':') {
        u.scheme = str_slice(s, 0, colon);
        s = drop(s, colon + 1);
    }
    if (str_starts(s, "//")) {
        s = drop(s, 2);
        size_t end = find_any(s, "/?");
        u.authority = str_slice(s, 0, end);
        s = drop(s, end);
    }
    size_t end = find_any(s, "?");
    u.path = str_slice(s, 0, end);
    if (end < s.n) {
        u.query = drop(s, end + 1);
    }
    return u;
}

/* Takes the last segment and its slash off. */
static void pop_segment(struct buf *out, size_t floor)
{
    while (out->n > floor && out->p[out->n - 1] != '/') {
        out->n--;
    }
    if (out->n > floor) {
        out->n--;
    }
}

/* Appends the path without "." and ".." segments (RFC 3986, 5.2.4). */
static void add_path(struct buf *out, struct str path)
{
    size_t floor = out->n;
    while (path.n > 0) {
        if (str_starts(path, "../")) {
            path = drop(path, 3);
        } else if (str_starts(path, "./")) {
            path = drop(path, 2);
        } else if (str_starts(path, "/./")) {
            path = drop(path, 2);
        } else if (str_is(path, "/.")) {
            path = STR("/");
        } else if (str_starts(path, "/../")) {
            path = drop(path, 3);
            pop_segment(out, floor);
        } else if (str_is(path, "/..")) {
            path = STR("/");
            pop_segment(out, floor);
        } else if (str_is(path, ".") || str_is(path, "..")) {
            path = STR("");
        } else {
            size_t end = 1 + find_any(drop(path, 1), "/");
            buf_add(out, str_slice(path, 0, end));
            path = drop(path, end);
        }
    }
}

/* The base's path up to its last slash, followed by the reference's (RFC 3986, 5.2.3). */
static void add_merged(struct buf *out, const struct uri *base, struct str path)
{
    struct buf merged = {0};
    if (base->authority.p != NULL && base->path.n == 0) {
        buf_char(&merged, '/');
    } else {
        size_t slash = base->path.n;
        while (slash > 0 && base->path.p[slash - 1] != '/') {
            slash--;
        }
        buf_add(&merged, str_slice(base->path, 0, slash));
    }
    buf_add(&merged, path);
    add_path(out, buf_str(&merged));
    buf_free(&merged);
}

static void add_front(struct buf *out, struct str scheme, struct str authority)
{
    if (scheme.p != NULL) {
        buf_add(out, scheme);
        buf_char(out, ':');
    }
    if (authority.p != NULL) {
        buf_addz(out, "//");
        buf_add(out, authority);
    }
}

struct str uri_resolve(struct arena *arena, struct str base_text, struct str ref)
{
    struct uri base = split(base_text);
    struct uri u = split(ref);
    struct buf out = {0};
    struct str query = u.query;
    if (u.scheme.p != NULL) {
        add_front(&out, u.scheme, u.authority);
        add_path(&out, u.path);
    } else if (u.authority.p != NULL) {
        add_front(&out, base.scheme, u.authority);
        add_path(&out, u.path);
    } else {
        add_front(&out, base.scheme, base.authority);
        if (u.path.n == 0) {
            buf_add(&out, base.path);
            query = u.query.p != NULL ? u.query : base.query;
        } else if (u.path.p[0] == '/') {
            add_path(&out, u.path);
        } else {
            add_merged(&out, &base, u.path);
        }
    }
    if (query.p != NULL) {
        buf_char(&out, '?');
        buf_add(&out, query);
    }
    struct str kept = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return kept;
}

struct str uri_fragment(struct arena *arena, struct str ref)
{
    size_t hash = find_any(ref, "#");
    struct str coded = drop(ref, hash < ref.n ? hash + 1 : ref.n);
    char *out = arena_alloc(arena, coded.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < coded.n; i++) {
        if (coded.p[i] == '%' && i + 2 < coded.n && ascii_hex(coded.p[i + 1]) >= 0 &&
            ascii_hex(coded.p[i + 2]) >= 0) {
            out[n++] = (char)(ascii_hex(coded.p[i + 1]) * 16 + ascii_hex(coded.p[i + 2]));
            i += 2;
        } else {
            out[n++] = coded.p[i];
        }
    }
    return (struct str){out, n};
}
