#include "kernel/base/finding.h"

const char *finding_severity_name(enum finding_severity severity)
{
    switch (severity) {
    case FINDING_ERROR: return "error";
    case FINDING_WARNING: return "warning";
    }
    return "";
}
