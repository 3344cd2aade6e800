/* What a provider refuses, as it would: requests that work here work there. Sources: the API
 * references of OpenAI and Anthropic, and the errors that users of both quote in issues. */
#include <assert.h>

#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/wire/check_int.h"

bool check_refuse(struct check *c, const char *code, struct str param, struct str message)
{
    *c->out = (struct wire_refusal){400, message, param, str_of(code)};
    return false;
}

bool wire_check_request(enum wire_format f, const struct val *body, bool thinks,
                        struct arena *arena, struct wire_refusal *out)
{
    struct check c = {body, arena, thinks, out};
    switch (f) {
    case WIRE_CHAT: return chat_check(&c);
    case WIRE_RESPONSES: return responses_check(&c);
    case WIRE_MESSAGES: return messages_check(&c);
    }
    return true;
}

struct wire_refusal wire_refuse_json(enum wire_format f, const struct err *e, struct arena *arena)
{
    if (f == WIRE_MESSAGES) {
        return (struct wire_refusal){
            .status = 400,
            .message =
                arena_printf(arena, "The request body is not valid JSON: %s: line %u column %u",
                             e->message, e->line, e->column)};
    }
    return (struct wire_refusal){
        .status = 400,
        .message = arena_printf(arena,
                                "We could not parse the JSON body of your request. (%s: line %u "
                                "column %u)",
                                e->message, e->line, e->column)};
}

struct wire_refusal wire_refuse_path(enum wire_format f, struct str method, struct str path,
                                     bool known, struct arena *arena)
{
    struct wire_refusal r = {.status = known ? 405 : 404};
    if (f == WIRE_MESSAGES) {
        r.message = known ? STR("Method Not Allowed") : STR("Not Found");
    } else if (known) {
        r.code = STR("method_not_supported");
        r.message =
            arena_printf(arena, "Not allowed to %.*s on %.*s.", STR_FMT(method), STR_FMT(path));
    } else {
        r.message = arena_printf(arena, "Invalid URL (%.*s %.*s)", STR_FMT(method), STR_FMT(path));
    }
    return r;
}

struct wire_refusal wire_refuse_model(enum wire_format f, struct str model, struct arena *arena)
{
    if (f == WIRE_MESSAGES) {
        return (struct wire_refusal){.status = 404,
                                     .message = arena_printf(arena, "model: %.*s", STR_FMT(model))};
    }
    return (struct wire_refusal){
        .status = 404,
        .message = arena_printf(arena, "The model '%.*s' does not exist", STR_FMT(model)),
        .param = STR("model"),
        .code = STR("model_not_found")};
}

struct wire_refusal wire_refuse_key(enum wire_format f, bool given)
{
    struct wire_refusal r = {.status = 401};
    if (f == WIRE_MESSAGES) {
        r.message = given ? STR("invalid x-api-key") : STR("x-api-key header is required");
    } else if (given) {
        r.message = STR("Incorrect API key provided.");
        r.code = STR("invalid_api_key");
    } else {
        r.message = STR("You didn't provide an API key. You need to provide your API key in an "
                        "Authorization header using Bearer auth (i.e. Authorization: Bearer "
                        "YOUR_KEY).");
    }
    return r;
}

void wire_encode_refusal(enum wire_format f, const struct wire_refusal *r, struct buf *out)
{
    if (f == WIRE_MESSAGES) {
        wire_encode_error(f, r->status, r->message, out);
        return;
    }
    buf_addz(out, "{\"error\":{");
    json_put_text(out, "message", r->message);
    json_put_text(out, "type", STR("invalid_request_error"));
    json_put_text_or_null(out, "param", r->param);
    json_put_text_or_null(out, "code", r->code);
    buf_addz(out, "}}");
}

/* ---- ids ---- */

struct check_ids check_ids_new(struct arena *arena, size_t n)
{
    struct check_ids ids = {.n_slots = 4};
    while (ids.n_slots < 2 * n) {
        ids.n_slots *= 2;
    }
    ids.slots = arena_array(arena, ids.n_slots, sizeof *ids.slots);
    return ids;
}

/* Where the id is, or belongs. */
static struct check_id *slot_of(const struct check_ids *ids, struct str id)
{
    size_t i = (size_t)hash64(0, id) & (ids->n_slots - 1);
    while (ids->slots[i].id.p != NULL && !str_eq(ids->slots[i].id, id)) {
        i = (i + 1) & (ids->n_slots - 1);
    }
    return &ids->slots[i];
}

struct check_id *check_ids_find(const struct check_ids *ids, struct str id)
{
    struct check_id *slot = slot_of(ids, id);
    return slot->id.p != NULL ? slot : NULL;
}

bool check_ids_add(struct check_ids *ids, struct str id, size_t place)
{
    struct check_id *slot = slot_of(ids, id);
    if (slot->id.p != NULL) {
        return false;
    }
    *slot = (struct check_id){id.p != NULL ? id : STR(""), place, SIZE_MAX};
    return true;
}
