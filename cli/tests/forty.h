/* Sets of forty tasks with scripts, some of which call the wrong thing. */
#ifndef CLI_TESTS_FORTY_H
#define CLI_TESTS_FORTY_H

#include <stddef.h>

/* A set whose task tN fails where N is among `wrong` (0-terminated, 1 to 40); each trial costs
 * something. Tasks have the tags odd or even. Returns its path in a new folder. */
const char *forty_tasks(const int *wrong);

/* Its run by scripts, which ends with this status: the run directory. */
const char *forty_run(const int *wrong, int status);
#endif
