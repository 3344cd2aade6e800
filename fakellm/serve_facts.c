/* What providers tell besides replies: lists of models, counts of tokens, and the headers that come
 * with every answer. Sources: OpenAI API reference ("Models", "Responses: get input token counts",
 * "Debugging requests"), Anthropic API reference ("Models", "Count message tokens", "Request id").
 */
#include "fakellm/serve_int.h"
#include "kernel/base/json.h"
#include "kernel/base/tokens.h"

enum { CREATED_S = 1796061600 }; /* as the replies of scripts: 2026-11-30T18:00:00Z */

size_t provider_headers(enum wire_format f, size_t n, struct arena *arena, struct http_header *out)
{
    struct str id = arena_printf(arena, "req_%zu", n);
    switch (f) {
    case WIRE_CHAT:
    case WIRE_RESPONSES:
        out[0] = (struct http_header){STR("x-request-id"), id};
        out[1] = (struct http_header){STR("openai-version"), STR("2020-10-01")};
        out[2] = (struct http_header){STR("openai-organization"), STR("assay")};
        return 3;
    case WIRE_MESSAGES:
        out[0] = (struct http_header){STR("request-id"), id};
        out[1] = (struct http_header){STR("anthropic-organization-id"), STR("assay")};
        return 2;
    }
    return 0;
}

static void put_openai_model(struct buf *out, struct str name)
{
    buf_char(out, '{');
    json_put_text(out, "id", name);
    json_put_text(out, "object", STR("model"));
    json_put_int(out, "created", CREATED_S);
    json_put_text(out, "owned_by", STR("assay"));
    buf_char(out, '}');
}

static void put_anthropic_model(struct buf *out, struct str name)
{
    buf_char(out, '{');
    json_put_text(out, "type", STR("model"));
    json_put_text(out, "id", name);
    json_put_text(out, "display_name", name);
    json_put_text(out, "created_at", STR("2026-11-30T18:00:00Z"));
    buf_char(out, '}');
}

/* The list of the session's one model, or with `one` that model alone. */
static void answer_models(const struct session *s, struct exchange *x, bool anthropic, bool one)
{
    struct buf out = {0};
    struct str name = fake_model(fake_script_of(s->fake));
    void (*put)(struct buf * out, struct str name) =
        anthropic ? put_anthropic_model : put_openai_model;
    if (one) {
        put(&out, name);
    } else if (anthropic) {
        buf_addz(&out, "{\"data\":[");
        put(&out, name);
        buf_addz(&out, "],\"has_more\":false");
        json_put_text(&out, "first_id", name);
        json_put_text(&out, "last_id", name);
        buf_char(&out, '}');
    } else {
        buf_addz(&out, "{\"object\":\"list\",\"data\":[");
        put(&out, name);
        buf_addz(&out, "]}");
    }
    answer_json(x, 200, buf_str(&out));
    buf_free(&out);
}

/* Counts as the kernel estimates. */
static void answer_count(struct exchange *x, struct str body, bool anthropic)
{
    struct buf out = {0};
    buf_char(&out, '{');
    if (!anthropic) {
        json_put_text(&out, "object", STR("response.input_tokens"));
    }
    json_put_int(&out, "input_tokens", text_tokens(body));
    buf_char(&out, '}');
    answer_json(x, 200, buf_str(&out));
    buf_free(&out);
}

/* ---- the door ---- */

/* What there is, and by which method. */
static const struct {
    const char *path;
    const char *method;
} doors[] = {
    {"/v1/models", "GET"},
    {"/v1/messages/count_tokens", "POST"},
    {"/v1/responses/input_tokens", "POST"},
};

/* The method by which a path is asked; NULL = there is no such path. */
static const char *method_of(struct str path)
{
    enum wire_format f;
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++) {
        if (str_is(path, doors[i].path)) {
            return doors[i].method;
        }
    }
    if (str_starts(path, "/v1/models/")) {
        return "GET";
    }
    return wire_of_url(path, &f) ? "POST" : NULL;
}

static struct str key_of(const struct http_request *rq, enum wire_format f)
{
    struct str bearer = http_header_get(rq->headers, rq->n_headers, "authorization");
    struct str key = http_header_get(rq->headers, rq->n_headers, "x-api-key");
    if (f == WIRE_MESSAGES && key.n > 0) {
        return key;
    }
    return str_starts_nocase(bearer, "bearer ") ? str_trim(str_slice(bearer, 7, bearer.n))
                                                : STR("");
}

bool facts_admit(const struct session *s, const struct http_request *rq, struct str path,
                 enum wire_format f, struct arena *arena, struct wire_refusal *out)
{
    const struct fake_script *script = fake_script_of(s->fake);
    struct str wanted = fake_api_key(script);
    struct str key = key_of(rq, f);
    const char *method = method_of(path);
    if (wanted.n > 0 && !str_eq(key, wanted)) {
        *out = wire_refuse_key(f, key.n > 0);
        return false;
    }
    if (method == NULL || !str_is(rq->method, method)) {
        *out = wire_refuse_path(f, rq->method, path, method != NULL, arena);
        return false;
    }
    struct str model = str_slice(path, STR("/v1/models/").n, path.n);
    if (str_starts(path, "/v1/models/") && !str_eq(model, fake_model(script))) {
        *out = wire_refuse_model(f, model, arena);
        return false;
    }
    return true;
}

bool facts_request(struct session *s, struct exchange *x, const struct http_request *rq,
                   struct str path)
{
    bool get = str_is(rq->method, "GET");
    bool anthropic = http_header_get(rq->headers, rq->n_headers, "anthropic-version").p != NULL;
    if (s->fake == NULL) { /* a cassette holds them, or the upstream tells them */
        return false;
    }
    if (get && str_is(path, "/v1/models")) {
        answer_models(s, x, anthropic, false);
    } else if (get && str_starts(path, "/v1/models/") &&
               str_eq(str_slice(path, STR("/v1/models/").n, path.n),
                      fake_model(fake_script_of(s->fake)))) {
        answer_models(s, x, anthropic, true);
    } else if (!get && (str_is(path, "/v1/messages/count_tokens") ||
                        str_is(path, "/v1/responses/input_tokens"))) {
        answer_count(x, rq->body, str_is(path, "/v1/messages/count_tokens"));
    } else {
        return false;
    }
    return true;
}
