/* What is written is read as the same: random replies in each format, whole and streamed; random
 * histories; the recordings of the corpus. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cassettes/cassette.h"
#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"
#include "kernel/wire/tests/rendering.h"

enum { REPLIES = 150, HISTORIES = 400, SMALL_BYTES = 450, THINGS_MAX = 6 };

static const enum wire_format formats[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES};

/* ---- random replies ---- */

struct made {
    enum wire_format format;
    struct rng rng;
    struct arena *arena;
    struct reply reply;
    struct buf content;
    struct buf reasoning;
    struct buf parts; /* items of the list */
    size_t own;
    bool thinks; /* a part is reasoning */
    struct tool_call calls[THINGS_MAX];
};

static size_t below(struct made *m, size_t n)
{
    return (size_t)rng_below(&m->rng, n);
}

/* Characters that are easily got wrong; never only white space. */
static struct str some_text(struct made *m)
{
    static const char *const chars[] = {"a",
                                        "\"",
                                        "\\",
                                        "\n",
                                        " ",
                                        "/",
                                        "\xC3\xA9",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x99\x82",
                                        "{",
                                        "data: x",
                                        "\t",
                                        "\x7F",
                                        "\x01",
                                        "\r",
                                        "\xE2\x80\xA8"};
    struct buf text = {0};
    size_t n = below(m, 12);
    buf_char(&text, 'x');
    for (size_t i = 0; i < n; i++) {
        buf_addz(&text, chars[below(m, sizeof chars / sizeof chars[0])]);
    }
    if (below(m, 20) == 0) {
        buf_char(&text, '\0');
    }
    struct str out = arena_str(m->arena, buf_str(&text));
    buf_free(&text);
    return out;
}

static struct str some_json_text(struct made *m)
{
    struct buf text = {0};
    json_add_string(&text, some_text(m));
    struct str out = arena_str(m->arena, buf_str(&text));
    buf_free(&text);
    return out;
}

static struct str some_arguments(struct made *m)
{
    switch (below(m, 5)) {
    case 0: return STR("{}");
    case 1: return STR("{\"x\": 1e400, \"y\":[ 0.30000000000000004 ]}");
    case 2: return STR("{\"half");
    case 3: return STR("[1]");
    default: break;
    }
    struct str text = some_json_text(m);
    return arena_printf(m->arena, "{\"k\xC3\xA9y\":%.*s}", STR_FMT(text));
}

static void add_own(struct made *m, struct str json)
{
    json_next(&m->parts);
    buf_add(&m->parts, json);
    m->own++;
}

static void add_text(struct made *m)
{
    struct str text = some_text(m);
    json_next(&m->parts);
    buf_int(&m->parts, (int64_t)text.n);
    buf_add(&m->content, text);
}

static void add_call(struct made *m)
{
    struct reply *r = &m->reply;
    struct str id = arena_printf(m->arena, "c/%zu\xC3\xA9\"", r->n_calls);
    json_next(&m->parts);
    buf_addz(&m->parts, "null");
    m->calls[r->n_calls++] = (struct tool_call){id, some_text(m), some_arguments(m)};
}

static void add_thinking(struct made *m)
{
    struct str text = some_text(m);
    struct buf json = {0};
    json_add_string(&json, text);
    struct str quoted = arena_str(m->arena, buf_str(&json));
    struct str secret = some_json_text(m);
    buf_free(&json);
    buf_add(&m->reasoning, text);
    m->thinks = true;
    add_own(m, m->format == WIRE_MESSAGES
                   ? arena_printf(m->arena,
                                  "{\"type\":\"thinking\",\"thinking\":%.*s,\"signature\":%.*s}",
                                  STR_FMT(quoted), STR_FMT(secret))
                   : arena_printf(m->arena,
                                  "{\"id\":\"rs\",\"type\":\"reasoning\",\"summary\":[{\"type\":"
                                  "\"summary_text\",\"text\":%.*s}],\"encrypted_content\":%.*s}",
                                  STR_FMT(quoted), STR_FMT(secret)));
}

/* A part that holds a text of the reply. */
static void add_own_text(struct made *m)
{
    struct str text = some_text(m);
    struct buf json = {0};
    json_add_string(&json, text);
    buf_add(&m->content, text);
    add_own(m, m->format == WIRE_MESSAGES
                   ? arena_printf(m->arena,
                                  "{\"citations\":[{\"n\":1},{\"n\":2}],\"type\":\"text\","
                                  "\"text\":%.*s}",
                                  STR_FMT(buf_str(&json)))
                   : arena_printf(m->arena,
                                  "{\"type\":\"message\",\"phase\":\"commentary\",\"content\":[{"
                                  "\"type\":\"output_text\",\"text\":%.*s}]}",
                                  STR_FMT(buf_str(&json))));
    buf_free(&json);
}

static void add_other(struct made *m)
{
    static const char *const of_messages[] = {
        "{\"type\":\"redacted_thinking\",\"data\":\"Ew==\"}",
        "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{\"q\":1}}",
        "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":[{}]}",
        "{\"kind\":7,\"type\":\"new_in_2027\",\"text\":\"no text\"}"};
    static const char *const of_responses[] = {
        "{\"id\":\"ws\",\"type\":\"web_search_call\",\"action\":{\"query\":\"x\"}}",
        "{\"id\":\"l\",\"type\":\"mcp_list_tools\",\"tools\":[]}",
        "{\"type\":\"new_in_2027\",\"text\":\"no text\"}", "{\"type\":\"compaction\"}"};
    size_t which = below(m, 4);
    add_own(m, str_of(m->format == WIRE_MESSAGES ? of_messages[which] : of_responses[which]));
}

/* Chat's parts stand in one order: the text, what is beside it, details, calls. */
static void make_chat(struct made *m)
{
    bool owns = below(m, 2) == 0;
    if (below(m, 4) > 0) {
        add_text(m);
    }
    if (owns && below(m, 2) == 0) {
        add_own(m, STR("{\"extra_content\":{\"google\":{\"thought_signature\":\"Cg==\"}}}"));
    }
    for (size_t i = 0, n = owns ? below(m, 3) : 0; i < n; i++) {
        struct str text = some_json_text(m);
        add_own(m,
                arena_printf(m->arena, "{\"type\":\"reasoning.text\",\"text\":%.*s,\"index\":%zu}",
                             STR_FMT(text), i));
    }
    for (size_t i = 0, n = below(m, 3); i < n; i++) {
        add_call(m);
        if (owns && below(m, 2) == 0) {
            add_own(m, STR("{\"extra_content\":{\"x\":[1]}}"));
        }
    }
}

static void make_things(struct made *m)
{
    for (size_t i = 0, n = below(m, THINGS_MAX); i < n; i++) {
        switch (below(m, 6)) {
        case 0:
        case 1: add_text(m); break;
        case 2: add_call(m); break;
        case 3: add_thinking(m); break;
        case 4: add_own_text(m); break;
        default: add_other(m); break;
        }
    }
}

/* Without parts of the provider's own there is one text, before the calls. */
static void make_plain(struct made *m)
{
    if (below(m, 3) > 0) {
        add_text(m);
    }
    for (size_t i = 0, n = below(m, 3); i < n; i++) {
        add_call(m);
    }
}

static int64_t some_count(struct made *m)
{
    return below(m, 4) == 0 ? -1 : (int64_t)below(m, 1000);
}

static void make_usage(struct made *m)
{
    struct usage *u = &m->reply.usage;
    *u = USAGE_UNKNOWN;
    u->output = some_count(m);
    if (u->output >= 0 && m->format != WIRE_MESSAGES) {
        u->reasoning = some_count(m);
    }
    if (below(m, 4) > 0) {
        u->cached = some_count(m);
        u->cache_write = m->format == WIRE_CHAT ? -1 : some_count(m);
        u->input = 2000 + (int64_t)below(m, 1000);
    }
    if (m->format == WIRE_MESSAGES) { /* clients insist on these two: 0 where they are not known */
        u->input = u->input < 0 ? 0 : u->input;
        u->output = u->output < 0 ? 0 : u->output;
    }
}

/* What the format can say of how a reply stopped. */
static enum stop_reason some_stop(struct made *m)
{
    bool calls = m->reply.n_calls > 0;
    switch (below(m, 6)) {
    case 0: return STOP_MAX_TOKENS;
    case 1:
        if (m->format != WIRE_MESSAGES) {
            return STOP_CONTENT_FILTER;
        }
        return calls ? STOP_TOOL_USE : STOP_PAUSE;
    case 2:
        if (!calls && m->own == 0 && m->content.n > 0) {
            return STOP_REFUSAL;
        }
        break;
    case 3:
        if (m->format == WIRE_MESSAGES && !calls) {
            return STOP_STOP_SEQUENCE;
        }
        break;
    default: break;
    }
    return calls ? STOP_TOOL_USE : STOP_END_TURN;
}

static void make(struct made *m, enum wire_format f, uint64_t seed)
{
    *m = (struct made){.format = f, .rng = rng_seeded(seed), .arena = arena_new()};
    buf_fmt(&m->parts, "{\"%s\":[", wire_provider(f));
    size_t head = m->parts.n;
    if (f == WIRE_CHAT) {
        make_chat(m);
    } else {
        make_things(m);
    }
    if (m->own == 0 && f != WIRE_CHAT) {
        m->parts.n = head;
        m->content.n = m->reply.n_calls = 0;
        make_plain(m);
    }
    buf_addz(&m->parts, "]}");
    struct reply *r = &m->reply;
    if (!m->thinks && below(m, 3) == 0) {
        buf_add(&m->reasoning, some_text(m));
    }
    r->content_null = m->content.n == 0 && below(m, 2) == 0;
    r->content = m->content.n > 0 ? buf_str(&m->content) : STR("");
    r->reasoning = m->reasoning.n > 0 ? buf_str(&m->reasoning) : (struct str){NULL, 0};
    r->parts = m->own > 0 ? buf_str(&m->parts) : (struct str){NULL, 0};
    r->calls = m->calls;
    make_usage(m);
    r->stop = some_stop(m);
}

static void made_free(struct made *m)
{
    buf_free(&m->content);
    buf_free(&m->reasoning);
    buf_free(&m->parts);
    arena_free(m->arena);
}

/* ---- comparing ---- */

/* What of a result is compared: calls of the provider come from its parts; what it encrypts comes
 * out anew each time. */
enum view { VIEW_REPLY, VIEW_ALL, VIEW_PLAIN };

/* A result without what the words of a format decide. */
static void render(struct buf *out, enum wire_format f, const struct wire_result *from,
                   enum view view)
{
    struct wire_result r = *from;
    r.streamed = false;
    r.reply.stop_raw = STR("");
    r.n_server_calls = view == VIEW_REPLY ? 0 : r.n_server_calls;
    r.reply.parts = view == VIEW_PLAIN ? (struct str){NULL, 0} : r.reply.parts;
    rendering_add(out, f, &r, false);
}

/* Decodes a body that is cut once, at `cut`. Fails the test where it comes to something else. */
static bool check_decoded(enum wire_format f, struct str body, size_t cut, struct str want,
                          enum view view)
{
    struct wire_decoder *d = wire_decoder_new(f, 200, NULL, 0);
    struct wire_result r;
    struct buf got = {0};
    wire_decoder_feed(d, str_slice(body, 0, cut));
    wire_decoder_feed(d, str_slice(body, cut, body.n));
    wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
    render(&got, f, &r, view);
    bool same = str_eq(buf_str(&got), want);
    if (!same) {
        printf("\n%.*s\n", STR_FMT(body));
        buf_char(&got, '\0');
        char *wanted = mem_alloc(want.n + 1);
        memcpy(wanted, want.p, want.n);
        wanted[want.n] = '\0';
        CHECK_TEXT(got.p, wanted);
        free(wanted);
    }
    buf_free(&got);
    wire_decoder_free(d);
    return same;
}

/* Encodes a reply whole and in pieces; each decodes to `want`, however it is cut. */
static bool check_reply(enum wire_format f, const struct reply *r, struct str want, size_t piece,
                        enum view view)
{
    bool same = true;
    for (int stream = 0; stream < 2 && same; stream++) {
        struct wire_reply_options o = {.model = STR("m"),
                                       .id = STR("id"),
                                       .stream = stream == 1,
                                       .include_usage = true,
                                       .piece_bytes = piece};
        struct buf body = {0};
        struct err e;
        CU_ASSERT_EQUAL(wire_encode_reply(f, r, &o, &body, NULL, &e), 0);
        size_t step = body.n <= SMALL_BYTES ? 1 : 1 + body.n / 16;
        for (size_t cut = 0; cut < body.n && same; cut += step) {
            same = check_decoded(f, buf_str(&body), cut, want, view);
        }
        buf_free(&body);
    }
    return same;
}

static void replies_come_back(void)
{
    for (size_t f = 0; f < 3; f++) {
        bool same = true;
        for (uint64_t seed = 1; seed <= REPLIES && same; seed++) {
            struct made m;
            struct buf want = {0};
            make(&m, formats[f], seed);
            struct wire_result r = {.ok = true, .reply = m.reply};
            render(&want, formats[f], &r, VIEW_REPLY);
            same = check_reply(formats[f], &m.reply, buf_str(&want), below(&m, 9), VIEW_REPLY);
            buf_free(&want);
            made_free(&m);
        }
    }
}

/* ---- random histories ---- */

enum { ROUNDS_MAX = 3, HISTORY_MAX = 1 + ROUNDS_MAX * 6 };

struct history {
    struct message messages[HISTORY_MAX];
    size_t n;
    struct tool_call calls[ROUNDS_MAX * 2];
    size_t n_calls;
};

static struct message *say(struct history *h, enum role role, struct str content)
{
    struct message *m = &h->messages[h->n++];
    *m = (struct message){.role = role, .content = content};
    return m;
}

/* Arguments are objects here: the encoders send no others (history_arguments). */
static void add_round(struct made *m, struct history *h)
{
    say(h, ROLE_USER, some_text(m));
    size_t n = below(m, 3);
    bool silent = n > 0 && below(m, 2) == 0;
    struct message *a = say(h, ROLE_ASSISTANT, silent ? STR("") : some_text(m));
    a->content_null = silent;
    if (m->format == WIRE_CHAT && below(m, 2) == 0) {
        a->reasoning = some_text(m);
    }
    a->calls = &h->calls[h->n_calls];
    a->n_calls = n;
    for (size_t i = 0; i < n; i++) {
        struct str id = arena_printf(m->arena, "call_%zu", h->n_calls);
        struct str key = some_json_text(m);
        h->calls[h->n_calls++] = (struct tool_call){
            id, STR("a_tool-1"), arena_printf(m->arena, "{%.*s: [1]}", STR_FMT(key))};
    }
    for (size_t i = 0; i < n; i++) {
        say(h, ROLE_TOOL, below(m, 5) == 0 ? STR("") : some_text(m))->call_id = a->calls[i].id;
    }
    if (n > 0) {
        say(h, below(m, 2) == 0 ? ROLE_USER : ROLE_ASSISTANT, some_text(m));
    }
    if (h->messages[h->n - 1].role == ROLE_USER) {
        say(h, ROLE_ASSISTANT, some_text(m));
    }
}

static void render_history(struct buf *out, const struct message *messages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct message *m = &messages[i];
        buf_fmt(out, "%s %.*s ", role_name(m->role), STR_FMT(m->call_id));
        json_add_string(out, m->content_null ? STR("(null)") : m->content);
        json_add_string(out, m->reasoning);
        for (size_t k = 0; k < m->n_calls; k++) {
            buf_fmt(out, " [%.*s %.*s ", STR_FMT(m->calls[k].id), STR_FMT(m->calls[k].name));
            json_add_string(out, m->calls[k].arguments);
            buf_char(out, ']');
        }
        buf_char(out, '\n');
    }
}

static bool check_history(struct made *m)
{
    struct history h = {.n = 0};
    struct err e;
    struct buf body = {0};
    struct buf want = {0};
    struct buf got = {0};
    if (below(m, 2) == 0) {
        say(&h, ROLE_SYSTEM, some_text(m));
    }
    for (size_t i = 0, n = 1 + below(m, ROUNDS_MAX); i < n; i++) {
        add_round(m, &h);
    }
    struct llm_request rq = {
        .model = STR("m"), .messages = h.messages, .n_messages = h.n, .max_tokens = -1};
    CU_ASSERT_EQUAL(history_check(h.messages, h.n, &e), 0);
    CU_ASSERT_EQUAL(wire_encode_request(m->format, &rq, &body, &e), 0);
    struct val *v = NULL;
    CU_ASSERT_EQUAL_FATAL(json_parse(m->arena, NULL, buf_str(&body), &v, &e), 0);
    struct message *read = NULL;
    size_t n = wire_request_messages(m->format, v, m->arena, &read);
    render_history(&want, h.messages, h.n);
    render_history(&got, read, n);
    buf_char(&want, '\0');
    buf_char(&got, '\0');
    bool same = CHECK_TEXT(got.p, want.p);
    buf_free(&body);
    buf_free(&want);
    buf_free(&got);
    return same;
}

static void histories_come_back(void)
{
    for (size_t f = 0; f < 3; f++) {
        bool same = true;
        for (uint64_t seed = 1; seed <= HISTORIES && same; seed++) {
            struct made m = {.format = formats[f], .rng = rng_seeded(seed), .arena = arena_new()};
            same = check_history(&m);
            made_free(&m);
        }
    }
}

/* ---- the corpus ---- */

/* What was seen of one format. */
struct tally {
    int interactions, decoded, split, again, streams, agree;
};

/* A stream of Responses without the output in its last event: what the deltas said. */
static bool check_final(struct str body, struct str want)
{
    struct buf cut = {0};
    size_t at = str_find(body, STR("event: response.completed"));
    struct arena *arena = arena_new();
    struct val *v = NULL;
    size_t data = at + str_find(str_slice(body, at, body.n), STR("data: ")) + 6;
    struct str json = str_slice(body, data, body.n);
    json = str_slice(json, 0, str_find(json, STR("\n")));
    bool same = at != SIZE_MAX && json_parse(arena, NULL, json, &v, NULL) == 0;
    if (same) {
        buf_add(&cut, str_slice(body, 0, data));
        buf_addz(&cut, "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\","
                       "\"output\":[],\"usage\":");
        json_add(&cut, val_path(v, "response", "usage", NULL));
        buf_addz(&cut, "}}\n\n");
        same = check_decoded(WIRE_RESPONSES, buf_str(&cut), 0, want, VIEW_PLAIN);
    }
    buf_free(&cut);
    arena_free(arena);
    return same;
}

/* Whether it comes to the same when each byte comes alone. */
static bool check_bytes(const struct interaction *it, enum wire_format f, struct str want)
{
    struct wire_decoder *d = wire_decoder_new(f, it->status, it->headers, it->n_headers);
    struct wire_result r;
    struct buf got = {0};
    for (size_t i = 0; i < it->body.n; i++) {
        wire_decoder_feed(d, str_slice(it->body, i, i + 1));
    }
    wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
    render(&got, f, &r, VIEW_ALL);
    bool same = str_eq(buf_str(&got), want);
    buf_free(&got);
    wire_decoder_free(d);
    return same;
}

static void check_interaction(const struct interaction *it, struct tally *tallies)
{
    enum wire_format f;
    if (!wire_of_url(it->uri, &f)) {
        return;
    }
    struct tally *t = &tallies[f];
    struct wire_decoder *d = wire_decoder_new(f, it->status, it->headers, it->n_headers);
    struct wire_result r;
    struct buf want = {0};
    t->interactions++;
    wire_decoder_feed(d, it->body);
    wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
    render(&want, f, &r, VIEW_ALL);
    t->split += check_bytes(it, f, buf_str(&want));
    if (r.ok) {
        t->decoded++;
        t->again += check_reply(f, &r.reply, buf_str(&want), 7, VIEW_ALL);
        if (r.streamed && f == WIRE_RESPONSES) {
            buf_clear(&want);
            render(&want, f, &r, VIEW_PLAIN);
            t->streams++;
            t->agree += check_final(it->body, buf_str(&want));
        }
    } else {
        t->decoded += r.failure.status == it->status && r.failure.message.n > 0;
        t->again += 1;
    }
    buf_free(&want);
    wire_decoder_free(d);
}

static void check_folder(const char *path, struct tally *tallies)
{
    DIR *dir = opendir(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char file[1024];
        struct cassette *c = NULL;
        struct err e;
        (void)snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (!str_ends(str_of(entry->d_name), ".yaml")) {
            continue;
        }
        CU_ASSERT_EQUAL_FATAL(cassette_load(file, &c, NULL, &e), 0);
        for (size_t i = 0; i < c->n; i++) {
            check_interaction(&c->items[i], tallies);
        }
        cassette_free(c);
    }
    closedir(dir);
}

static void recordings_come_back(void)
{
    struct tally tallies[3] = {{0}};
    if (testing_corpus("cassettes/vanilla") == NULL) {
        testing_skip("no corpus");
        return;
    }
    check_folder(testing_corpus("cassettes"), tallies);
    check_folder(testing_corpus("cassettes/vanilla"), tallies);
    for (size_t f = 0; f < 3; f++) {
        const struct tally *t = &tallies[f];
        printf("\n    %-9s %3d interactions, %3d decoded, %3d split at every byte, %3d encoded and "
               "decoded again",
               wire_provider((enum wire_format)f), t->interactions, t->decoded, t->split, t->again);
        CU_ASSERT_TRUE(t->interactions >= 20);
        CU_ASSERT_EQUAL(t->decoded, t->interactions);
        CU_ASSERT_EQUAL(t->split, t->interactions);
        CU_ASSERT_EQUAL(t->again, t->interactions);
        CU_ASSERT_EQUAL(t->agree, t->streams);
    }
    printf("\n");
    CU_ASSERT_TRUE(tallies[WIRE_RESPONSES].streams >= 5);
}

TESTS(roundtrip, {"wire_reads_the_replies_it_writes", replies_come_back},
      {"wire_reads_the_histories_it_sends", histories_come_back},
      {"wire_recordings_come_back_from_every_format", recordings_come_back})
