#include "cassettes/tests/rig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define HEAD                                                                                       \
    "version: 1\n"                                                                                 \
    "assay: {format: 1, encoder: 1, run: ab, seed: 7, started_at: \"2026-11-29T18:00:00.000Z\"}\n" \
    "interactions:\n"
#define REQUEST                                                                                    \
    "- request: {method: POST, uri: \"http://h/v1/chat/completions\", headers: {}, body: '{}'}\n"
#define RESPONSE "  response:\n    status: {code: 200, message: OK}\n    headers: {}\n"
#define TIMING   "    assay: {at_ms: 0, took_ms: 1, ended: clean}\n"

/* A wrong file: where the mistake is and what is said of it. */
struct wrong {
    const char *text;
    uint32_t line;
    uint32_t column;
    const char *part;
};

static const struct wrong wrong_files[] = {
    {"", 0, 0, "empty"},
    {"hello\n", 1, 1, "expected a cassette"},
    {"- a\n- b\n", 1, 1, "expected a cassette"},
    {"version: 1\n", 1, 1, "expected a cassette"},
    {"version: 2\ninteractions: []\n", 1, 10, "version"},
    {"version: 1\ninteractions: 3\n", 2, 15, "list"},
    {"version: 1\ninteractions: [3]\n", 2, 16, "map"},
    {"version: 1\ninteractions: [{request: {}}]\n", 2, 16, "response"},
    {"version: 1\nassay: 3\ninteractions: []\n", 2, 8, "map"},
    {"version: 1\nassay: {format: 2}\ninteractions: []\n", 2, 17, "newer"},
    {"version: 1\nassay: {format: 1, encoder: x}\ninteractions: []\n", 2, 29, "encoder"},
    {"version: 1\nassay: {format: 1, encoder: 1, sed: 1}\ninteractions: []\n", 2, 32, "seed"},
    {"version: 1\nassay: {format: 1, encoder: 1}\ninteraction: []\n", 3, 1, "interactions"},
    {HEAD REQUEST RESPONSE "    body: {string: x}\n    bodi: 1\n" TIMING, 9, 5, "body"},
    {HEAD REQUEST RESPONSE "    body: 3\n" TIMING, 8, 11, "body"},
    {HEAD REQUEST RESPONSE "    body: {string: 3}\n" TIMING, 8, 20, "string"},
    {HEAD REQUEST RESPONSE "    body: {base64_string: '%%'}\n" TIMING, 8, 27, "base64"},
    {HEAD REQUEST "  response:\n    status: {code: x}\n    assay: {}\n", 6, 20, "code"},
    {HEAD REQUEST "  response:\n    status: {code: 1000}\n    assay: {}\n", 6, 20, "code"},
    {HEAD REQUEST "  response:\n    headers: {}\n    assay: {}\n", 6, 5, "status"},
    {HEAD REQUEST "  response:\n    status: 200\n    headers: []\n    assay: {}\n", 7, 14, "map"},
    {HEAD REQUEST "  response:\n    status: 200\n    headers: {a: {}}\n    assay: {}\n", 7, 18,
     "header"},
    {HEAD REQUEST RESPONSE "    body: x\n    assay: {at_ms: -1}\n", 9, 20, "at_ms"},
    {HEAD REQUEST RESPONSE "    body: x\n    assay: {took_ms: soon}\n", 9, 22, "took_ms"},
    {HEAD REQUEST RESPONSE "    body: x\n    assay: {ended: badly}\n", 9, 20, "refused"},
    {HEAD REQUEST RESPONSE "    body: x\n    assay: {ended: "
                           "aéééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé}\n",
     9, 20, "ééé…\""},
    {HEAD REQUEST RESPONSE "    body: x\n    assay: {chunks: [[5, 1], [4, 1]]}\n", 9, 30, "chunk"},
    {HEAD REQUEST RESPONSE "    body: x\n    assay: {chunks: [3]}\n", 9, 22, "chunk"},
    {HEAD REQUEST RESPONSE "    body: x\n    assay: {chunk: []}\n", 9, 13, "chunks"},
    {HEAD "- request: {method: 3, uri: u}\n" RESPONSE "    body: x\n" TIMING, 4, 21, "method"},
    {HEAD "- request: {method: GET}\n" RESPONSE "    body: x\n" TIMING, 4, 12, "uri"},
    {HEAD "- request: {method: GET, uri: u, key: k}\n" RESPONSE "    body: x\n" TIMING, 4, 34,
     "key"},
    {"interactions:\n- request: {method: G, uri: u}\n  response:\n    status: {code: 200}\n    "
     "headers: {content-encoding: gzip}\n    body: {string: !!binary H4sIAAAA}\n",
     6, 11, "ends too early"},
};

static void names_the_place_of_every_mistake(void)
{
    for (size_t i = 0; i < sizeof wrong_files / sizeof wrong_files[0]; i++) {
        const struct wrong *w = &wrong_files[i];
        struct cassette *c = NULL;
        struct err e = {0};
        char line[2048];
        int rc = cassette_parse("t.yaml", str_of(w->text), &c, NULL, &e);
        bool good = rc == ERR_INPUT && strstr(e.message, w->part) != NULL &&
                    strcmp(e.file, "t.yaml") == 0 &&
                    (w->line == 0 || (e.line == w->line && e.column == w->column));
        if (!good) {
            printf("\ncase %zu: %d %s (want %u:%u …%s…)\n", i, rc, err_text(&e, line, sizeof line),
                   w->line, w->column, w->part);
        }
        CU_ASSERT(good);
        cassette_free(rc == 0 ? c : NULL);
    }
}

/* A body as other programs write it, and what it means. */
struct form {
    const char *yaml; /* lines of the response at four spaces */
    const char *body;
};

static const struct form forms[] = {
    {"body: {string: 'hi there'}", "hi there"},
    {"body: {string: null}", ""},
    {"body: {string: !!binary aGk=}", "hi"},
    {"body: {base64_string: aGk=}", "hi"},
    {"body: {encoding: UTF-8, string: hi}", "hi"},
    {"body: hi", "hi"},
    {"body: null", ""},
    {"body: !!binary |\n      aG\n      k=", "hi"},
    {"body: {a: [1, 2.50], b: 'x'}", "{\"a\":[1,2.50],\"b\":\"x\"}"},
    {"body: [1, true, null]", "[1,true,null]"},
    {"parsed_body: {z: 1, a: {b: 'c\"'}}", "{\"z\":1,\"a\":{\"b\":\"c\\\"\"}}"},
    {"content: 'from httpx'", "from httpx"},
    {"body: {string: !!binary H4sIAAAAAAACA6tWSlSyMqwFAK+sG1YHAAAA}\n    headers: "
     "{Content-Encoding: [gzip]}",
     "{\"a\":1}"},
    {"body: {string: !!binary eJyrVkpUsjKsBQAIKgIJ}\n    headers: {content-encoding: deflate}",
     "{\"a\":1}"},
    {"body: {string: !!binary q1ZKVLIyrAUA}\n    headers: {content-encoding: [deflate]}",
     "{\"a\":1}"},
    {"body: {string: '{\"a\":1}'}\n    headers: {Content-Encoding: [gzip]}", "{\"a\":1}"},
    {"body: {string: '{\"a\":1}'}\n    headers: {Content-Encoding: [br]}", "{\"a\":1}"},
};

static void reads_every_form_of_body(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "interactions:\n- request:\n    method: GET\n    uri: http://h/x\n  response:\n"
                 "    status: {code: 200, message: OK}\n    %s\n",
                 forms[i].yaml);
        struct cassette *c = rig_load(text);
        if (c == NULL) {
            printf("case %zu\n", i);
            continue;
        }
        char body[256];
        snprintf(body, sizeof body, "%.*s", STR_FMT(c->items[0].body));
        CHECK_TEXT(body, forms[i].body);
        CU_ASSERT_EQUAL(c->items[0].n_headers, 0);
        cassette_free(c);
    }
}

static void leaves_a_coding_it_does_not_know(void)
{
    struct cassette *c =
        rig_load("interactions:\n- request: {method: GET, uri: u}\n  response:\n    status: 200\n"
                 "    headers: {content-encoding: zstd}\n    body: {string: !!binary KLUv/Q==}\n");
    CU_ASSERT_FATAL(c != NULL);
    CU_ASSERT_EQUAL(c->items[0].n_headers, 1);
    CU_ASSERT_EQUAL(c->items[0].body.n, 4);
    cassette_free(c);
}

static void reads_json_and_int_status_and_headers_of_all_kinds(void)
{
    struct cassette *c = rig_load(
        "{\"version\": 1, \"interactions\": [{\"request\": {\"method\": \"POST\", \"uri\": "
        "\"http://h/v1/messages\", \"body\": {\"string\": \"{\\\"n\\\": 1}\"}, \"headers\": "
        "{\"A\": [\"1\", \"2\"], \"B\": \"3\", \"C\": 4}}, \"response\": {\"status_code\": 404, "
        "\"content\": \"no\", \"http_version\": \"HTTP/1.1\", \"headers\": {}}}]}");
    CU_ASSERT_FATAL(c != NULL);
    const struct interaction *it = &c->items[0];
    CU_ASSERT_FALSE(c->ours);
    CU_ASSERT_EQUAL(it->n_request_headers, 4);
    CU_ASSERT(str_is(it->request_headers[1].name, "A"));
    CU_ASSERT(str_is(it->request_headers[1].value, "2"));
    CU_ASSERT(str_is(it->request_headers[3].value, "4"));
    CU_ASSERT_EQUAL(it->status, 404);
    CU_ASSERT(str_is(it->body, "no"));
    CU_ASSERT_PTR_NOT_NULL(val_get(it->request_json, "n"));
    CU_ASSERT_EQUAL(it->at_ms, -1);
    cassette_free(c);
}

static void others_files_follow_yaml_1_1(void)
{
    struct cassette *c = rig_load(
        "interactions:\n- request: {method: POST, uri: u, body: {on: yes, n: 0o7, m: 012}}\n"
        "  response: {status: 200, body: ''}\n");
    CU_ASSERT_FATAL(c != NULL);
    /* PyYAML: "on" is a boolean key, whose text is kept; 012 is octal; 0o7 a string. */
    CHECK_HOLDS(c->items[0].request_body, "true,\"n\":\"0o7\",\"m\":10}");
    cassette_free(c);
}

/* How many interactions end at or before `cut`: each begins at a "- request:" line. */
static size_t whole_before(const char *text, size_t cut)
{
    size_t n = 0;
    const char *at = strstr(text, "- request:");
    while (at != NULL) {
        const char *next = strstr(at + 1, "\n- request:");
        size_t end = next == NULL ? strlen(text) : (size_t)(next - text) + 1;
        n += end <= cut;
        at = next;
    }
    return n;
}

static void a_killed_recording_keeps_what_is_whole(void)
{
    const char *text = rig_example();
    if (text == NULL) {
        testing_skip("no examples");
        return;
    }
    size_t head = (size_t)(strstr(text, "- request:") - text);
    for (size_t cut = head; cut <= strlen(text); cut++) {
        struct cassette *c = NULL;
        struct buf warning = {0};
        struct err e;
        int rc = cassette_parse("t.yaml", (struct str){text, cut}, &c, &warning, &e);
        CU_ASSERT_EQUAL_FATAL(rc, 0);
        size_t whole = whole_before(text, cut);
        /* All but the last newline is whole too. */
        CU_ASSERT(c->n == whole || (c->n == whole + 1 && whole_before(text, cut + 1) == c->n));
        bool at_edge = cut == head || whole_before(text, cut) != whole_before(text, cut - 1);
        CU_ASSERT(c->torn == (warning.n > 0));
        CU_ASSERT(c->torn || at_edge || c->n == whole + 1);
        cassette_free(c);
        buf_free(&warning);
    }
}

static void damage_in_the_middle_is_an_error(void)
{
    struct cassette *c = NULL;
    struct err e;
    const char *text = HEAD REQUEST RESPONSE "    body: {string: 'x}\n" TIMING REQUEST RESPONSE
                                             "    body: {string: 'y'}\n" TIMING;
    CU_ASSERT_EQUAL(cassette_parse("t.yaml", str_of(text), &c, NULL, &e), ERR_INPUT);
    CU_ASSERT(e.line >= 8);
}

/* A slip of a hand behind which the interaction is complete is no torn recording. */
static void a_slip_in_the_last_interaction_is_told_at_its_place(void)
{
    static const char *const texts[] = {
        HEAD REQUEST RESPONSE "    body: {string: 'y'}\n" TIMING REQUEST
                              "  response:\n    status: {code: 200, message: OK\n    headers: {}\n"
                              "    body: {string: 'x'}\n" TIMING,
        HEAD REQUEST "  response:\n    status: {code: 200, message: OK\n    headers: {}\n" TIMING,
        /* No recorder leaves others without times, or says nothing of its run. */
        HEAD REQUEST RESPONSE "    body: x\n" REQUEST "  response: {status: 200, body: 'y}\n",
        "version: 1\nassay: {format: 1, encoder: 1}\ninteractions:\n" REQUEST
        "  response: {status: 200, body: 'y}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct cassette *c = NULL;
        struct err e = {0};
        CU_ASSERT_EQUAL(cassette_parse("t.yaml", str_of(texts[i]), &c, NULL, &e), ERR_INPUT);
        CU_ASSERT(e.line >= 5);
    }
}

/* By hand, without times: nothing tells that something was cut off. */
static void what_is_written_by_hand_is_kept(void)
{
    static const char *const responses[] = {"  response: {status: 200, body: x}\n",
                                            RESPONSE "    body: {string: x}\n",
                                            "  response: {status: 204}\n"};
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
        for (size_t n = 1; n <= 2; n++) {
            char text[1024];
            snprintf(text, sizeof text,
                     "version: 1\nassay: {format: 1, encoder: 1}\ninteractions:\n" REQUEST "%s%s%s",
                     responses[i], n == 2 ? REQUEST : "", n == 2 ? responses[i] : "");
            struct cassette *c = rig_load(text);
            CU_ASSERT_FATAL(c != NULL);
            CU_ASSERT_EQUAL(c->n, n);
            CU_ASSERT_FALSE(c->torn);
            cassette_free(c);
        }
    }
}

static void an_unfinished_interaction_says_how_it_may_be_kept(void)
{
    struct cassette *c = NULL;
    struct err e;
    struct buf warning = {0};
    const char *text = HEAD REQUEST RESPONSE "    body: {string: x}\n";
    CU_ASSERT_EQUAL_FATAL(cassette_parse("t.yaml", str_of(text), &c, &warning, &e), 0);
    CU_ASSERT(c->torn && c->n == 0);
    CHECK_HOLDS(buf_str(&warning), "add `assay: {}`");
    cassette_free(c);
    buf_free(&warning);
    c = rig_load(HEAD REQUEST RESPONSE "    body: {string: x}\n    assay: {}\n");
    CU_ASSERT_FATAL(c != NULL);
    CU_ASSERT(!c->torn && c->n == 1);
    cassette_free(c);
}

static void load_folder(const char *folder, size_t *files, size_t *items)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    while (d != NULL && (entry = readdir(d)) != NULL) {
        char path[4096];
        if (strstr(entry->d_name, ".yaml") == NULL) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct cassette *c = NULL;
        struct err e;
        int rc = cassette_load(path, &c, NULL, &e);
        CU_ASSERT_EQUAL(rc, 0);
        if (rc == 0) {
            *files += 1;
            *items += c->n;
            cassette_free(c);
        } else {
            printf("\n%s: %s\n", path, e.message);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

static void loads_every_recording_of_the_corpus(void)
{
    const char *folder = testing_corpus("cassettes");
    const char *vanilla = testing_corpus("cassettes/vanilla");
    if (folder == NULL || vanilla == NULL) {
        testing_skip("no corpus");
        return;
    }
    size_t files = 0;
    size_t items = 0;
    load_folder(folder, &files, &items);
    load_folder(vanilla, &files, &items);
    /* Counted with PyYAML. */
    CU_ASSERT_EQUAL(files, 52);
    CU_ASSERT_EQUAL(items, 115);
}

static void a_missing_file_is_not_found(void)
{
    struct cassette *c = NULL;
    struct err e;
    CU_ASSERT_EQUAL(cassette_load("/nowhere/x.yaml", &c, NULL, &e), ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(cassette_load("/", &c, NULL, &e), ERR_INPUT);
    cassette_free(NULL);
}

/* Appends 65 MiB of zeros as gzip: 64 KiB or so. */
static void gzip_zeros(struct buf *out)
{
    z_stream z;
    static char zeros[65536];
    char piece[65536];
    memset(&z, 0, sizeof z);
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
    for (unsigned i = 0; i <= 65 * 16; i++) {
        z.next_in = (Bytef *)zeros;
        z.avail_in = sizeof zeros;
        z.next_out = (Bytef *)piece;
        z.avail_out = sizeof piece;
        deflate(&z, i == 65 * 16 ? Z_FINISH : Z_NO_FLUSH);
        buf_add(out, (struct str){piece, sizeof piece - z.avail_out});
    }
    deflateEnd(&z);
}

static void a_small_body_cannot_fill_the_memory(void)
{
    struct buf small = {0};
    struct err e;
    gzip_zeros(&small);
    CU_ASSERT(small.n < 1 << 20);
    struct http_header header = {STR("Content-Encoding"), STR("gzip")};
    struct interaction it = {.headers = &header, .n_headers = 1, .body = buf_str(&small)};
    struct arena *arena = arena_new();
    CU_ASSERT_EQUAL(cassette_undo_coding(&it, arena, &e), ERR_LIMIT);
    CU_ASSERT(it.body.p == small.p && it.n_headers == 1);
    arena_free(arena);
    buf_free(&small);
}

/* Files of others in a wrong shape: where, and what is said. */
static const struct wrong wrong_others[] = {
    {"interactions:\n- request: {method: GET, uri: u}\n  response: {status: {code: 200}, headers: "
     "[3]}\n",
     3, 45, "Name: value"},
    {"interactions:\n- request: {method: GET, uri: u, headers: [[a]]}\n  response: {status: "
     "200}\n",
     2, 44, "header"},
    {"interactions:\n- request: {method: GET, uri: u, headers: {a: {}}}\n  response: {status: "
     "200}\n",
     2, 47, "header"},
    {"interactions:\n- request: {method: GET, uri: u, body: true}\n  response: {status: 200}\n", 2,
     40, "body"},
    {"interactions:\n- request: {method: GET, host: h}\n  response: {status: 200}\n", 2, 12,
     "protocol"},
    {"interactions:\n- request: {method: GET, host: h, protocol: http, port: 70000}\n  response: "
     "{status: 200}\n",
     2, 57, "port"},
    {"interactions:\n- request: {method: [GET], uri: u}\n  response: {status: 200}\n", 2, 21,
     "method"},
    {"interactions:\n- request: {method: GET, uri: u}\n  response: {status: {code: '200'}}\n", 3,
     29, "code"},
    {"interactions:\n- request: {method: GET, uri: u}\n", 2, 3, "response"},
    {"interactions:\n- 3\n", 2, 3, "map"},
    {"- request: {method: GET, uri: u}\n", 1, 3, "response"},
    {"http_interactions: {}\n", 1, 20, "list"},
    {"interactions:\n- request: !!python/object/apply:os.system [x]\n  response: {status: 200}\n",
     2, 12, "request"},
    {"interactions:\n- request: !ruby/object:X {}\n", 2, 12, "tag"},
    {"interactions: &a [*a]\n", 1, 19, "inside its own anchor"},
};

static void others_mistakes_have_a_place_too(void)
{
    for (size_t i = 0; i < sizeof wrong_others / sizeof wrong_others[0]; i++) {
        const struct wrong *w = &wrong_others[i];
        struct cassette *c = NULL;
        struct err e = {.message = ""};
        CU_ASSERT_EQUAL(cassette_parse("t.yaml", str_of(w->text), &c, NULL, &e), ERR_INPUT);
        if (e.line != w->line || e.column != w->column) {
            printf("\n  %u:%u %s\n", (unsigned)e.line, (unsigned)e.column, e.message);
            CU_FAIL("another place");
        }
        CHECK_HOLDS(str_of(e.message), w->part);
    }
}

static void add_many(struct buf *out, const char *what, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_addz(out, what);
    }
}

/* 10,000 nested lists as a value are refused; in a body's text they are a text. */
static void nesting_is_bounded(void)
{
    struct buf text = {0};
    struct cassette *c = NULL;
    struct err e;
    buf_addz(&text, "interactions:\n- request: {method: GET, uri: u, body: ");
    add_many(&text, "[", 10000);
    add_many(&text, "]", 10000);
    buf_addz(&text, "}\n  response: {status: 200}\n");
    CU_ASSERT_EQUAL(cassette_parse("t.yaml", buf_str(&text), &c, NULL, &e), ERR_LIMIT);
    CU_ASSERT_EQUAL(e.line, 2);
    buf_clear(&text);
    buf_addz(&text,
             "interactions:\n- request: {method: POST, uri: 'http://h/v1/responses', body: '");
    add_many(&text, "[", 10000);
    add_many(&text, "]", 10000);
    buf_addz(&text, "'}\n  response: {status: 200, body: '{\"a\":");
    add_many(&text, "[", 10000);
    add_many(&text, "]", 10000);
    buf_addz(&text, "}'}\n");
    CU_ASSERT_EQUAL_FATAL(cassette_parse("t.yaml", buf_str(&text), &c, NULL, &e), 0);
    CU_ASSERT_EQUAL(c->items[0].request_body.n, 20000);
    CU_ASSERT_PTR_NULL(c->items[0].request_json);
    buf_clear(&text);
    cassette_show(c, true, &text);
    buf_clear(&text);
    cassette_write(c, &text);
    cassette_free(c);
    CU_ASSERT_EQUAL_FATAL(cassette_parse("t.yaml", buf_str(&text), &c, NULL, &e), 0);
    CU_ASSERT_EQUAL(c->items[0].request_body.n, 20000);
    cassette_free(c);
    buf_free(&text);
}

static void a_header_of_a_megabyte_is_a_header(void)
{
    struct buf text = {0};
    struct err e;
    struct cassette *c = NULL;
    buf_addz(&text, "interactions:\n- request: {method: GET, uri: u, headers: {accept: '");
    add_many(&text, "0123456789abcdef", 65536);
    buf_addz(&text, "'}}\n  response: {status: 200, headers: {retry-after: [");
    add_many(&text, "'1', ", 50000);
    buf_addz(&text, "'1']}}\n");
    CU_ASSERT_EQUAL_FATAL(cassette_parse("t.yaml", buf_str(&text), &c, NULL, &e), 0);
    CU_ASSERT_EQUAL(c->items[0].request_headers[0].value.n, 1 << 20);
    CU_ASSERT_EQUAL(c->items[0].n_headers, 50001);
    buf_clear(&text);
    cassette_write(c, &text);
    cassette_free(c);
    CU_ASSERT_EQUAL_FATAL(cassette_parse("t.yaml", buf_str(&text), &c, NULL, &e), 0);
    CU_ASSERT_EQUAL(c->items[0].n_headers, 50001);
    cassette_free(c);
    buf_free(&text);
}

TESTS(load, {"load_names_the_place_of_every_mistake", names_the_place_of_every_mistake},
      {"load_reads_every_form_of_body", reads_every_form_of_body},
      {"load_leaves_a_coding_it_does_not_know", leaves_a_coding_it_does_not_know},
      {"load_reads_json_and_int_status_and_headers_of_all_kinds",
       reads_json_and_int_status_and_headers_of_all_kinds},
      {"load_follows_yaml_1_1_in_others_files", others_files_follow_yaml_1_1},
      {"load_keeps_what_is_whole_of_a_killed_recording", a_killed_recording_keeps_what_is_whole},
      {"load_refuses_damage_in_the_middle", damage_in_the_middle_is_an_error},
      {"load_tells_a_slip_in_the_last_interaction_at_its_place",
       a_slip_in_the_last_interaction_is_told_at_its_place},
      {"load_keeps_what_is_written_by_hand", what_is_written_by_hand_is_kept},
      {"load_says_how_an_unfinished_interaction_may_be_kept",
       an_unfinished_interaction_says_how_it_may_be_kept},
      {"load_reads_every_recording_of_the_corpus", loads_every_recording_of_the_corpus},
      {"load_says_when_a_file_is_missing", a_missing_file_is_not_found},
      {"load_names_the_place_of_others_mistakes", others_mistakes_have_a_place_too},
      {"load_bounds_nesting", nesting_is_bounded},
      {"load_takes_a_header_of_a_megabyte", a_header_of_a_megabyte_is_a_header},
      {"load_caps_a_body_that_inflates", a_small_body_cannot_fill_the_memory})
