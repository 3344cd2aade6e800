#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "kernel/base/text.h"
#include "kernel/base/val.h"
#include "kernel/wire/wire.h"

enum { OPTIONS_MAX = 64 };

static const struct option *find(const struct option *options, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_is(name, options[i].name)) {
            return &options[i];
        }
    }
    return NULL;
}

static int unknown(const struct option *options, size_t n, struct str name, struct err *e)
{
    const char *names[OPTIONS_MAX];
    for (size_t i = 0; i < n && i < OPTIONS_MAX; i++) {
        names[i] = options[i].name;
    }
    const char *close = text_closest(name, names, n < OPTIONS_MAX ? n : OPTIONS_MAX);
    if (close != NULL) {
        return err_set(e, ERR_USAGE, "unknown option --%.*s; did you mean --%s?", STR_FMT(name),
                       close);
    }
    return err_set(e, ERR_USAGE, "unknown option --%.*s; --help lists them", STR_FMT(name));
}

/* A whole number in plain digits; false for anything else. */
static bool whole_number(const char *text, int64_t *out)
{
    const struct val v = {.kind = VAL_NUMBER, .text = str_of(text)};
    const char *p = text[0] == '-' ? text + 1 : text;
    return p[0] != '\0' && strspn(p, "0123456789") == strlen(p) && strlen(p) < 19 &&
           val_int(&v, out);
}

static int store_in_list(const struct option *o, const char *value, struct err *e)
{
    struct option_list *list = o->out;
    if (list->n == OPTION_LIST_MAX) {
        return err_set(e, ERR_USAGE, "--%s is given more than %d times", o->name, OPTION_LIST_MAX);
    }
    list->at[list->n++] = value;
    return 0;
}

static int store(const struct option *o, const char *value, struct err *e)
{
    int64_t number = 0;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)o->out = true; return 0;
    case OPTION_NAME:
        if (value[0] == '\0') {
            return err_set(e, ERR_USAGE, "--%s wants a value, got an empty one", o->name);
        }
        *(const char **)o->out = value;
        return 0;
    case OPTION_TEXT: *(const char **)o->out = value; return 0;
    case OPTION_LIST: return store_in_list(o, value, e);
    case OPTION_INT:
        if (!whole_number(value, &number) || number < o->min || number > o->max) {
            return err_set(e, ERR_USAGE, "--%s wants a whole number from %lld to %lld, got \"%s\"",
                           o->name, (long long)o->min, (long long)o->max, value);
        }
        *(int64_t *)o->out = number;
        return 0;
    }
    return 0;
}

/* The name of an option's short form: -o. NULL where it has none. */
static const char *long_name(const char *word)
{
    static const char *const names[][2] = {{"-o", "out"}, {"-n", "dry-run"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(word, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

/* One option at argv[i]; moves i on when its value is the next word. */
static int take(const struct option *options, size_t n, int argc, char **argv, int *i, bool *given,
                struct err *e)
{
    const char *short_for = long_name(argv[*i]);
    struct str word = str_of(short_for != NULL ? short_for : argv[*i] + 2);
    size_t eq = str_find(word, STR("="));
    struct str name = str_slice(word, 0, eq);
    const struct option *o = find(options, n, name);
    if (o == NULL) {
        return unknown(options, n, name, e);
    }
    if (given[o - options] && o->kind != OPTION_LIST) {
        return err_set(e, ERR_USAGE, "--%s is given twice", o->name);
    }
    given[o - options] = true;
    if (o->kind == OPTION_FLAG) {
        if (eq != SIZE_MAX) {
            return err_set(e, ERR_USAGE, "--%s takes no value", o->name);
        }
        return store(o, NULL, e);
    }
    if (eq != SIZE_MAX) {
        return store(o, word.p + eq + 1, e);
    }
    if (*i + 1 >= argc) {
        return err_set(e, ERR_USAGE, "--%s wants a value", o->name);
    }
    return store(o, argv[++*i], e);
}

int options_parse(const struct option *options, size_t n, int argc, char **argv,
                  struct words *words, struct err *e)
{
    bool given[OPTIONS_MAX] = {false};
    bool only_words = false;
    words->n = 0;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
        } else if (!only_words && ((word[0] == '-' && word[1] == '-') ||
                                   (long_name(word) != NULL &&
                                    find(options, n, str_of(long_name(word))) != NULL))) {
            int rc = take(options, n, argc, argv, &i, given, e);
            if (rc != 0) {
                return rc;
            }
        } else if (!only_words && word[0] == '-' && word[1] != '\0') {
            return err_set(e, ERR_USAGE,
                           "unknown option %s; put -- before a text that begins with a dash", word);
        } else if (words->n == WORDS_MAX) {
            return err_set(e, ERR_USAGE, "more than %d words", WORDS_MAX);
        } else {
            words->at[words->n++] = word;
        }
    }
    return 0;
}

static size_t digits_from(struct str s, size_t i)
{
    size_t n = 0;
    while (i + n < s.n && s.p[i + n] >= '0' && s.p[i + n] <= '9') {
        n++;
    }
    return n;
}

bool plain_number(struct str s)
{
    size_t whole = digits_from(s, 0);
    if (whole == 0 || (whole > 1 && s.p[0] == '0')) {
        return false;
    }
    if (whole == s.n) {
        return true;
    }
    return s.p[whole] == '.' && whole + 1 < s.n && whole + 1 + digits_from(s, whole + 1) == s.n;
}

/* One limit of --budget. */
struct limit {
    const char *name;
    int scale;   /* decimals that count */
    int64_t min; /* in units of 10^-scale */
    int64_t *out;
    bool given;
};

static struct limit *find_limit(struct limit *limits, size_t n, struct str name, struct err *e)
{
    const char *names[OPTIONS_MAX];
    for (size_t i = 0; i < n; i++) {
        if (str_is(name, limits[i].name)) {
            return &limits[i];
        }
        names[i] = limits[i].name;
    }
    const char *close = text_closest(name, names, n);
    err_set(e, ERR_USAGE,
            "--budget: unknown key \"%.*s\"%s%s; known: steps, tokens, seconds, cost_usd, calls, "
            "calls_per_reply",
            STR_FMT(name), close == NULL ? "" : "; did you mean ", close == NULL ? "" : close);
    return NULL;
}

static int set_limit(struct limit *limit, struct str number, struct err *e)
{
    int64_t value = 0;
    if (limit->given) {
        return err_set(e, ERR_USAGE, "--budget: %s is given twice", limit->name);
    }
    limit->given = true;
    if (number.n > 18 || !plain_number(number) || !num_scaled(number, limit->scale, &value) ||
        value < limit->min || (limit->scale == 0 && !num_is_integer(number)) ||
        value > INT64_MAX / 2000) {
        return err_set(e, ERR_USAGE, "--budget: %s wants a %s of at least %lld, got \"%.*s\"",
                       limit->name, limit->scale == 0 ? "whole number" : "number",
                       (long long)limit->min, STR_FMT(number));
    }
    *limit->out = value;
    return 0;
}

int budget_parse(const char *text, struct budget *budget, struct err *e)
{
    struct limit limits[] = {{"steps", 0, 1, &budget->steps, false},
                             {"tokens", 0, 1, &budget->tokens, false},
                             {"seconds", 0, 1, &budget->seconds, false},
                             {"cost_usd", 9, 0, &budget->cost_nano, false},
                             {"calls", 0, 0, &budget->calls, false},
                             {"calls_per_reply", 0, 1, &budget->calls_per_reply, false}};
    struct str rest = str_of(text);
    while (rest.p != NULL) {
        struct str item = str_cut(&rest, ',');
        size_t eq = str_find(item, STR("="));
        struct str number = eq == SIZE_MAX ? STR("") : str_slice(item, eq + 1, item.n);
        struct limit *limit =
            find_limit(limits, sizeof limits / sizeof limits[0], str_slice(item, 0, eq), e);
        int rc = limit == NULL ? ERR_USAGE : set_limit(limit, number, e);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

int prices_open(const char *path, struct prices **out, struct err *e)
{
    *out = NULL;
    return path == NULL ? 0 : prices_load(path, out, e);
}

int text_check(const char *name, const char *text, struct err *e)
{
    if (text != NULL && utf8_invalid_at(str_of(text)) != SIZE_MAX) {
        return err_set(e, ERR_USAGE, "%s is not UTF-8", name);
    }
    return 0;
}

int temperature_check(const char *text, struct err *e)
{
    int64_t scaled;
    struct str s = str_of(text);
    if (text != NULL &&
        (s.n > 12 || !plain_number(s) || !num_scaled(s, 6, &scaled) || scaled > 2000000)) {
        return err_set(e, ERR_USAGE, "--temperature wants a number from 0 to 2, got \"%s\"", text);
    }
    return 0;
}

static bool is_port(struct str s)
{
    int64_t port = 0;
    return s.n <= 5 && plain_number(s) && num_scaled(s, 0, &port) && num_is_integer(s) &&
           port >= 1 && port <= 65535;
}

/* HOST, HOST:PORT, [ADDRESS]:PORT, perhaps with a user in front. */
static bool is_authority(struct str s)
{
    size_t at = str_find(s, STR("@"));
    s = at == SIZE_MAX ? s : str_slice(s, at + 1, s.n);
    size_t bracket = str_find(s, STR("]"));
    size_t from = bracket == SIZE_MAX ? 0 : bracket;
    size_t colon = str_find(str_slice(s, from, s.n), STR(":"));
    struct str host = str_slice(s, 0, colon == SIZE_MAX ? s.n : from + colon);
    return host.n > 0 && (colon == SIZE_MAX || is_port(str_slice(s, from + colon + 1, s.n)));
}

int base_url_check(const char *option, struct str url, struct err *e)
{
    url = str_trim(url);
    if (url.n == 0) {
        return 0;
    }
    size_t scheme = str_starts(url, "http://") ? 7 : str_starts(url, "https://") ? 8 : 0;
    bool good = scheme > 0;
    size_t end = scheme;
    while (end < url.n && strchr("/?#", url.p[end]) == NULL) {
        end++;
    }
    for (size_t i = 0; i < url.n && good; i++) {
        good = (unsigned char)url.p[i] > ' ' && url.p[i] != 0x7f;
    }
    if (good && is_authority(str_slice(url, scheme, end))) {
        return 0;
    }
    return err_set(e, ERR_USAGE,
                   "%s wants an address such as http://127.0.0.1:8080/v1, got \"%.*s\"", option,
                   STR_FMT(url));
}

int speed_parse(const char *speed, bool *real, struct err *e)
{
    if (speed == NULL) {
        return 0;
    }
    *real = strcmp(speed, "real") == 0;
    if (!*real && strcmp(speed, "none") != 0) {
        return err_set(e, ERR_USAGE, "--speed is real or none, found \"%s\"", speed);
    }
    return 0;
}

int provider_check(const char *provider, struct err *e)
{
    enum wire_format format = WIRE_CHAT;
    if (provider != NULL && !wire_of_provider(str_of(provider), &format)) {
        return err_set(
            e, ERR_USAGE,
            "--provider %s: no such wire format; expected openai, responses or anthropic",
            provider);
    }
    return 0;
}

enum wire_format provider_format(const char *provider)
{
    enum wire_format format = WIRE_CHAT;
    (void)wire_of_provider(str_of(provider), &format);
    return format;
}
