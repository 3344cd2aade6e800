/* A small run whose effects in the world can be counted, for tests that break it off. */
#ifndef CLI_TESTS_WORLD_H
#define CLI_TESTS_WORLD_H

#include "evals/rig.h"

/* What the run's tools leave in its folder: ADDS lines in `counter`, one for each request to add,
 * however often it is made, and RUNS in `runs`, one for each call. */
enum { ADDS = 2, RUNS = 3 };

/* A folder with a finished run: what it did in the world is done. */
struct world {
    const char *dir, *script, *tools, *trace;
    const char *log; /* as the run left it, n bytes */
    size_t n;
    struct toolset *set;
};
extern struct world world;

void world_begin(void); /* a new folder, and the run */
void world_end(void);
const char *world_path(const char *name); /* of a file in the folder */
size_t world_lines(const char *name);     /* in it; 0 where it is not there */

/* Runs what the options say to its end, in this process. Returns the status; RUN_CANCELLED too
 * where it could not begin. */
enum run_status world_play(struct rig_options *o);

/* Whether the file is a whole log that follows from itself, to the end of a run. */
bool world_verifies(const char *trace, const struct toolset *tools);

/* Goes on with the log at `trace` in place. False where there is nothing to go on with: nobody has
 * spoken yet. */
bool world_go_on(const char *trace, const char *script, const struct toolset *tools);
#endif
