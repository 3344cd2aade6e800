/* The parts of requests and responses in every form that our own and other programs' cassettes have
 * them. */
#include "cassettes/load_int.h"
#include "kernel/base/base64.h"
#include "kernel/base/json.h"

static const char *const status_keys[] = {"code", "message", NULL};
static const char *const body_keys[] = {"string", "base64_string", "encoding", NULL};

/* A string; in others' files also a number, a boolean or null, by its text. */
static int scalar_text(struct loader *l, const struct val *v, const char *what, struct str *out)
{
    if (val_is(v, VAL_STRING) || (!l->c->ours && val_is(v, VAL_NUMBER))) {
        *out = v->text;
        return 0;
    }
    if (!l->c->ours && (val_is(v, VAL_BOOL) || val_is(v, VAL_NULL))) {
        *out = v->kind == VAL_NULL ? STR("") : v->boolean ? STR("true") : STR("false");
        return 0;
    }
    return doc_fail(l->d, v, l->e, "expected %s as a string, got %s", what, val_kind_name(v->kind));
}

static struct str kept(struct loader *l, const struct buf *b)
{
    return arena_str(l->d.arena, buf_str(b));
}

/* A body that was stored as a value: its compact JSON text. */
static struct str json_text(struct loader *l, const struct val *v)
{
    struct buf b = {0};
    json_add(&b, v);
    struct str text = kept(l, &b);
    buf_free(&b);
    return text;
}

static bool is_body_map(const struct val *v)
{
    if (!val_is(v, VAL_OBJECT) || v->count == 0) {
        return false;
    }
    for (size_t i = 0; i < v->count; i++) {
        if (str_index(v->members[i].key, body_keys) < 0) {
            return false;
        }
    }
    return val_get(v, "string") != NULL || val_get(v, "base64_string") != NULL;
}

static int base64_body(struct loader *l, const struct val *v, struct str *out)
{
    struct str text;
    int rc = scalar_text(l, v, "base64_string", &text);
    if (rc != 0) {
        return rc;
    }
    struct buf b = {0};
    if (base64_decode(text, &b)) {
        *out = kept(l, &b);
    } else {
        rc = doc_fail(l->d, v, l->e, "base64_string is no base64");
    }
    buf_free(&b);
    return rc;
}

/* What a file object of Python holds (!!python/object/new:_io.BytesIO: a state of the bytes, where
 * it stands in them, its attributes), or NULL. */
static const struct val *file_object(const struct val *v)
{
    const struct val *state = val_get(v, "state");
    const struct val *bytes = val_item(state, 0);
    return val_is(v, VAL_OBJECT) && v->count == 1 && val_is(bytes, VAL_STRING) ? bytes : NULL;
}

/* What an iterator of Python gives (!!python/object/apply:builtins.iter: one list of pieces), or
 * NULL. */
static const struct val *iterator(const struct val *v)
{
    const struct val *args = val_get(v, "args");
    const struct val *pieces = val_item(args, 0);
    bool good = val_is(v, VAL_OBJECT) && v->count == 1 && args != NULL && args->count == 1 &&
                val_is(pieces, VAL_ARRAY);
    for (size_t i = 0; good && i < pieces->count; i++) {
        good = val_is(&pieces->items[i], VAL_STRING);
    }
    return good ? pieces : NULL;
}

static struct str joined(struct loader *l, const struct val *pieces)
{
    struct buf b = {0};
    for (size_t i = 0; i < pieces->count; i++) {
        buf_add(&b, pieces->items[i].text);
    }
    struct str text = kept(l, &b);
    buf_free(&b);
    return text;
}

/* A body in any of its forms: string, !!binary, null, {string}, {base64_string}, a map or a list.
 */
static int read_body(struct loader *l, const struct val *v, struct str *out)
{
    if (v == NULL || v->kind == VAL_NULL) {
        return 0;
    }
    if (!l->c->ours && iterator(v) != NULL) {
        *out = joined(l, iterator(v));
        return 0;
    }
    if (!l->c->ours && file_object(v) != NULL) {
        v = file_object(v);
    }
    if (v->kind == VAL_OBJECT) {
        int rc = load_keys(l, v, "a body", body_keys);
        if (rc != 0) {
            return rc;
        }
    }
    if (is_body_map(v)) {
        const struct val *text = val_get(v, "string");
        if (text == NULL) {
            return base64_body(l, val_get(v, "base64_string"), out);
        }
        if (text->kind == VAL_NULL) {
            return 0;
        }
        if (text->kind != VAL_STRING) {
            return doc_fail(l->d, text, l->e, "expected the body's string as a string, got %s",
                            val_kind_name(text->kind));
        }
        *out = text->text;
        return 0;
    }
    switch (v->kind) {
    case VAL_STRING: *out = v->text; return 0;
    case VAL_ARRAY:
    case VAL_OBJECT: *out = v->count == 0 ? (struct str){0} : json_text(l, v); return 0;
    case VAL_NULL:
    case VAL_BOOL:
    case VAL_NUMBER: break;
    }
    return doc_fail(l->d, v, l->e, "expected a body as a string or a map, got %s",
                    val_kind_name(v->kind));
}

int load_body(struct loader *l, const struct val *v, struct str *out, const struct val **value)
{
    const struct val *body = val_get(v, "body");
    const struct val *parsed = val_get(v, "parsed_body");
    if (parsed != NULL && !l->c->ours && (body == NULL || body->kind == VAL_NULL)) {
        *out = json_text(l, parsed);
        *value = parsed;
        return 0;
    }
    if (body == NULL && !l->c->ours) {
        body = val_get(v, "content");
    }
    return read_body(l, body, out);
}

static int read_header(struct loader *l, struct str name, const struct val *v,
                       struct http_header *out)
{
    out->name = name;
    return scalar_text(l, v, "a header's value", &out->value);
}

/* Values of a header: one, or a list of them; each becomes a header of its own. */
static int read_header_map(struct loader *l, const struct val *headers, struct http_header **out,
                           size_t *n)
{
    int rc = 0;
    size_t count = 0;
    for (size_t i = 0; i < headers->count; i++) {
        const struct val *value = &headers->members[i].value;
        count += value->kind == VAL_ARRAY ? value->count : 1;
    }
    *out = arena_array(l->d.arena, count, sizeof **out);
    for (size_t i = 0; i < headers->count && rc == 0; i++) {
        const struct member *m = &headers->members[i];
        bool list = m->value.kind == VAL_ARRAY;
        for (size_t k = 0; k < (list ? m->value.count : 1) && rc == 0; k++) {
            rc = read_header(l, m->key, list ? &m->value.items[k] : &m->value, &(*out)[(*n)++]);
        }
    }
    return rc;
}

/* One of a list: a line "Name: value", or a pair. */
static int read_listed_header(struct loader *l, const struct val *v, struct http_header *out)
{
    size_t colon = str_find(val_text(v), STR(":"));
    if (val_is(v, VAL_STRING) && colon != SIZE_MAX && colon > 0) {
        out->name = str_slice(v->text, 0, colon);
        out->value = str_trim(str_slice(v->text, colon + 1, v->text.n));
        return 0;
    }
    if (val_is(v, VAL_ARRAY) && v->count == 2 && val_is(&v->items[0], VAL_STRING)) {
        return read_header(l, v->items[0].text, &v->items[1], out);
    }
    return doc_fail(l->d, v, l->e, "expected a header as \"Name: value\" or [name, value], got %s",
                    val_kind_name(v->kind));
}

/* The list of the oldest vcrpy: of lines, or of pairs, which may stand in a set of Python's. */
static int read_header_list(struct loader *l, const struct val *list, struct http_header **out,
                            size_t *n)
{
    const struct val *first = val_item(list, 0);
    const struct val *inner = val_item(first, 0);
    if (list->count == 1 && val_is(first, VAL_ARRAY) &&
        (inner == NULL || val_is(inner, VAL_ARRAY))) {
        list = first;
    }
    int rc = 0;
    *out = arena_array(l->d.arena, list->count, sizeof **out);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        rc = read_listed_header(l, &list->items[i], &(*out)[(*n)++]);
    }
    return rc;
}

int load_headers(struct loader *l, const struct val *v, struct http_header **out, size_t *n)
{
    const struct val *headers = val_get(v, "headers");
    if (!l->c->ours && val_is(headers, VAL_ARRAY)) {
        return read_header_list(l, headers, out, n);
    }
    int rc = doc_map(l->d, v, "headers", DOC_OPTIONAL, &headers, l->e);
    return rc != 0 || !val_is(headers, VAL_OBJECT) ? rc : read_header_map(l, headers, out, n);
}

int load_status(struct loader *l, const struct val *response, struct interaction *it)
{
    const struct val *status = val_get(response, "status");
    const struct val *holder = status;
    const char *key = "code";
    int64_t code = 0;
    int rc = 0;
    if (val_is(status, VAL_OBJECT)) {
        rc = load_keys(l, status, "a status", status_keys);
    } else {
        holder = response;
        key = status == NULL && !l->c->ours ? "status_code" : "status";
    }
    if (rc == 0) {
        rc = doc_int(l->d, holder, key, DOC_REQUIRED, 0, 999, &code, l->e);
    }
    it->status = (int)code;
    if (rc == 0 && val_is(status, VAL_OBJECT)) {
        rc = doc_str(l->d, status, "message", DOC_OPTIONAL, &it->reason, l->e);
    }
    return rc;
}

/* The address in the parts that the oldest vcrpy wrote. */
static int read_address_parts(struct loader *l, const struct val *v, struct str *out)
{
    struct str protocol = {0};
    struct str host = {0};
    struct str path = {0};
    int64_t port = 0;
    int rc = doc_str(l->d, v, "protocol", DOC_REQUIRED, &protocol, l->e);
    if (rc == 0) {
        rc = doc_str(l->d, v, "host", DOC_REQUIRED, &host, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "path", DOC_OPTIONAL, &path, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "port", DOC_OPTIONAL, 0, 65535, &port, l->e);
    }
    bool usual = port == 0 || (port == 80 && str_is(protocol, "http")) ||
                 (port == 443 && str_is(protocol, "https"));
    struct buf uri = {0};
    buf_add(&uri, protocol);
    buf_addz(&uri, "://");
    buf_add(&uri, host);
    if (!usual) {
        buf_fmt(&uri, ":%lld", (long long)port);
    }
    buf_add(&uri, path);
    *out = kept(l, &uri);
    buf_free(&uri);
    return rc;
}

int load_address(struct loader *l, const struct val *v, struct str *out)
{
    if (!l->c->ours && val_get(v, "uri") == NULL && val_get(v, "host") != NULL) {
        return read_address_parts(l, v, out);
    }
    return doc_str(l->d, v, "uri", DOC_REQUIRED, out, l->e);
}

/* Others write get for GET (betamax and Ruby's VCR). */
static struct str upper(struct loader *l, struct str s)
{
    char *p = arena_cstr(l->d.arena, s);
    for (size_t i = 0; i < s.n; i++) {
        p[i] = p[i] >= 'a' && p[i] <= 'z' ? (char)(p[i] - 'a' + 'A') : p[i];
    }
    return (struct str){p, s.n};
}

int load_method(struct loader *l, const struct val *v, struct str *out)
{
    int rc = doc_str(l->d, v, "method", DOC_REQUIRED, out, l->e);
    if (rc == 0 && !l->c->ours) {
        *out = upper(l, *out);
    }
    return rc;
}
