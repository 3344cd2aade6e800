#include "evals/exit.h"
#include "evals/judge.h"

int exit_of_code(int code)
{
    switch ((enum err_code)code) {
    case ERR_USAGE:
    case ERR_INPUT:
    case ERR_NOT_FOUND:
    case ERR_LIMIT:
    case ERR_EXISTS:
    case ERR_UNSUPPORTED: return EXIT_USAGE;
    case ERR_MISS: return EXIT_MISS;
    case ERR_IO:
    case ERR_NET:
    case ERR_STATE: return EXIT_ENVIRONMENT;
    }
    return EXIT_USAGE;
}

int exit_of_status(enum run_status s)
{
    switch (eval_outcome_of_status(s)) {
    case EVAL_PASS: return EXIT_OK;
    case EVAL_FAIL: return EXIT_FAILED;
    case EVAL_ERROR: return s == RUN_CASSETTE_MISS ? EXIT_MISS : EXIT_ENVIRONMENT;
    case EVAL_NONE: return EXIT_INTERRUPTED;
    }
    return EXIT_FAILED;
}

static int gravity(int status)
{
    static const int order[] = {EXIT_OK,   EXIT_FAILED, EXIT_ENVIRONMENT,
                                EXIT_MISS, EXIT_USAGE,  EXIT_INTERRUPTED};
    for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++) {
        if (order[i] == status) {
            return i;
        }
    }
    return 0;
}

int exit_worse(int a, int b)
{
    return gravity(a) >= gravity(b) ? a : b;
}
