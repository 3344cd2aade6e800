/* How the loop behaves, as flags. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/options.h"

/* The flags of the loop's settings; NULL, false and -1 = not given. */
struct settings {
    const char *repeat, *compaction, *approve;
    bool fenced_calls, close_names;
    int64_t max_consecutive, no_progress, tool_retries, attempts, context_tokens;
};
#define SETTINGS_NONE                                                                              \
    ((struct settings){.max_consecutive = -1,                                                      \
                       .no_progress = -1,                                                          \
                       .tool_retries = -1,                                                         \
                       .attempts = -1,                                                             \
                       .context_tokens = -1})
extern const char help_loop[];

enum { SETTINGS_OPTIONS = 10 };
/* Writes the SETTINGS_OPTIONS options that fill *s to out. */
void settings_options(struct settings *s, struct option *out);

/* Sets in *config what the flags say. A tier's policy that no flag names is `ask` for danger, where
 * `tools` (NULL: never) has such a tool, and `allow` for the others. ERR_USAGE. */
int settings_apply(const struct settings *s, const struct toolset *tools,
                   struct kernel_config *config, struct err *e) MUST_CHECK;
#endif
