/* /_assay/: what a test looks in by. All answers are JSON.
 *
 *     GET  /_assay/sessions               each session: its name, how many requests, how it stands
 *     GET  /_assay/journal[?session=NAME] the requests, in order
 *     GET  /_assay/leftover[?session=NAME] steps and recordings that were never asked for: 200 when
 *                                         there are none and nothing was refused, else 409; 404:
 *                                         the session asked nothing
 *     POST /_assay/reset[?session=NAME]   sessions begin anew, at the start of their script; 409
 *                                         while they are recorded
 */
#include "fakellm/serve_int.h"
#include "kernel/base/json.h"

/* The value of `session` in a query; n 0 = it does not say. */
static struct str session_asked_for(struct str url)
{
    struct str query = str_slice(url, str_find(url, STR("?")), url.n);
    struct str key = STR("session=");
    size_t at = str_find(query, key);
    if (at == SIZE_MAX) {
        return STR("");
    }
    struct str value = str_slice(query, at + key.n, query.n);
    return str_slice(value, 0, str_find(value, STR("&")));
}

static bool wanted(const struct session *s, struct str name)
{
    return name.n == 0 || str_eq(s->name, name);
}

static void put_session(struct session *s, struct buf *out)
{
    struct buf left = {0};
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "session", s->name);
    json_put_int(out, "requests", (int64_t)s->requests);
    json_put_int(out, "refused", (int64_t)s->refused);
    json_put_bool(out, "leftover", source_leftover(s, &left));
    buf_char(out, '}');
    buf_free(&left);
}

static void put_entry(const struct session *s, const struct entry *e, struct buf *out)
{
    struct arena *arena = arena_new();
    struct val *body = NULL;
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "session", s->name);
    json_put_int(out, "n", (int64_t)e->n);
    json_put_text(out, "method", e->method);
    json_put_text(out, "path", e->path);
    json_key(out, "body");
    if (json_parse(arena, NULL, e->body, &body, NULL) == 0) {
        json_add(out, body);
    } else {
        json_add_string(out, e->body);
    }
    json_put_known(out, "status", e->status == 0 ? -1 : e->status);
    json_put_text(out, "ended", e->open ? STR("open") : str_of(http_end_name(e->ended)));
    json_put_bool(out, "refused", e->refused);
    json_put_text_or_null(out, "message", e->message.n > 0 ? e->message : (struct str){NULL, 0});
    buf_char(out, '}');
    arena_free(arena);
}

static void answer_sessions(struct serve *v, struct exchange *x, struct str name)
{
    struct buf out = {0};
    buf_addz(&out, "{\"sessions\":[");
    for (struct session *s = v->sessions; s != NULL; s = s->next) {
        if (wanted(s, name)) {
            put_session(s, &out);
        }
    }
    buf_addz(&out, "]}\n");
    answer_json(x, 200, buf_str(&out));
    buf_free(&out);
}

static void answer_journal(struct serve *v, struct exchange *x, struct str name)
{
    struct buf out = {0};
    size_t left_out = 0;
    buf_addz(&out, "{\"requests\":[");
    for (struct session *s = v->sessions; s != NULL; s = s->next) {
        if (wanted(s, name)) {
            left_out += s->requests - s->n_journal;
            for (size_t i = 0; i < s->n_journal; i++) {
                put_entry(s, &s->journal[i], &out);
            }
        }
    }
    buf_char(&out, ']');
    json_put_int(&out, "left_out", (int64_t)left_out); /* the journal is full */
    buf_addz(&out, "}\n");
    answer_json(x, 200, buf_str(&out));
    buf_free(&out);
}

static void answer_error(struct exchange *x, int status, struct str message)
{
    struct buf out = {0};
    buf_addz(&out, "{");
    json_put_text(&out, "error", message);
    buf_addz(&out, "}\n");
    answer_json(x, status, buf_str(&out));
    buf_free(&out);
}

static void answer_leftover(struct serve *v, struct exchange *x, struct str name)
{
    struct buf out = {0};
    struct buf text = {0};
    bool all_well = true;
    bool known = name.n == 0;
    buf_addz(&out, "{\"leftover\":[");
    for (struct session *s = v->sessions; s != NULL; s = s->next) {
        buf_clear(&text);
        known = known || wanted(s, name);
        if (wanted(s, name) && source_leftover(s, &text)) {
            json_next(&out);
            json_add_string(&out, buf_str(&text));
            all_well = false;
        }
    }
    buf_addz(&out, "],\"refused\":[");
    for (struct session *s = v->sessions; s != NULL; s = s->next) {
        for (size_t i = 0; wanted(s, name) && i < s->n_journal; i++) {
            if (s->journal[i].refused) {
                put_entry(s, &s->journal[i], &out);
            }
        }
        all_well = all_well && !(wanted(s, name) && s->refused > 0);
    }
    buf_addz(&out, "]}\n");
    if (known) {
        answer_json(x, all_well ? 200 : 409, buf_str(&out));
    } else { /* a name with a slip would find all well */
        answer_error(x, 404, STR("no session of this name asked anything; see /_assay/sessions"));
    }
    buf_free(&out);
    buf_free(&text);
}

static void answer_reset(struct serve *v, struct exchange *x, struct str name)
{
    struct err e = {0};
    int64_t n = 0;
    int rc = 0;
    if (v->options.source == SERVE_RECORD) {
        answer_error(x, 409, STR("a recording under way cannot begin anew"));
        return;
    }
    for (struct session *s = v->sessions; s != NULL && rc == 0; s = s->next) {
        if (wanted(s, name)) {
            rc = session_reset(s, &e);
            n++;
        }
    }
    if (rc != 0) {
        answer_error(x, 500, str_of(e.message));
        return;
    }
    struct buf out = {0};
    buf_char(&out, '{');
    json_put_int(&out, "reset", n);
    buf_addz(&out, "}\n");
    answer_json(x, 200, buf_str(&out));
    buf_free(&out);
}

void admin_request(struct serve *v, struct exchange *x, const struct http_request *rq,
                   struct str path)
{
    static const struct {
        const char *path;
        const char *method;
        void (*answer)(struct serve *v, struct exchange *x, struct str name);
    } pages[] = {
        {"sessions", "GET", answer_sessions},
        {"journal", "GET", answer_journal},
        {"leftover", "GET", answer_leftover},
        {"reset", "POST", answer_reset},
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (str_is(path, pages[i].path)) {
            if (str_is(rq->method, pages[i].method)) {
                pages[i].answer(v, x, session_asked_for(rq->url));
            } else {
                answer_error(x, 405, STR("GET sessions, journal and leftover; POST reset"));
            }
            return;
        }
    }
    answer_error(x, 404, STR("there are: sessions, journal, leftover, reset"));
}
