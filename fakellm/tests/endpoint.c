/* A live HTTP endpoint on the loopback that plays fake scripts, for recording and for tests of
 * clients: fake_endpoint SCRIPT_OR_DIR
 *
 * Its first line on stdout is its base address, http://127.0.0.1:PORT, printed when it is ready.
 * Each base URL is a session of its own:
 *   /v1/chat/completions             the script (where a script was given)
 *   /s/NAME/v1/chat/completions      DIR/NAME.script.yaml, or the one script
 *   /s/NAME/ANY/v1/chat/completions  the same script in a further session
 * It ends on SIGTERM, SIGINT, or when its stdin closes; steps left over are named on stderr. */
#include "fakellm/fake_int.h"
#include "kernel/base/hash.h"
#include "kernel/drive/files.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { BODY_BYTES_MAX = 64 << 20, SESSIONS_MAX = 100000, NAP_MS = 50, BUCKETS = 1024 };

static const char *const tail = "/v1/chat/completions";

/* Sessions by their base path; the mutex guards them and their scripts. */
struct session {
    struct session *next;
    char *key;
    struct fake_script *script; /* its own */
    struct fake_session *fake;
};

static struct {
    pthread_mutex_t mutex;
    const char *path;
    bool is_dir;
    struct session *buckets[BUCKETS];
    size_t n;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool stopping;

/* One request under way. */
struct exchange {
    struct arena *arena;
    struct buf body;
    struct fake_answer answer;
    int64_t began_ms;
    bool answered;
};

static int64_t monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until `at_ms` of the exchange; false when the program ends before. */
static bool wait_until(const struct exchange *x, int64_t at_ms)
{
    for (;;) {
        int64_t left = x->began_ms + at_ms - monotonic_ms();
        if (left <= 0 || atomic_load(&stopping)) {
            return left <= 0;
        }
        int64_t nap = left < NAP_MS ? left : NAP_MS;
        nanosleep(&(struct timespec){.tv_nsec = (long)nap * 1000000}, NULL);
    }
}

/* ---- sessions ---- */

static bool name_ok(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || (c == '.' && i > 0);
        if (!good) {
            return false;
        }
    }
    return name.n > 0;
}

/* The path of the script for a base path ("" or "/s/NAME…"), in arena; NULL when there is none. */
static const char *script_path(struct arena *arena, struct str base)
{
    if (base.n == 0) {
        return state.is_dir ? NULL : state.path;
    }
    if (!str_starts(base, "/s/")) {
        return NULL;
    }
    struct str name = str_slice(base, 3, base.n);
    size_t slash = str_find(name, STR("/"));
    name = str_slice(name, 0, slash == SIZE_MAX ? name.n : slash);
    if (!name_ok(name)) {
        return NULL;
    }
    if (!state.is_dir) {
        return state.path;
    }
    struct str file = arena_printf(arena, "%.*s.script.yaml", STR_FMT(name));
    return path_join(arena, state.path, file.p);
}

static struct session *session_of(struct arena *arena, struct str base, struct buf *why)
{
    uint64_t hash = hash64(0, base);
    struct session **bucket = &state.buckets[hash % BUCKETS];
    for (struct session *s = *bucket; s != NULL; s = s->next) {
        if (str_is(base, s->key)) {
            return s;
        }
    }
    const char *path = script_path(arena, base);
    struct fake_script *script;
    struct err e = {0};
    char text[2048];
    if (path == NULL || state.n >= SESSIONS_MAX) {
        buf_addz(why, path == NULL ? "no script is served at this address" : "too many sessions");
        return NULL;
    }
    if (fake_load(path, &script, &e) != 0) {
        buf_addz(why, err_text(&e, text, sizeof text));
        return NULL;
    }
    struct session *s = mem_zero(sizeof *s);
    s->key = mem_zero(base.n + 1);
    if (base.n > 0) {
        memcpy(s->key, base.p, base.n);
    }
    s->script = script;
    s->fake = fake_session_new(script);
    s->next = *bucket;
    *bucket = s;
    state.n++;
    return s;
}

static void sessions_end(void)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct session *s = state.buckets[i], *next; s != NULL; s = next) {
            struct str left = fake_leftover(s->fake);
            if (left.n > 0) {
                fprintf(stderr, "%s: %.*s\n", s->key[0] == '\0' ? "/" : s->key, STR_FMT(left));
            }
            next = s->next;
            fake_session_free(s->fake);
            fake_free(s->script);
            free(s->key);
            free(s);
        }
    }
}

/* ---- answering ---- */

static void answer(struct exchange *x, const char *url)
{
    struct str path = str_of(url);
    struct buf why = {0};
    x->answer = (struct fake_answer){.status = 404, .retry_after_ms = -1, .end = HTTP_CLEAN};
    x->answer.content_type = STR("application/json");
    pthread_mutex_lock(&state.mutex);
    struct session *s = NULL;
    if (str_ends(path, tail)) {
        s = session_of(x->arena, str_slice(path, 0, path.n - strlen(tail)), &why);
    } else {
        buf_fmt(&why, "expected a path that ends in %s", tail);
    }
    if (s != NULL) {
        fake_answer_in(s->fake, x->arena, path, buf_str(&x->body), &x->answer);
    }
    pthread_mutex_unlock(&state.mutex);
    if (s == NULL) {
        struct buf body = {0};
        size_t *end = arena_alloc(x->arena, sizeof *end);
        wire_encode_error(WIRE_CHAT, 404, buf_str(&why), &body);
        x->answer.body = arena_str(x->arena, buf_str(&body));
        buf_free(&body);
        *end = x->answer.body.n;
        x->answer.ends = end;
        x->answer.at_ms = arena_alloc(x->arena, sizeof(int64_t));
        x->answer.n_pieces = 1;
    }
    buf_free(&why);
}

/* Hands out the body: every byte whose time has come, and waits when there is none. */
static ssize_t read_body(void *cls, uint64_t pos, char *out, size_t max)
{
    struct exchange *x = cls;
    const struct fake_answer *a = &x->answer;
    size_t piece = 0;
    while (piece < a->n_pieces && a->ends[piece] <= pos) {
        piece++;
    }
    if (piece == a->n_pieces) {
        if (a->end == HTTP_TIMEOUT) {
            wait_until(x, INT32_MAX);
        }
        return a->end == HTTP_RESET || a->end == HTTP_TIMEOUT ? MHD_CONTENT_READER_END_WITH_ERROR
                                                              : MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (!wait_until(x, a->at_ms[piece])) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    int64_t now = monotonic_ms() - x->began_ms;
    while (piece + 1 < a->n_pieces && a->at_ms[piece + 1] <= now) {
        piece++;
    }
    size_t n = a->ends[piece] - (size_t)pos;
    n = n < max ? n : max;
    memcpy(out, a->body.p + pos, n);
    return (ssize_t)n;
}

static enum MHD_Result send_answer(struct MHD_Connection *c, struct exchange *x)
{
    const struct fake_answer *a = &x->answer;
    if (a->status == 0) {
        wait_until(x, a->end == HTTP_TIMEOUT ? INT32_MAX : a->first_ms);
        return MHD_NO; /* closes the connection */
    }
    if (!wait_until(x, a->first_ms)) {
        return MHD_NO;
    }
    bool whole = a->n_pieces == 1 && (a->end == HTTP_CLEAN || a->end == HTTP_MISMATCH);
    struct MHD_Response *r = MHD_create_response_from_callback(whole ? a->body.n : MHD_SIZE_UNKNOWN,
                                                               64 * 1024, read_body, x, NULL);
    if (r == NULL) {
        return MHD_NO;
    }
    struct http_header headers[FAKE_HEADERS_MAX];
    size_t n = fake_headers(a, x->arena, headers);
    for (size_t i = 0; i < n; i++) {
        MHD_add_response_header(r, arena_cstr(x->arena, headers[i].name),
                                arena_cstr(x->arena, headers[i].value));
    }
    enum MHD_Result queued = MHD_queue_response(c, (unsigned)a->status, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *n_data, void **con_cls)
{
    (void)cls;
    (void)method;
    (void)version;
    struct exchange *x = *con_cls;
    if (x == NULL) {
        x = mem_zero(sizeof *x);
        x->arena = arena_new();
        x->body.max = BODY_BYTES_MAX;
        *con_cls = x;
        return MHD_YES;
    }
    if (*n_data > 0) {
        buf_add(&x->body, (struct str){data, *n_data});
        *n_data = 0;
        return x->body.truncated ? MHD_NO : MHD_YES;
    }
    if (x->answered) {
        return MHD_NO;
    }
    x->answered = true;
    x->began_ms = monotonic_ms();
    answer(x, url);
    return send_answer(c, x);
}

static void completed(void *cls, struct MHD_Connection *c, void **con_cls,
                      enum MHD_RequestTerminationCode why)
{
    (void)cls;
    (void)c;
    (void)why;
    struct exchange *x = *con_cls;
    if (x != NULL) {
        arena_free(x->arena);
        buf_free(&x->body);
        free(x);
        *con_cls = NULL;
    }
}

/* ---- the program ---- */

static void on_signal(int signal)
{
    (void)signal;
    atomic_store(&stopping, true);
}

/* Waits for the end: a signal, or the end of stdin. Signals come only inside pselect. */
static void wait_for_end(const sigset_t *mask)
{
    while (!atomic_load(&stopping)) {
        fd_set in;
        char scratch[256];
        FD_ZERO(&in);
        FD_SET(STDIN_FILENO, &in);
        int ready = pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, mask);
        if (ready > 0 && read(STDIN_FILENO, scratch, sizeof scratch) <= 0) {
            break;
        }
        if (ready < 0 && errno != EINTR) {
            break;
        }
    }
    atomic_store(&stopping, true);
}

static int serve(const sigset_t *mask)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL,
                         NULL, handle, NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
                         MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        d == NULL ? NULL : MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
    if (info == NULL) {
        fprintf(stderr, "fake_endpoint: cannot listen on 127.0.0.1\n");
        return 4;
    }
    printf("http://127.0.0.1:%u\n", (unsigned)info->port);
    fflush(stdout);
    wait_for_end(mask);
    MHD_stop_daemon(d);
    sessions_end();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: fake_endpoint SCRIPT_OR_DIR\n");
        return 2;
    }
    struct err e = {0};
    struct fake_script *probe;
    char text[2048];
    state.path = argv[1];
    state.is_dir = path_is_dir(argv[1]);
    if (!state.is_dir) {
        if (fake_load(argv[1], &probe, &e) != 0) {
            fprintf(stderr, "fake_endpoint: %s\n", err_text(&e, text, sizeof text));
            return 2;
        }
        fake_free(probe);
    }
    sigset_t ours;
    sigset_t mask;
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigprocmask(SIG_BLOCK, &ours, &mask);
    sigdelset(&mask, SIGTERM);
    sigdelset(&mask, SIGINT);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_signal}, NULL);
    return serve(&mask);
}
