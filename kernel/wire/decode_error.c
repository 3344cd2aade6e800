/* What went wrong at a provider: the class of an error and its message. Sources: error pages of the
 * OpenAI and Anthropic API references. */
#include "kernel/base/ascii.h"
#include "kernel/base/text.h"
#include "kernel/wire/wire_int.h"

struct error_word {
    const char *word;
    enum fail_class class;
};

/* Words in an error's `code` or `type`. */
static const struct error_word error_words[] = {
    {"overloaded_error", FAIL_OVERLOADED},
    {"overloaded", FAIL_OVERLOADED},
    {"engine_overloaded_error", FAIL_OVERLOADED},
    {"service_unavailable", FAIL_OVERLOADED},
    {"insufficient_quota", FAIL_REQUEST},
    {"billing_hard_limit_reached", FAIL_REQUEST},
    {"billing_not_active", FAIL_REQUEST},
    {"billing_error", FAIL_REQUEST},
    {"exceeded_current_quota_error", FAIL_REQUEST},
    {"rate_limit_error", FAIL_RATE_LIMIT},
    {"rate_limit_exceeded", FAIL_RATE_LIMIT},
    {"rate_limited", FAIL_RATE_LIMIT},
    {"authentication_error", FAIL_AUTH},
    {"permission_error", FAIL_AUTH},
    {"invalid_api_key", FAIL_AUTH},
    {"context_length_exceeded", FAIL_REQUEST},
    {"invalid_prompt", FAIL_REQUEST},
    {"invalid_request_error", FAIL_REQUEST},
    {"not_found_error", FAIL_REQUEST},
    {"request_too_large", FAIL_REQUEST},
    {"BadRequestError", FAIL_REQUEST},
};

static bool class_of_word(struct str word, enum fail_class *out)
{
    for (size_t i = 0; i < sizeof error_words / sizeof error_words[0]; i++) {
        if (str_is(word, error_words[i].word)) {
            *out = error_words[i].class;
            return true;
        }
    }
    return false;
}

static enum fail_class class_of_status(int status)
{
    switch (status) {
    case 401:
    case 403: return FAIL_AUTH;
    case 408:
    case 409: return FAIL_SERVER;
    case 429: return FAIL_RATE_LIMIT;
    case 503:
    case 529: return FAIL_OVERLOADED;
    default: return status >= 500 ? FAIL_SERVER : FAIL_REQUEST;
    }
}

/* The object that holds `message`, `type` and `code`: `error` where it is one, else v itself. */
static const struct val *error_object(const struct val *v)
{
    if (val_is(v, VAL_ARRAY)) {
        v = val_item(v, 0);
    }
    const struct val *inner = val_get(v, "error");
    return val_is(inner, VAL_OBJECT) ? inner : v;
}

static struct str error_message(const struct val *v)
{
    const struct val *error = error_object(v);
    const struct val *found[] = {
        val_get(error, "message"),
        val_get(val_is(v, VAL_ARRAY) ? val_item(v, 0) : v, "error"),
        val_get(error, "detail"),
        val_get(val_item(val_get(error, "detail"), 0), "msg"),
        val_get(val_item(val_path(error, "message", "detail", NULL), 0), "msg"),
    };
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        if (val_text(found[i]).n > 0) {
            return val_text(found[i]);
        }
    }
    return STR("");
}

/* A status that the error carries itself, as some gateways do; 0 = none. */
static int own_status(const struct val *error)
{
    const struct val *code = val_get(error, "code");
    int64_t n = 0;
    if (!val_int(code, &n)) {
        struct str text = val_text(code);
        for (size_t i = 0; i < text.n && text.n == 3; i++) {
            n = ascii_digit(text.p[i]) ? n * 10 + (text.p[i] - '0') : -1000;
        }
    }
    return n >= 400 && n <= 599 ? (int)n : 0;
}

static enum fail_class class_of(int status, const struct val *v)
{
    const struct val *error = error_object(v);
    enum fail_class word = FAIL_SERVER;
    bool known = class_of_word(val_text(val_get(error, "code")), &word) ||
                 class_of_word(val_text(val_get(error, "type")), &word);
    if (status >= 400) {
        bool finer = known && (word == FAIL_OVERLOADED || (status == 429 && word == FAIL_REQUEST));
        return finer ? word : class_of_status(status);
    }
    if (known) {
        return word;
    }
    int own = own_status(error);
    return own == 0 ? FAIL_SERVER : class_of_status(own);
}

bool error_is(const struct val *v)
{
    const struct val *error = val_get(v, "error");
    return val_is(error, VAL_OBJECT) || val_text(error).n > 0 ||
           str_is(val_text(val_get(v, "type")), "error") ||
           str_is(val_text(val_get(v, "object")), "error");
}

void error_fail(struct draft *d, int status, const struct val *v, struct str body)
{
    enum fail_class class = status >= 300 && status < 400 ? FAIL_REQUEST : class_of(status, v);
    struct str message = error_message(v);
    if (message.n > 0) {
        draft_fail(d, class, status, message);
        return;
    }
    struct str preview = text_preview(d->arena, str_trim(body), WIRE_PREVIEW_CHARS);
    draft_fail(d, class, status,
               preview.n > 0 ? preview
               : v != NULL   ? STR("an error without a message")
                             : STR("no body"));
}
