/* How live endpoints are called: flags, environment, the file of a key. Keys never stand on a
 * command line, where others see them, and never in a message. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/options.h"
#include "fakellm/serve.h"
#include "kernel/base/text.h"
#include "kernel/base/val.h"
#include "kernel/drive/files.h"

const char help_proxy[] =
    "the endpoint, where one is recorded\n"
    "  --header 'N: V'     sent with each request, in the place of its own of that name\n"
    "  --timeout K=S,...   seconds: connect (10), first-byte, idle, total (none: who asks has his\n"
    "                      own)\n"
    "  --rpm N  --tpm N  --max-in-flight N  requests wait until they fit; tokens are guessed from\n"
    "                      the request's size (default: all pass at once)\n"
    "  --ca FILE           certificates (PEM) to trust besides the system's (else SSL_CERT_FILE)\n"
    "  Proxies are those of http_proxy, https_proxy, all_proxy and no_proxy.\n";

const char help_endpoint[] =
    "\n"
    "the endpoint\n"
    "  --key-file FILE     the API key, in a file that is closed to others (mode 0600); else it "
    "is\n"
    "                      in OPENAI_API_KEY, ANTHROPIC_API_KEY (--provider anthropic) or\n"
    "                      AZURE_OPENAI_API_KEY (hosts of Azure)\n"
    "  --header 'N: V'     sent with each request of the model; may be given several times\n"
    "  --timeout K=S,...   seconds: connect (10), first-byte (300), idle (60: no further byte),\n"
    "                      total (600); 0: no such deadline. Waits of the limits below do not "
    "count\n"
    "  --rpm N  --tpm N    at most so many requests and tokens in any minute, all sessions "
    "together\n"
    "  --max-in-flight N   at most so many calls at once; fewer after HTTP 429, 503 and 529\n"
    "  --ca FILE           certificates (PEM) to trust besides the system's (else "
    "SSL_CERT_FILE)\n"
    "  Proxies are those of http_proxy, https_proxy, all_proxy and no_proxy.\n";

enum { KEY_BYTES_MAX = 16384, DEADLINES = 4, DEADLINE_S_MAX = 86400 };

void live_options(struct live_flags *f, struct option *out)
{
    const struct option options[LIVE_OPTIONS] = {
        {"timeout", OPTION_TEXT, &f->timeout, 0, 0},
        {"ca", OPTION_NAME, &f->ca, 0, 0},
        {"key-file", OPTION_NAME, &f->key_file, 0, 0},
        {"header", OPTION_LIST, &f->headers, 0, 0},
        {"rpm", OPTION_INT, &f->rpm, 1, 1000000},
        {"tpm", OPTION_INT, &f->tpm, 1, INT64_C(1000000000000)},
        {"max-in-flight", OPTION_INT, &f->max_in_flight, 1, 100000}};
    memcpy(out, options, sizeof options);
}

void proxy_options(struct live_flags *f, struct option *out)
{
    struct option all[LIVE_OPTIONS];
    size_t n = 0;
    f->patient = true;
    live_options(f, all);
    for (size_t i = 0; i < LIVE_OPTIONS; i++) {
        if (all[i].out != &f->key_file) {
            out[n++] = all[i];
        }
    }
    assert(n == PROXY_OPTIONS);
}

static void on_tell(void *ctx, struct str text)
{
    (void)ctx;
    tell("%.*s", STR_FMT(text));
}

/* ---- deadlines ---- */

/* NAME=SECONDS */
static int parse_deadline(struct str item, struct transport_limits *limits, bool *given,
                          struct err *e)
{
    const struct {
        const char *name;
        int64_t *out;
    } deadlines[DEADLINES] = {{"connect", &limits->connect_ms},
                              {"first-byte", &limits->first_byte_ms},
                              {"idle", &limits->idle_ms},
                              {"total", &limits->total_ms}};
    size_t eq = str_find(item, STR("="));
    struct str name = str_slice(item, 0, eq);
    struct str number = eq == SIZE_MAX ? STR("") : str_slice(item, eq + 1, item.n);
    for (size_t i = 0; i < DEADLINES; i++) {
        int64_t ms = 0;
        if (!str_is(name, deadlines[i].name)) {
            continue;
        }
        if (given[i]) {
            return err_set(e, ERR_USAGE, "--timeout: %s is given twice", deadlines[i].name);
        }
        if (number.n > 9 || !plain_number(number) || !num_scaled(number, 3, &ms) ||
            ms > INT64_C(1000) * DEADLINE_S_MAX) {
            return err_set(e, ERR_USAGE,
                           "--timeout: %s wants seconds from 0 (none) to %d, got \"%.*s\"",
                           deadlines[i].name, DEADLINE_S_MAX, STR_FMT(number));
        }
        given[i] = true;
        *deadlines[i].out = ms;
        return 0;
    }
    return err_set(e, ERR_USAGE,
                   "--timeout wants NAME=SECONDS,... of connect, first-byte, idle and total, such "
                   "as connect=5,total=120; got \"%.*s\"",
                   STR_FMT(item));
}

static int parse_timeout(const char *text, struct transport_limits *limits, struct err *e)
{
    bool given[DEADLINES] = {false};
    struct str rest = str_of(text);
    int rc = 0;
    while (rc == 0 && rest.p != NULL) {
        rc = parse_deadline(str_cut(&rest, ','), limits, given, e);
    }
    return rc;
}

/* ---- headers ---- */

/* RFC 9110 5.6.2 */
static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return s.n > 0;
}

/* No line ends nor other control characters, which would end the header. */
static bool fits_header(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* The value is never shown: it may be a key after all. */
static int parse_header(const char *text, struct http_header *out, struct err *e)
{
    static const char *const keys[] = {
        "authorization",  "proxy-authorization",       "api-key", "x-api-key",
        "x-goog-api-key", "ocp-apim-subscription-key", "cookie",  NULL};
    static const char *const ours[] = {"content-length",  "transfer-encoding", "connection", "host",
                                       "accept-encoding", "content-type",      "expect",     NULL};
    struct str all = str_of(text);
    size_t colon = str_find(all, STR(":"));
    struct str name = str_slice(all, 0, colon);
    if (colon == SIZE_MAX || !is_token(name)) {
        return err_set(e, ERR_USAGE, "--header wants 'Name: value'");
    }
    *out = (struct http_header){name, str_trim(str_slice(all, colon + 1, all.n))};
    if (str_is_one_of_nocase(name, keys)) {
        return err_set(e, ERR_USAGE,
                       "--header %.*s: keys do not belong on the command line, where others see "
                       "them; use --key-file or the environment (--help says which)",
                       STR_FMT(name));
    }
    if (str_is_one_of_nocase(name, ours)) {
        return err_set(e, ERR_USAGE, "--header %.*s is set by assay itself", STR_FMT(name));
    }
    if (!fits_header(out->value) || out->value.n == 0) {
        return err_set(e, ERR_USAGE, "--header %.*s: the value %s", STR_FMT(name),
                       out->value.n == 0 ? "is missing" : "holds a control character");
    }
    return 0;
}

static int parse_headers(const struct option_list *list, struct arena *arena,
                         struct live_settings *s, struct err *e)
{
    struct http_header *headers = arena_array(arena, list->n, sizeof *headers);
    int rc = 0;
    for (size_t i = 0; i < list->n && rc == 0; i++) {
        rc = parse_header(list->at[i], &headers[i], e);
    }
    s->headers = headers;
    s->n_headers = list->n;
    return rc;
}

/* ---- the key ---- */

static int read_key(const struct live_flags *f, const char *variable, struct arena *arena,
                    struct live *out, struct err *e)
{
    const char *from = f->key_file != NULL ? f->key_file : variable;
    int rc = 0;
    out->settings.key_from = str_of(from);
    out->api_key = str_of(getenv(variable));
    if (f->key_file != NULL) {
        rc = file_read_secret(arena, f->key_file, KEY_BYTES_MAX, &out->api_key, e);
    }
    out->api_key = str_trim(out->api_key);
    if (rc == 0 && f->key_file != NULL && out->api_key.n == 0) {
        rc = err_at(e, ERR_INPUT, f->key_file, 0, 0, "is empty; it should hold the API key");
    }
    if (rc == 0 && (!fits_header(out->api_key) || out->api_key.n > KEY_BYTES_MAX)) {
        rc = err_set(e, ERR_INPUT,
                     "%s: an API key is one line of printable characters, this is something else",
                     from);
    }
    return rc;
}

/* ---- the network ---- */

/* The first of these that is set and not empty. */
static struct str variable_of(const char *a, const char *b, const char *c, const char *d)
{
    const char *const names[] = {a, b, c, d};
    for (size_t i = 0; i < 4; i++) {
        const char *value = names[i] == NULL ? NULL : getenv(names[i]);
        if (value != NULL && value[0] != '\0') {
            return str_of(value);
        }
    }
    return STR("");
}

/* As curl has it, but HTTP_PROXY counts too, where this is no CGI whose client could set it. */
static void read_net(const struct live_flags *f, struct transport_net *net)
{
    const char *upper = getenv("REQUEST_METHOD") == NULL ? "HTTP_PROXY" : NULL;
    net->http_proxy = variable_of("http_proxy", upper, "all_proxy", "ALL_PROXY");
    net->https_proxy = variable_of("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY");
    net->no_proxy = variable_of("no_proxy", "NO_PROXY", NULL, NULL);
    net->ca_file = f->ca != NULL ? str_of(f->ca) : str_of(getenv("SSL_CERT_FILE"));
}

static int check_ca(const char *path, struct arena *arena, struct err *e)
{
    struct str pem;
    int rc = path == NULL ? 0 : file_read(arena, path, 64 << 20, &pem, e);
    if (rc == 0 && path != NULL && str_find(pem, STR("-----BEGIN ")) == SIZE_MAX) {
        rc = err_at(e, ERR_INPUT, path, 0, 0, "holds no PEM certificate (-----BEGIN CERTIFICATE)");
    }
    return rc;
}

/* ---- all together ---- */

/* More would only fail. */
static int check_in_flight(int64_t n, struct err *e)
{
    size_t most = n < 0 ? 0 : transport_connections_max();
    if (n < 0 || (uint64_t)n <= most) {
        return 0;
    }
    return err_set(e, ERR_USAGE,
                   "--max-in-flight %lld: the limit on open files (ulimit -n) lets %zu connections "
                   "be; raise it, or ask for fewer",
                   (long long)n, most);
}

static int64_t given_or(int64_t given, int64_t otherwise)
{
    return given >= 0 ? given : otherwise;
}

/* The upstream of a provider: what the program would have asked. */
static const char *upstream_of(const char *given, const char *variable, const char *other,
                               const char *usual)
{
    const char *set = getenv(variable);
    set = set != NULL && set[0] != '\0' ? set : getenv(other);
    return given != NULL ? given : set != NULL && set[0] != '\0' ? set : usual;
}

int upstreams_of(const char *flag, const char *given, struct str out[3], struct err *e)
{
    char what[100];
    int rc = 0;
    snprintf(what, sizeof what, "%s (or OPENAI_BASE_URL, ANTHROPIC_BASE_URL)", flag);
    out[WIRE_CHAT] = out[WIRE_RESPONSES] = str_of(
        upstream_of(given, "OPENAI_BASE_URL", "OPENAI_API_BASE", "https://api.openai.com/v1"));
    out[WIRE_MESSAGES] = str_of(
        upstream_of(given, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "https://api.anthropic.com"));
    for (enum wire_format w = WIRE_CHAT; w <= WIRE_MESSAGES && rc == 0; w++) {
        rc = base_url_check(what, out[w], e);
    }
    return rc;
}

int live_open(const struct live_flags *f, enum wire_format format, const char *base_url, bool calls,
              struct arena *arena, struct live *out, struct err *e)
{
    *out = (struct live){.settings = LIVE_SETTINGS_DEFAULT};
    out->base_url = str_of(base_url != NULL ? base_url : getenv(endpoint_url_variable(format)));
    out->settings.limiter.limits = (struct limits_options){given_or(f->rpm, 0), given_or(f->tpm, 0),
                                                           given_or(f->max_in_flight, 0)};
    out->settings.limiter.tell = f->verbose ? on_tell : NULL;
    if (f->patient) {
        out->settings.deadlines =
            (struct transport_limits){.connect_ms = out->settings.deadlines.connect_ms};
    }
    read_net(f, &out->settings.net);
    int rc = parse_timeout(f->timeout, &out->settings.deadlines, e);
    rc = rc != 0 ? rc : parse_headers(&f->headers, arena, &out->settings, e);
    rc = rc != 0 ? rc : check_ca(f->ca, arena, e);
    rc = rc != 0 ? rc : check_in_flight(f->max_in_flight, e);
    rc = rc != 0 || !calls ? rc
                           : base_url_check("--base-url (or OPENAI_BASE_URL, ANTHROPIC_BASE_URL)",
                                            out->base_url, e);
    if (rc == 0 && calls) {
        bool azure = endpoint_is_azure(out->base_url) && format != WIRE_MESSAGES;
        const char *variable = azure ? "AZURE_OPENAI_API_KEY" : endpoint_key_variable(format);
        rc = read_key(f, variable, arena, out, e);
    }
    return rc;
}

int proxy_open(const struct live_flags *f, struct arena *arena, struct serve_options *o,
               struct live *out, struct err *e)
{
    bool limited = f->rpm >= 0 || f->tpm >= 0 || f->max_in_flight >= 0;
    bool any = limited || f->timeout != NULL || f->ca != NULL || f->headers.n > 0;
    if (o->source != SERVE_RECORD && any) {
        return err_set(e, ERR_USAGE,
                       "--timeout, --ca, --header, --rpm, --tpm and --max-in-flight are of an "
                       "endpoint, and none is asked here: they go with --record");
    }
    int rc = live_open(f, WIRE_CHAT, NULL, false, arena, out, e);
    o->deadlines = out->settings.deadlines;
    o->limited = limited;
    o->headers = out->settings.headers;
    o->n_headers = out->settings.n_headers;
    return rc;
}
