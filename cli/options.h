/* The options and words of a command line. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "kernel/core/kernel.h"
#include "kernel/drive/prices.h"
#include "kernel/drive/tools.h"
#include "kernel/wire/wire.h"

/* OPTION_NAME: of a file, a model and the like: a text that is not empty, as that of a variable
 * that is not set would be. */
enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NAME, OPTION_INT, OPTION_LIST };

/* The values of an option that may be given several times, in order. */
enum { OPTION_LIST_MAX = 32 };
struct option_list {
    const char *at[OPTION_LIST_MAX];
    size_t n;
};

struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *out;        /* bool *, const char **, int64_t *, struct option_list * */
    int64_t min, max; /* OPTION_INT */
};

enum { WORDS_MAX = 4096 };

/* The words that are no options, in order. */
struct words {
    const char *at[WORDS_MAX];
    size_t n;
};

/* Reads `--name value`, `--name=value`, flags, -o and -n for --out and --dry-run, and `--` before
 * words that begin with a dash; options and words may be mixed. ERR_USAGE: an unknown option (with
 * the closest known one), a missing or bad value, an option that is no list given twice. */
int options_parse(const struct option *options, size_t n, int argc, char **argv,
                  struct words *words, struct err *e) MUST_CHECK;

/* Whether s is digits, perhaps with decimals, that JSON takes for a number: 0, 12, 0.25. */
bool plain_number(struct str s);

/* "steps=8,tokens=60000,cost_usd=0.5,seconds=120,calls=50,calls_per_reply=10" over what *budget
 * holds. */
int budget_parse(const char *text, struct budget *budget, struct err *e) MUST_CHECK;

/* The table that --prices names, owned by the caller; NULL for NULL. Errors as prices_load. */
int prices_open(const char *path, struct prices **out, struct err *e) MUST_CHECK;
/* NULL is fine. */
int temperature_check(const char *text, struct err *e) MUST_CHECK;

/* Checks that the text (NULL allowed) of an option or a variable is UTF-8, as logs and requests
 * must be. name: "--system", "MODEL". ERR_USAGE. */
int text_check(const char *name, const char *text, struct err *e) MUST_CHECK;
/* "http://HOST[:PORT]..." or https; n 0 is the provider's own. option: who says it, for the
 * error. ERR_USAGE. */
int base_url_check(const char *option, struct str url, struct err *e) MUST_CHECK;
/* --speed real|none into *real, which stays where the flag was not given. ERR_USAGE. */
int speed_parse(const char *speed, bool *real, struct err *e) MUST_CHECK;
int provider_check(const char *provider, struct err *e) MUST_CHECK;
/* The wire format of a provider's name; Chat Completions for NULL. */
enum wire_format provider_format(const char *provider);

/* The tools that --tools names: a file, or built-in names with commas; NULL: calculator,
 * search_docs, now. */
int tools_open(const char *value, struct toolset **out, struct err *e) MUST_CHECK;
#endif
