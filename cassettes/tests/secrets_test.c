/* Secrets of every known kind are found and hidden, and only those. Their shapes are those that the
 * providers document; the secrets are made up. */
#include "cassettes/tests/rig.h"
#include "kernel/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In two parts, so that nothing that scans source files takes them for real. */
static const struct planted {
    const char *start;
    const char *end;
    const char *kind; /* as it is told */
} planted[] = {
    {"sk-", "T3BlbkFJabcdefghij0123456789klmnop", "an API key (sk-"},
    {"sk-proj-", "Ab3_dEf-GhIjKlMnOpQrStUvWxYz0123456789", "an OpenAI API key"},
    {"sk-ant-", "api03-Zx9_wVuTsRqPoNmLkJiHgFeDcBa9876543210-AA", "an Anthropic API key"},
    {"AIza", "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "a Google API key"},
    {"AKIA", "IOSFODNN7EXAMPLE", "an AWS access key id"},
    {"aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
     "an AWS secret access key"},
    {"ghp_", "16C7e42F292c6912E7710c838347Ae178B4a", "a GitHub token"},
    {"github_pat_", "11ABCDEFG0abcdefghijkl_MnOpQrStUvWxYz0123456789", "a GitHub token"},
    {"hf_", "AbCdEfGhIjKlMnOpQrStUvWxYz01234567", "a Hugging Face token"},
    {"xoxb-", "123456789012-1234567890123-AbCdEfGhIjKlMnOp", "a Slack token"},
    {"sk_live_", "4eC39HqLyjWDarjtT1zdp7dc", "a Stripe API key"},
    {"eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
     "a JSON web token"},
    {"Bearer ", "abcdefghij0123456789.klmn", "a bearer token"},
    {"api-key: ", "0123456789abcdef0123456789abcdef", "an API key, by its name"},
    {"gsk_", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "a Groq API key"},
    {"xai-", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGh", "an xAI API key"},
    {"sk-", "0123456789abcdef0123456789abcdef", "an API key (sk-"}, /* DeepSeek's */
    {"-----BEGIN RSA PRIVATE ", "KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
     "a private key"},
};
enum { N_PLANTED = sizeof planted / sizeof planted[0] };

static const char *secret_of(const struct planted *p)
{
    static char text[200];
    snprintf(text, sizeof text, "%s%s", p->start, p->end);
    return text;
}

/* What a check tells: its messages, and whether a secret itself is among them. */
struct heard {
    struct buf text;
    size_t n;
};

static void hear(void *ctx, const struct finding *f)
{
    struct heard *h = ctx;
    CU_ASSERT_EQUAL(f->severity, FINDING_ERROR);
    buf_fmt(&h->text, "%u:%u %s|", (unsigned)f->line, (unsigned)f->column, f->code);
    buf_add(&h->text, f->message);
    buf_char(&h->text, '\n');
    h->n++;
}

static struct cassette *of_vcrpy(const char *request_body, const char *header)
{
    struct buf text = {0};
    buf_addz(&text, "interactions:\n- request:\n    body: ");
    json_add_string(&text, str_of(request_body));
    buf_fmt(&text,
            "\n    headers:\n      %s\n    method: POST\n    uri: http://h/v1/chat/completions\n"
            "  response:\n    body: {string: 'fine'}\n    headers: {}\n"
            "    status: {code: 200, message: OK}\nversion: 1\n",
            header);
    buf_char(&text, '\0');
    struct cassette *c = rig_load(text.p);
    buf_free(&text);
    return c;
}

static void each_kind_is_found_and_hidden(void)
{
    for (size_t i = 0; i < N_PLANTED; i++) {
        struct buf body = {0};
        struct heard h = {{0}, 0};
        struct buf out = {0};
        buf_addz(&body, "{\"messages\":[{\"role\":\"user\",\"content\":");
        json_add_string(&body, str_of(secret_of(&planted[i])));
        buf_addz(&body, "}]}");
        buf_char(&body, '\0');
        struct cassette *c = of_vcrpy(body.p, "accept: ['*/*']");
        cassette_check_secrets(c, hear, &h);
        CU_ASSERT_EQUAL(h.n, 1);
        CHECK_HOLDS(buf_str(&h.text), planted[i].kind);
        CHECK_HOLDS(buf_str(&h.text), "3:");
        CHECK_HOLDS(buf_str(&h.text), "interaction 1: ");
        CHECK_HOLDS(buf_str(&h.text), "in the request's body");
        CU_ASSERT_EQUAL(str_find(buf_str(&h.text), str_of(planted[i].end)), SIZE_MAX);
        cassette_write(c, &out);
        CU_ASSERT_EQUAL(str_find(buf_str(&out), str_slice(str_of(planted[i].end), 8, 20)),
                        SIZE_MAX);
        CHECK_HOLDS(buf_str(&out), "REDACTED-");
        cassette_free(c);
        buf_char(&out, '\0');
        c = rig_load(out.p);
        h.n = 0;
        cassette_check_secrets(c, hear, &h);
        CU_ASSERT_EQUAL(h.n, 0);
        cassette_free(c);
        buf_free(&body);
        buf_free(&h.text);
        buf_free(&out);
    }
}

/* A value that only its key tells, in whatever way the JSON is written. */
static void a_key_is_known_by_its_name(void)
{
    static const char *const bodies[] = {
        "{\"api_key\": \"0123456789abcdef01234567\"}",
        "{\"a\":[{\"OPENAI-API-KEY\":\"0123456789abcdef01234567\"}]}",
        "{\"x\":\"{\\\"apiKey\\\": \\\"0123456789abcdef01234567\\\"}\"}",
        "export MISTRAL_API_KEY=0123456789abcdef01234567",
        "{'api_key': '0123456789abcdef01234567'}",
        "{\"SecretAccessKey\":\"wJalrXUtnFEMI\\/K7MDENG\\/bPxRfiCYEXAMPLEK3Y\"}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct buf out = {0};
        CU_ASSERT(cassette_redact_text(str_of(bodies[i]), &out));
        CU_ASSERT_EQUAL(str_find(buf_str(&out), STR("456789abc")), SIZE_MAX);
        CU_ASSERT_EQUAL(str_find(buf_str(&out), STR("MDENG")), SIZE_MAX);
        buf_free(&out);
    }
}

static void what_is_no_secret_is_left(void)
{
    static const char *const texts[] = {
        "{\"api_key\": {\"type\": \"string\", \"description\": \"The API key to use\"}}",
        "{\"api_key\": \"YOUR_API_KEY\"}",
        "api_key = os.environ['OPENAI_API_KEY']",
        "{\"api_key\": \"REDACTED-0123abcd0123\"}",
        "Bearer REDACTED-0123abcd",
        "the secret access key: ask your administrator of the account for it please",
        "eyJhbGciOiJIUzI1NiJ9 begins a token",
        "eyJhbGciOiJIUzI1NiJ9.eyJ.x",
        /* base64 may hold any letters */
        "AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKKK/AKIAIOSFODNN7EXAMPLE/LLLLMMMMNNNN",
        "AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKKK+hfAbCdEfGhIjKlMnOpQrStUvWxYz0123",
        "https://h/monkey=abcdefghijklmnopqrstuvwxyz0123456789",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct buf out = {0};
        CU_ASSERT_FALSE(cassette_redact_text(str_of(texts[i]), &out));
        buf_char(&out, '\0');
        CHECK_TEXT(out.p, texts[i]);
        buf_free(&out);
    }
}

static void the_same_secret_has_the_same_name_and_another_another(void)
{
    static const char body[] = "sk-aaaaaaaaaaaaaaaa0001 sk-bbbbbbbbbbbbbbbb0002 "
                               "sk-aaaaaaaaaaaaaaaa0001";
    struct buf out = {0};
    struct buf again = {0};
    CU_ASSERT(cassette_redact_text(STR(body), &out));
    CU_ASSERT_EQUAL_FATAL(out.n, 3 * 17 + 2);
    CU_ASSERT(memcmp(out.p, out.p + 36, 17) == 0);
    CU_ASSERT(memcmp(out.p, out.p + 18, 17) != 0);
    CU_ASSERT_FALSE(cassette_redact_text(buf_str(&out), &again));
    buf_free(&out);
    buf_free(&again);
}

/* A key that was changed between recording and replay asks for the same. */
static void a_request_means_the_same_whichever_key_it_carries(void)
{
    static const char *const bodies[] = {"{\"k\":\"sk-aaaaaaaaaaaaaaaa0001\"}",
                                         "{\"k\":\"sk-bbbbbbbbbbbbbbbb0002\"}",
                                         "{\"k\":\"REDACTED-12345678\"}", "{\"k\":\"REDACTED\"}"};
    struct key first = {0, 0};
    for (size_t i = 0; i < 4; i++) {
        struct arena *arena = arena_new();
        struct val *json = NULL;
        CU_ASSERT_EQUAL(json_parse(arena, NULL, str_of(bodies[i]), &json, NULL), 0);
        struct key key = cassette_key_of_request(STR("POST"), STR("http://h/v1/chat/completions"),
                                                 str_of(bodies[i]), json);
        CU_ASSERT(i == 0 || (key.low == first.low && key.high == first.high));
        first = key;
        arena_free(arena);
    }
}

static void headers_that_carry_keys_are_found(void)
{
    static const struct {
        const char *header;
        const char *told; /* NULL: nothing */
    } headers[] = {
        {"authorization: ['Bearer some-words']", "authorization in the request's headers"},
        {"api-key: ['0123456789abcdef0123456789abcdef']", "api-key in the request's headers"},
        {"Cookie: [a=b]", "cookie in the request's headers"},
        {"x-custom: [gsk_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789]", "a Groq API key"},
        {"authorization: [REDACTED]", NULL},
        {"authorization: ['**REDACTED**']", NULL},
        {"x-api-key: ['<FILTERED>']", NULL},
        {"authorization: ['']", NULL},
        {"accept: ['*/*']", NULL},
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct heard h = {{0}, 0};
        struct cassette *c = of_vcrpy("{}", headers[i].header);
        cassette_check_secrets(c, hear, &h);
        CU_ASSERT_EQUAL(h.n, headers[i].told != NULL);
        if (headers[i].told != NULL) {
            CHECK_HOLDS(buf_str(&h.text), headers[i].told);
        }
        buf_free(&h.text);
        cassette_free(c);
    }
}

/* ---- what a user names ---- */

#define HEAD                                                                                       \
    "version: 1\nassay: {format: 1, encoder: 1, run: ab, seed: 7, started_at: "                    \
    "\"2026-11-29T18:00:00.000Z\"}\ninteractions:\n"

static struct cassette *session(const char *request, const char *stream, const char *chunks)
{
    struct buf text = {0};
    buf_addz(&text, HEAD "- request:\n    method: POST\n    uri: http://h/v1/chat/completions\n"
                         "    headers: {}\n    body: ");
    json_add_string(&text, str_of(request));
    buf_addz(&text, "\n  response:\n    status: {code: 200, message: OK}\n"
                    "    headers: {x-request-id: [r1]}\n    body: {string: ");
    json_add_string(&text, str_of(stream));
    buf_fmt(&text, "}\n    assay: {at_ms: 0, took_ms: 9, ended: clean%s}\n", chunks);
    buf_char(&text, '\0');
    struct cassette *c = rig_load(text.p);
    buf_free(&text);
    return c;
}

static void paths_hide_strings_and_numbers_in_requests_and_events(void)
{
    static const struct str names[] = {{"X-Request-Id", 12}};
    static const struct str paths[] = {
        {"user", 4}, {"$.meta.ids[*]", 13}, {"d['who']", 8}, {"l[1].*", 6}};
    const struct hiding h = {names, 1, paths, 4, NULL};
    struct err e;
    size_t hidden = 0;
    struct cassette *c = session(
        "{\"user\":\"ann\",\"meta\":{\"ids\":[17,\"ann\",true,null]},\"l\":[1,{\"a\":\"x\"}]}",
        "data: {\"d\":{\"who\":\"ann\"}}\n\ndata: {\"d\":{\"who\":\"bob\"}}\n\n",
        ", chunks: [[1, 28], [2, 28]]");
    CU_ASSERT_EQUAL(cassette_hide(c, &h, &hidden, &e), 0);
    CU_ASSERT_EQUAL(hidden, 7);
    const struct interaction *it = &c->items[0];
    CU_ASSERT(str_is(it->request_body,
                     "{\"user\":\"REDACTED-00000001\",\"meta\":{\"ids\":[\"REDACTED-00000002\","
                     "\"REDACTED-00000001\",true,null]},\"l\":[1,{\"a\":\"REDACTED-00000003\"}]}"));
    CHECK_HOLDS(val_text(val_get(it->request_json, "user")), "REDACTED-00000001");
    CU_ASSERT(str_is(it->body, "data: {\"d\":{\"who\":\"REDACTED-00000001\"}}\n\n"
                               "data: {\"d\":{\"who\":\"REDACTED-00000004\"}}\n\n"));
    CU_ASSERT_EQUAL(it->chunks[0].bytes, 42);
    CU_ASSERT_EQUAL(it->chunks[1].bytes, 42);
    CU_ASSERT(str_is(it->headers[0].value, "REDACTED"));
    cassette_free(c);
}

static void a_bad_path_is_refused(void)
{
    static const char *const bad[] = {"",    "$",    "a..b",  "a[",
                                      "a[]", "a[x]", "[-1]",  "a[1]b",
                                      ".a",  "a.",   "a['x]", "a[99999999999999999999]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct str path = str_of(bad[i]);
        const struct hiding h = {NULL, 0, &path, 1, NULL};
        struct err e;
        size_t hidden = 0;
        struct cassette *c = session("{}", "x", "");
        CU_ASSERT_EQUAL(cassette_hide(c, &h, &hidden, &e), ERR_INPUT);
        CU_ASSERT(strstr(e.message, "the path ") != NULL);
        cassette_free(c);
    }
}

TESTS(secrets, {"secrets_of_each_kind_are_found_and_hidden", each_kind_is_found_and_hidden},
      {"secrets_are_known_by_their_names", a_key_is_known_by_its_name},
      {"secrets_are_not_seen_where_there_are_none", what_is_no_secret_is_left},
      {"secrets_keep_their_names", the_same_secret_has_the_same_name_and_another_another},
      {"secrets_do_not_change_what_a_request_means",
       a_request_means_the_same_whichever_key_it_carries},
      {"secrets_in_headers_are_found", headers_that_carry_keys_are_found},
      {"hide_follows_paths", paths_hide_strings_and_numbers_in_requests_and_events},
      {"hide_refuses_a_bad_path", a_bad_path_is_refused})
