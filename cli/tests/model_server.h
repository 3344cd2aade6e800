/* `assay serve` beside a test. */
#ifndef CLI_TESTS_MODEL_SERVER_H
#define CLI_TESTS_MODEL_SERVER_H

#include "cli/tests/program.h"

struct server {
    struct program_running running;
    const char *url;     /* as it printed it */
    const char *more[2]; /* OPENAI_BASE_URL at it, for program_options.more */
};

/* Starts it with these words (NULL-terminated, the first is serve) and waits for its first line. */
void server_start(struct server *s, const char *const *words);
#define SERVE(s, ...) server_start((s), (const char *const[]){"serve", __VA_ARGS__, NULL})

/* Ends it by a signal. */
const struct ran *server_end(struct server *s);
#endif
