/* The flags that say how cassettes are recorded and replayed, which run, chat and eval share. */
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/replay.h"
#include "kernel/base/val.h"

const char help_recordings[] =
    "  --mode once|new_episodes|all  --record, where a cassette is there: replay it; replay it\n"
    "                      and add what it lacks; record anew (default: an error)\n"
    "  --match body|order|relaxed  by meaning (default), by position, the nearest meaning\n"
    "  --strict            unused recordings, drift and age: exit 3\n"
    "  --ignore PATH       a part of requests that does not count: metadata.user\n"
    "  --normalise PATH=REGEX=>TEXT  text in them that counts as TEXT\n"
    "  --max-age 30d       warn of older recordings (d, h, m)\n"
    "  --speed xN|real     replay in real time, or N times as fast\n"
    "  --rechunk N|random  replay bodies in other pieces\n";

enum { RANDOM_PIECE_MAX = 64, SPEED_DECIMALS = 3, MS_PER_MINUTE = 60000, DAYS_MAX = 36500 };

/* The fastest and slowest replay, in thousandths of the recorded speed. */
enum { SPEED_MAX = 1000 * 1000 * 1000 };

size_t replay_options(struct replay_flags *f, struct option *out)
{
    const struct option options[REPLAY_OPTIONS] = {
        {"match", OPTION_TEXT, &f->match, 0, 0},    {"strict", OPTION_FLAG, &f->strict, 0, 0},
        {"ignore", OPTION_LIST, &f->ignore, 0, 0},  {"normalise", OPTION_LIST, &f->normalise, 0, 0},
        {"speed", OPTION_TEXT, &f->speed, 0, 0},    {"rechunk", OPTION_TEXT, &f->rechunk, 0, 0},
        {"max-age", OPTION_TEXT, &f->max_age, 0, 0}};
    memcpy(out, options, sizeof options);
    return REPLAY_OPTIONS;
}

static int parse_mode(const char *mode, enum eval_source source, enum cassette_mode *out,
                      struct err *e)
{
    static const struct {
        const char *name;
        enum cassette_mode mode;
    } modes[] = {
        {"once", CASSETTE_ONCE}, {"new_episodes", CASSETTE_NEW_EPISODES}, {"all", CASSETTE_ALL}};
    bool none = mode != NULL && strcmp(mode, "none") == 0;
    *out = CASSETTE_NEW;
    if (mode == NULL || (none && source == EVAL_REPLAY)) {
        return 0;
    }
    if (none && source == EVAL_RECORD) {
        return err_set(e, ERR_USAGE,
                       "--mode none records nothing: replay by --replay, not --record");
    }
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(mode, modes[i].name) == 0) {
            *out = modes[i].mode;
            return source == EVAL_RECORD
                       ? 0
                       : err_set(e, ERR_USAGE, "--mode %s goes with --record%s", mode,
                                 source == EVAL_REPLAY ? ": --replay never calls a model" : "");
        }
    }
    return none ? err_set(e, ERR_USAGE, "--mode none goes with --replay")
                : err_set(e, ERR_USAGE,
                          "--mode wants none (with --replay), once, new_episodes or all (with "
                          "--record), got \"%s\"",
                          mode);
}

static int parse_match(const char *match, enum cassette_match *out, struct err *e)
{
    for (int m = CASSETTE_BODY; match != NULL && m <= CASSETTE_RELAXED; m++) {
        if (strcmp(match, cassette_match_name((enum cassette_match)m)) == 0) {
            *out = (enum cassette_match)m;
            return 0;
        }
    }
    return match == NULL
               ? 0
               : err_set(e, ERR_USAGE, "--match wants body, order or relaxed, got \"%s\"", match);
}

/* "real", or "xN": N times as fast. */
static int parse_speed(const char *text, uint32_t *out, struct err *e)
{
    int64_t speed = 1000;
    struct str s = str_of(text);
    if (text == NULL) {
        return 0;
    }
    struct str n = str_slice(s, 1, s.n);
    bool good = str_is(s, "real") ||
                (str_starts(s, "x") && n.n <= 10 && plain_number(n) &&
                 num_scaled(n, SPEED_DECIMALS, &speed) && speed >= 1 && speed <= SPEED_MAX);
    *out = (uint32_t)speed;
    return good ? 0
                : err_set(e, ERR_USAGE,
                          "--speed wants real, or x and how many times as fast, such as x10 or "
                          "x0.5; got \"%s\"",
                          text);
}

/* "N", "random" or "random:SEED". */
static int parse_rechunk(const char *text, struct rechunk *out, struct err *e)
{
    int64_t n = 0;
    struct str s = str_of(text);
    if (text == NULL) {
        return 0;
    }
    out->random = str_starts(s, "random");
    struct str rest = out->random ? str_slice(s, strlen("random"), s.n) : s;
    bool bare = out->random && rest.n == 0;
    rest = out->random && str_starts(rest, ":") ? str_slice(rest, 1, rest.n) : rest;
    bool good = bare || (rest.n <= 9 && plain_number(rest) && num_is_integer(rest) &&
                         num_scaled(rest, 0, &n) && (out->random || n > 0));
    good = good && (bare || !out->random || rest.p[-1] == ':');
    out->bytes = out->random ? RANDOM_PIECE_MAX : (uint32_t)n;
    out->seed = (uint64_t)n;
    return good ? 0
                : err_set(e, ERR_USAGE,
                          "--rechunk wants a number of bytes, random or random:SEED, got \"%s\"",
                          text);
}

int age_parse(const char *text, int64_t *ms, struct err *e)
{
    int64_t n = 0;
    struct str s = str_of(text);
    struct str number = str_slice(s, 0, s.n > 0 ? s.n - 1 : 0);
    int64_t minutes = str_ends(s, "d") ? 24 * 60 : str_ends(s, "h") ? 60 : str_ends(s, "m") ? 1 : 0;
    if (minutes == 0 || number.n > 9 || !plain_number(number) || !num_is_integer(number) ||
        !num_scaled(number, 0, &n) || n == 0 || n * minutes > (int64_t)DAYS_MAX * 24 * 60) {
        return err_set(e, ERR_USAGE,
                       "--max-age wants days, hours or minutes, such as 30d, 12h or 90m, at most "
                       "%dd; got \"%s\"",
                       DAYS_MAX, text);
    }
    *ms = n * minutes * MS_PER_MINUTE;
    return 0;
}

static int parse_rules(const struct option_list *list, const char *flag,
                       enum cassette_rule_kind kind, struct rules *out, struct err *e)
{
    struct err why;
    for (size_t i = 0; i < list->n; i++) {
        int rc = cassette_rules_add(out, kind, str_of(list->at[i]), &why);
        if (rc != 0) {
            return err_set(e, ERR_USAGE, "--%s: %s", flag, why.message);
        }
    }
    return 0;
}

/* A flag that was given where it means nothing. */
static int check_place(const struct replay_flags *f, enum eval_source source,
                       enum cassette_mode mode, struct err *e)
{
    bool replays = source == EVAL_REPLAY || mode == CASSETTE_ONCE || mode == CASSETTE_NEW_EPISODES;
    const char *lost = replays              ? NULL
                       : f->match != NULL   ? "match"
                       : f->strict          ? "strict"
                       : f->max_age != NULL ? "max-age"
                                            : NULL;
    if (lost != NULL) {
        return err_set(e, ERR_USAGE, "--%s goes with --replay", lost);
    }
    if ((f->speed != NULL || f->rechunk != NULL) && source != EVAL_REPLAY) {
        return err_set(e, ERR_USAGE, "--%s goes with --replay",
                       f->speed != NULL ? "speed" : "rechunk");
    }
    if (f->ignore.n + f->normalise.n > 0 && !replays && source != EVAL_RECORD) {
        return err_set(e, ERR_USAGE, "--%s goes with --record or --replay",
                       f->ignore.n > 0 ? "ignore" : "normalise");
    }
    return 0;
}

int replay_parse(const struct replay_flags *f, enum eval_source source, struct eval_cassettes *out,
                 struct rules **rules, struct err *e)
{
    *rules = NULL;
    *out = (struct eval_cassettes){.strict = f->strict};
    int rc = parse_mode(f->mode, source, &out->mode, e);
    rc = rc != 0 ? rc : check_place(f, source, out->mode, e);
    rc = rc != 0 ? rc : parse_match(f->match, &out->match, e);
    rc = rc != 0 ? rc : parse_speed(f->speed, &out->speed, e);
    rc = rc != 0 ? rc : parse_rechunk(f->rechunk, &out->rechunk, e);
    rc = rc != 0 || f->max_age == NULL ? rc : age_parse(f->max_age, &out->max_age_ms, e);
    if (rc == 0 && f->ignore.n + f->normalise.n > 0) {
        *rules = cassette_rules_new();
        rc = parse_rules(&f->ignore, "ignore", RULE_IGNORE, *rules, e);
        rc = rc != 0 ? rc : parse_rules(&f->normalise, "normalise", RULE_NORMALISE, *rules, e);
    }
    out->speed = f->speed == NULL ? 0 : out->speed;
    out->rules = *rules;
    return rc;
}
