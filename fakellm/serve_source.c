/* What answers a session: its script, its cassette, or the upstream with a recorder around it. */
#include <stdlib.h>
#include <string.h>

#include "fakellm/serve_int.h"
#include "kernel/base/date.h"
#include "kernel/drive/files.h"
#include "kernel/drive/limiter.h"
#include "kernel/drive/machine.h"

/* What a folder's files end with. */
static const char *ending_of(enum serve_source source)
{
    return source == SERVE_SCRIPT ? ".script.yaml" : ".yaml";
}

/* Whether a recording goes into one file. */
static bool is_one_cassette(const char *path)
{
    struct str name = str_of(path);
    return (str_ends(name, ".yaml") || str_ends(name, ".yml")) && !path_is_dir(path);
}

static int load_cassette(const struct serve *v, const char *path, struct cassette **out,
                         struct err *e)
{
    struct buf warning = {0};
    int rc = cassette_load(path, out, &warning, e);
    if (rc == 0 && warning.n > 0 && v->options.note != NULL) {
        v->options.note(v->options.ctx, buf_str(&warning));
    }
    buf_free(&warning);
    return rc;
}

static int source_load(struct serve *v, const char *path, struct str name, struct err *e)
{
    struct source *s = &v->sources[v->n_sources];
    *s = (struct source){.name = arena_str(v->arena, name)};
    int rc = v->options.source == SERVE_SCRIPT ? fake_load(path, &s->script, e)
                                               : load_cassette(v, path, &s->cassette, e);
    v->n_sources += rc == 0;
    return rc;
}

static int load_folder(struct serve *v, struct err *e)
{
    const char *ending = ending_of(v->options.source);
    struct str *names;
    size_t n = 0;
    int rc = dir_list(v->arena, v->options.path, ending, &names, &n, e);
    if (rc == 0 && n == 0) {
        rc = err_set(e, ERR_NOT_FOUND, "%s: no file in this folder ends with %s", v->options.path,
                     ending);
    }
    v->sources = mem_zero(n * sizeof *v->sources);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct str name = str_slice(names[i], 0, names[i].n - str_of(ending).n);
        rc = source_load(v, path_join(v->arena, v->options.path, names[i].p), name, e);
    }
    return rc;
}

/* What cannot be recorded into is said before anybody asks. */
static int target_check(const struct serve *v, struct err *e)
{
    if (!is_one_cassette(v->options.path)) {
        return dir_make(v->options.path, e);
    }
    if (v->options.mode == CASSETTE_NEW && path_exists(v->options.path)) {
        return err_at(e, ERR_EXISTS, v->options.path, 0, 0,
                      "a cassette exists already: --mode all records it anew, new_episodes adds "
                      "what it lacks, once replays it, another path keeps it");
    }
    struct cassette *there = NULL;
    bool replays = v->options.mode == CASSETTE_ONCE || v->options.mode == CASSETTE_NEW_EPISODES;
    int rc = 0;
    if (replays && path_exists(v->options.path)) {
        rc = cassette_load(v->options.path, &there, NULL, e);
    }
    cassette_free(there);
    return rc;
}

int sources_load(struct serve *v, struct err *e)
{
    if (v->options.source == SERVE_RECORD) {
        return target_check(v, e);
    }
    if (v->options.source == SERVE_PLACED) {
        return 0;
    }
    if (path_is_dir(v->options.path)) {
        return load_folder(v, e);
    }
    v->sources = mem_zero(sizeof *v->sources);
    return source_load(v, v->options.path, STR(""), e);
}

void sources_free(struct serve *v)
{
    for (size_t i = 0; i < v->n_sources; i++) {
        fake_free(v->sources[i].script);
        cassette_free(v->sources[i].cassette);
    }
    free(v->sources);
}

/* The part of a session's name that names its file. */
static struct str file_name(struct str session)
{
    return str_slice(session, 0, str_find(session, STR("~")));
}

static const struct source *source_find(const struct serve *v, struct str session)
{
    struct str name = file_name(session);
    for (size_t i = 0; i < v->n_sources; i++) {
        if (v->sources[i].name.n == 0 || str_eq(v->sources[i].name, name)) {
            return &v->sources[i];
        }
    }
    return NULL;
}

static void open_script(struct session *s, const struct source *from)
{
    s->fake = fake_session_new(from->script);
    s->transport = transport_fake(s->fake, s->sched);
}

/* live: answers what the cassette does not hold; NULL = nothing does. */
static void open_cassette(struct session *s, const struct cassette *from, struct transport *live)
{
    const struct serve_options *so = &s->serve->options;
    struct player_options o = {.cassette = from,
                               .match = so->match,
                               .rules = so->rules,
                               .rechunk = so->rechunk,
                               .sched = s->sched,
                               .live = live};
    s->player = player_new(&o);
    s->transport = player_transport(s->player);
}

/* The file that the session is recorded into. */
static int recording_path(const struct session *s, const char **out, struct err *e)
{
    const char *path = s->serve->options.path;
    if (!is_one_cassette(path)) {
        *out = arena_printf(s->arena, "%s/%.*s.yaml", path, STR_FMT(s->name)).p;
        return 0;
    }
    *out = path;
    return str_is(s->name, "main")
               ? 0
               : err_set(e, ERR_NOT_FOUND,
                         "all is recorded into %s: for sessions of their own name a folder", path);
}

/* Answers of any size pass: the client's memory is not ours. */
static struct transport *upstream_new(const struct session *s)
{
    const struct serve_options *o = &s->serve->options;
    struct transport_limits limits = o->deadlines;
    limits.endless = true;
    struct transport *curl = transport_curl(o->loop, s->sched, limits);
    return o->limited ? limiter_transport(limiter_of(o->loop), curl) : curl;
}

static int open_recorder(struct session *s, const char *path, struct err *e)
{
    struct serve *v = s->serve;
    struct recorder_options o = {
        .path = path,
        .overwrite = v->options.mode == CASSETTE_ALL,
        .run = arena_printf(s->arena, "%012llx", (unsigned long long)(random_u64() >> 16)),
        .seed = random_u64() >> 11,
        .started_at = date_text(s->arena, clock_unix_ms()),
        .rules = v->options.rules,
        .after = s->cassette,
        .sched = s->sched,
    };
    int rc = recorder_new(&o, &s->recorder, e);
    if (rc == 0) {
        s->upstream = upstream_new(s);
        s->transport = recorder_transport(s->recorder, s->upstream);
        memcpy(s->base_url, v->options.upstream, sizeof s->base_url);
        s->as_clients = v->options.as_clients;
    }
    return rc;
}

/* What was recorded before is replayed, where the mode says so; the rest is asked and recorded. */
static int open_recording(struct session *s, struct err *e)
{
    enum cassette_mode mode = s->serve->options.mode;
    const char *path = NULL;
    int rc = recording_path(s, &path, e);
    bool replays =
        rc == 0 && (mode == CASSETTE_ONCE || mode == CASSETTE_NEW_EPISODES) && path_exists(path);
    if (replays) {
        rc = load_cassette(s->serve, path, &s->cassette, e);
    }
    s->sched = replays ? sched_virtual(s->serve->options.loop) : sched_real(s->serve->options.loop);
    if (rc == 0 && !(replays && mode == CASSETTE_ONCE)) {
        rc = open_recorder(s, path, e);
    }
    if (rc == 0 && replays) {
        open_cassette(s, s->cassette, s->recorder != NULL ? s->transport : NULL);
    }
    return rc;
}

static struct sched *clock_of(const struct serve_options *o)
{
    if (o->source == SERVE_REPLAY && o->speed > 0) {
        return sched_paced(o->loop, o->speed);
    }
    return o->source == SERVE_SCRIPT && o->real_time ? sched_real(o->loop) : sched_virtual(o->loop);
}

int source_open(struct session *s, struct err *e)
{
    struct serve *v = s->serve;
    if (s->placed) {
        return 0;
    }
    if (v->options.source == SERVE_PLACED) {
        return err_set(e, ERR_NOT_FOUND, "no session \"%.*s\" is open", STR_FMT(s->name));
    }
    if (v->options.source == SERVE_RECORD) {
        return open_recording(s, e);
    }
    s->sched = clock_of(&v->options);
    const struct source *from = source_find(v, s->name);
    if (from == NULL) {
        return err_set(e, ERR_NOT_FOUND, "there is no %s/%.*s%s for session \"%.*s\"",
                       v->options.path, STR_FMT(file_name(s->name)), ending_of(v->options.source),
                       STR_FMT(s->name));
    }
    if (v->options.source == SERVE_SCRIPT) {
        open_script(s, from);
    } else {
        open_cassette(s, from->cassette, NULL);
    }
    return 0;
}

static void free_transport(struct transport *t)
{
    if (t != NULL) {
        t->ops->free(t);
    }
}

void source_close(struct session *s)
{
    struct serve *v = s->serve;
    struct err e;
    int rc = s->recorder != NULL ? recorder_close(s->recorder, &e) : 0;
    if (rc != 0 && v->rc == 0) {
        v->rc = rc;
        v->error = e;
    }
    free_transport(s->upstream);
    if (s->placed) {
        s->sched = NULL;
        s->fake = NULL;
    }
    if (s->fake != NULL) { /* a player's and a recorder's transports are theirs */
        free_transport(s->transport);
    }
    fake_session_free(s->fake);
    player_free(s->player);
    cassette_free(s->cassette);
    sched_free(s->sched);
    s->cassette = NULL;
    s->sched = NULL;
    s->recorder = NULL;
    s->upstream = NULL;
    s->transport = NULL;
    s->fake = NULL;
    s->player = NULL;
}

bool source_leftover(struct session *s, struct buf *out)
{
    struct str left = {0};
    if (s->requests == 0) { /* it was reset: nobody has begun with it */
        return false;
    }
    if (s->fake != NULL) {
        left = fake_leftover(s->fake);
    } else if (s->player != NULL) {
        struct player_report r = player_report(s->player);
        left = r.unused > 0 ? r.unused_text : left;
    }
    if (left.n > 0) {
        buf_fmt(out, "session %.*s: ", STR_FMT(s->name));
        buf_add(out, left);
    }
    return left.n > 0;
}

size_t source_drifts(struct session *s, struct buf *out)
{
    struct player_report r = {0};
    if (s->player != NULL) {
        r = player_report(s->player);
    }
    if (r.drifts > 0) {
        buf_fmt(out, "%ssession %.*s: ", out->n > 0 ? "\n" : "", STR_FMT(s->name));
        buf_add(out, r.drift_text);
    }
    return r.drifts;
}

/* ---- what the upstream is asked ---- */

/* Whether a header is between two neighbours (RFC 9110 7.6.1): by its name, or as Connection says.
 */
static bool is_hop_by_hop(struct str name, const struct http_header *headers, size_t n)
{
    static const char *const names[] = {"connection", "keep-alive", "proxy-connection",  "te",
                                        "trailer",    "upgrade",    "transfer-encoding", NULL};
    if (str_is_one_of_nocase(name, names)) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        struct str rest = headers[i].value;
        while (str_is_nocase(headers[i].name, "connection") && rest.n > 0) {
            if (str_cmp_nocase(str_trim(str_cut(&rest, ',')), name) == 0) {
                return true;
            }
        }
    }
    return false;
}

size_t source_headers(const struct http_header *in, size_t n, struct http_header *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_hop_by_hop(in[i].name, in, n)) {
            out[kept++] = in[i];
        }
    }
    return kept;
}

/* Those that curl says itself, and those that are for us. */
static bool stays_here(struct str name)
{
    static const char *const names[] = {"content-length", "host", "accept-encoding", "expect",
                                        NULL};
    return str_is_one_of_nocase(name, names) || str_starts_nocase(name, "x-assay-");
}

/* The client's headers, and in their place those that the user names. */
static void add_headers(const struct serve_options *o, const struct http_request *rq,
                        struct arena *arena, struct http_request *out)
{
    struct http_header *all = arena_array(arena, rq->n_headers + o->n_headers, sizeof *all);
    size_t n = source_headers(rq->headers, rq->n_headers, all);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool replaced = stays_here(all[i].name);
        for (size_t j = 0; j < o->n_headers && !replaced; j++) {
            replaced = str_cmp_nocase(all[i].name, o->headers[j].name) == 0;
        }
        if (!replaced) {
            all[kept++] = all[i];
        }
    }
    for (size_t j = 0; j < o->n_headers; j++) {
        all[kept++] = o->headers[j];
    }
    out->headers = all;
    out->n_headers = kept;
}

/* Whether a segment of a base URL is a version, as v1 or v1beta. */
static bool names_version(struct str base)
{
    return wire_version_at(str_slice(base, str_find(base, STR("://")) + 3, base.n)) != SIZE_MAX;
}

struct http_request source_request(const struct session *s, const struct http_request *rq,
                                   enum wire_format f, struct arena *arena)
{
    const struct serve_options *o = &s->serve->options;
    struct str base = s->base_url[f];
    struct http_request out = *rq;
    if (base.n == 0) {
        return out;
    }
    struct str query = str_slice(base, str_find(base, STR("?")), base.n); /* as Azure wants one */
    base.n -= query.n;
    while (str_ends(base, "/")) {
        base.n--;
    }
    bool whole = f != WIRE_MESSAGES && (s->as_clients || query.n > 0 || names_version(base));
    bool doubled = (whole || str_ends(base, "/v1")) && str_starts(rq->url, "/v1/");
    struct str path = str_slice(rq->url, doubled ? 3 : 0, rq->url.n);
    bool two = query.n > 0 && str_find(path, STR("?")) != SIZE_MAX;
    out.url = arena_printf(arena, "%.*s%.*s%s%.*s", STR_FMT(base), STR_FMT(path), two ? "&" : "",
                           STR_FMT(str_slice(query, two, query.n)));
    add_headers(o, rq, arena, &out);
    return out;
}
