#include "cassettes/edit.h"
#include "cli/cassette_edit.h"
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/replay.h"
#include "kernel/drive/machine.h"

static const char help_text[] =
    "assay cassette: recordings, ours or vcrpy's\n"
    "\n"
    "usage: assay cassette show FILE... [--json]\n"
    "       assay cassette check FILE... [--secrets] [--max-age 30d] [--json]\n"
    "       assay cassette diff A B [--json]\n"
    "       assay cassette redact FILE... [-o OUT | --in-place] [--header NAME,...] [--path "
    "PATH,...]\n"
    "       assay cassette import FILE... -o OUT\n"
    "       assay cassette prune FILE... [-n] [--drop LIST] [--keep LIST] [--model M] "
    "[--duplicates]\n"
    "                      [--failed]\n"
    "       assay cassette repair FILE...\n"
    "\n"
    "In place of a FILE a folder may stand (but for diff and import): all *.yaml, *.yml and "
    "*.json\n"
    "below it, in the order of their names.\n"
    "\n"
    "  show     print every interaction: request, offered tools, calls, results, text, usage; what "
    "is no\n"
    "           model session as plain HTTP. --json: a line an interaction\n"
    "  check    report what would hinder a replay, and keys that were recorded. --secrets: those "
    "alone,\n"
    "           each of them; exit 1 when there is one. --max-age: warn of older ones (d, h, m). "
    "--json: "
    "a\n"
    "           line a finding\n"
    "  diff     tell what B asks and answers otherwise than A: interactions that were added, "
    "removed or\n"
    "           changed, each with where and both values; exit 1 when they differ. Equal requests "
    "are\n"
    "           compared with each other, then those to the same address in their order\n"
    "  redact   write the file as the recorder would have: no key, no other header. Without -o or\n"
    "           --in-place to standard output. --header hides more headers, --path what stands at "
    "JSON\n"
    "           paths of requests, answers and events: user, metadata.keys[0], messages[*].name\n"
    "  import   make a cassette of ours from vcrpy's, betamax's (YAML or JSON) or from HTTP "
    "archives\n"
    "           (HAR) of browsers and proxies. What cannot be taken is listed with the reason\n"
    "  prune    drop interactions from a file: by number as show tells them (--drop 3,5-7, or all "
    "but\n"
    "           --keep 1-4), of a model, those with request and answer like an earlier one, those "
    "that\n"
    "           failed. -n (--dry-run): only tell which\n"
    "  repair   drop what was cut off from the end of a killed recording; it is kept in FILE.torn\n"
    "\n"
    "examples\n"
    "  assay cassette show cassettes/quickstart/margin-drop.yaml\n"
    "  assay cassette check cassettes/quickstart/*.yaml\n"
    "  assay cassette check --secrets cassettes\n"
    "  assay cassette redact --header x-request-id cassettes/quickstart/clock.yaml\n"
    "  assay cassette prune -n --failed cassettes/quickstart/busy-model.yaml\n";

/* Tells of a recording that is older than max_age_ms, or does not say how old it is. */
static void check_age(const struct cassette *c, int64_t max_age_ms, struct findings *findings)
{
    struct buf why = {0};
    if (!cassette_is_young(c, clock_unix_ms(), max_age_ms, &why)) {
        struct finding f = {c->path, 1, 1, FINDING_WARNING, "too_old", buf_str(&why)};
        findings_add(findings, &f);
    }
    buf_free(&why);
}

/* max_age_ms: -1 = of any age. */
static void check_file(const char *path, int64_t max_age_ms, struct findings *findings)
{
    struct cassette *c;
    struct err e;
    if (cassette_load(path, &c, NULL, &e) != 0) { /* what was cut off is a finding below */
        findings_add_err(findings, path, &e);
        return;
    }
    cassette_check(c, findings_add, findings);
    if (max_age_ms >= 0) {
        check_age(c, max_age_ms, findings);
    }
    cassette_free(c);
}

/* Loads one, and says what is left out of it; NULL where it cannot be, which *status says. */
static struct cassette *open_told(const char *path, int *status)
{
    struct cassette *c = NULL;
    struct buf warning = {0};
    struct err e;
    if (cassette_load(path, &c, &warning, &e) != 0) {
        *status = tell_error(&e);
        c = NULL;
    } else if (warning.n > 0) {
        tell("%.*s", STR_FMT(buf_str(&warning)));
    }
    buf_free(&warning);
    return c;
}

static int show_file(const char *path, bool json)
{
    int status = EXIT_OK;
    struct cassette *c = open_told(path, &status);
    if (c != NULL) {
        struct buf out = {0};
        cassette_show(c, json, &out);
        status = put_out(buf_str(&out)) ? EXIT_OK : EXIT_ENVIRONMENT;
        buf_free(&out);
        cassette_free(c);
    }
    return status;
}

static int show(int argc, char **argv)
{
    bool json = false;
    const struct option options[] = {{"json", OPTION_FLAG, &json, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 1, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n == 0) {
        return tell_no_file("cassette", "show");
    }
    struct arena *arena = arena_new();
    const char **files = NULL;
    size_t n = 0;
    int rc = words_files(arena, &words, &kind_cassette, &files, &n, &e);
    int status = rc != 0 ? tell_error(&e) : EXIT_OK;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        status = exit_worse(status, show_file(files[i], json));
    }
    arena_free(arena);
    return status;
}

static void check_secrets_of(const char *path, struct findings *findings, size_t *unreadable)
{
    struct cassette *c;
    struct err e;
    if (cassette_load(path, &c, NULL, &e) != 0) {
        findings_add_err(findings, path, &e);
        ++*unreadable;
        return;
    }
    cassette_check_secrets(c, findings_add, findings);
    cassette_free(c);
}

struct check_options {
    bool json;
    bool secrets;
    int64_t max_age_ms; /* -1 = of any age */
};

static int check_words(const struct words *words, const struct check_options *o)
{
    struct findings findings = {.json = o->json};
    struct arena *arena = arena_new();
    struct err e;
    const char **files = NULL;
    size_t n = 0, unreadable = 0;
    int rc = words_files(arena, words, &kind_cassette, &files, &n, &e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (o->secrets) {
            check_secrets_of(files[i], &findings, &unreadable);
        } else {
            check_file(files[i], o->max_age_ms, &findings);
        }
    }
    if (rc != 0) {
        findings_add_err(&findings, words->at[0], &e);
        unreadable++;
    }
    arena_free(arena);
    int status = findings_end(&findings, kind_cassette.what, n);
    return o->secrets && unreadable == 0 && status == EXIT_USAGE ? EXIT_FAILED : status;
}

static int check(int argc, char **argv)
{
    struct check_options o = {.max_age_ms = -1};
    const char *max_age = NULL;
    const struct option options[] = {{"json", OPTION_FLAG, &o.json, 0, 0},
                                     {"secrets", OPTION_FLAG, &o.secrets, 0, 0},
                                     {"max-age", OPTION_TEXT, &max_age, 0, 0}};
    struct words words;
    struct err e;
    int rc = options_parse(options, 3, argc, argv, &words, &e);
    if (rc == 0 && max_age != NULL) {
        rc = age_parse(max_age, &o.max_age_ms, &e);
    }
    if (rc != 0) {
        return tell_error(&e);
    }
    if (words.n == 0) {
        return tell_no_file("cassette", "check");
    }
    return check_words(&words, &o);
}

static int diff(int argc, char **argv)
{
    bool json = false;
    const struct option options[] = {{"json", OPTION_FLAG, &json, 0, 0}};
    struct words words;
    struct err e;
    int status = EXIT_OK;
    if (options_parse(options, 1, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n != 2) {
        tell("cassette diff wants two files: A B; assay cassette --help shows an example");
        return EXIT_USAGE;
    }
    struct cassette *a = open_told(words.at[0], &status);
    struct cassette *b = a == NULL ? NULL : open_told(words.at[1], &status);
    if (b != NULL) {
        struct buf out = {0};
        size_t told = cassette_compare(a, b, json, &out);
        bool written = put_out(buf_str(&out));
        status = !written ? EXIT_ENVIRONMENT : told > 0 ? EXIT_FAILED : EXIT_OK;
        buf_free(&out);
    }
    cassette_free(a);
    cassette_free(b);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {{"show", show},
                                           {"check", check},
                                           {"diff", diff},
                                           {"redact", cassette_edit_redact},
                                           {"import", cassette_edit_import},
                                           {"prune", cassette_edit_prune},
                                           {"repair", cassette_edit_repair}};
    return sub_verb_run("cassette", subs, sizeof subs / sizeof subs[0], argc, argv);
}

const struct verb verb_cassette = {
    "cassette", "show, check, compare and rewrite recordings", {help_text}, run};
