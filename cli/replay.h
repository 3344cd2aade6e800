/* How cassettes are recorded and replayed, as flags. */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include "cli/options.h"
#include "evals/eval.h"

/* The flags; NULL and false = not given. `mode` is read by those who have it. */
struct replay_flags {
    const char *mode, *match, *speed, *rechunk, *max_age;
    bool strict;
    struct option_list ignore, normalise;
};
enum { REPLAY_OPTIONS = 7 };
/* Writes the options that fill *f, all but --mode, to out; returns how many they are. */
size_t replay_options(struct replay_flags *f, struct option *out);

/* What the flags come to where answers come from `source`. *rules: what out->rules points to, owned
 * by the caller in any case; NULL = none. ERR_USAGE. */
int replay_parse(const struct replay_flags *f, enum eval_source source, struct eval_cassettes *out,
                 struct rules **rules, struct err *e) MUST_CHECK;

/* What the flags come to for a server whose source is set; *rules as above. ERR_USAGE. */
struct serve_options;
int serve_cassettes(const struct replay_flags *f, struct serve_options *o, struct rules **rules,
                    struct err *e) MUST_CHECK;

/* "30d", "12h", "90m" in milliseconds, as --max-age has it. ERR_USAGE. */
int age_parse(const char *text, int64_t *ms, struct err *e) MUST_CHECK;

/* Their help. */
extern const char help_recordings[];
#endif
