/* Commands that mend what a message tells of. */
#ifndef CLI_MEND_H
#define CLI_MEND_H

#include "cassettes/cassette.h"
#include "kernel/base/str.h"

/* Appends the command that records anew what this command line replays: the same words for a shell,
 * with --replay turned into --record and `--mode all`. */
void mend_command(struct buf *out, const char *verb, int argc, char **argv);
/* The same of an eval without --task, --model and --filter, for one of its trials. */
void mend_trial(struct buf *out, int argc, char **argv);
/* Appends the command that goes on with an eval whose run directory is dir. */
void resume_command(struct buf *out, int argc, char **argv, const char *dir);
/* Appends the command that records the program argv (NULL-terminated) into path. rules NULL = none.
 */
void mend_record(struct buf *out, const char *path, const char *mode, const struct rules *rules,
                 char **argv);
#endif
