/* What a check tells about a file: one mistake or doubt, with its place. */
#ifndef KERNEL_BASE_FINDING_H
#define KERNEL_BASE_FINDING_H

#include "kernel/base/str.h"

/* An error keeps the file from being used as it is meant to be, a warning does not. */
enum finding_severity { FINDING_ERROR, FINDING_WARNING };

/* "error" or "warning". */
const char *finding_severity_name(enum finding_severity severity);

/* Views, valid while the finding is told. */
struct finding {
    const char *file;
    uint32_t line; /* from 1; 0 = unknown */
    uint32_t column;
    enum finding_severity severity;
    const char *code; /* a short word, "bad_chunks" */
    struct str message;
};
#endif
