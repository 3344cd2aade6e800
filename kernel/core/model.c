#include "kernel/core/model.h"

#define NAME_CASE2(id, text)                                                                       \
    case id: return text; #define NAME_CASE3(id, text, retry)                                      \
    case id: return text; #define RETRY_CASE(id, text, retry)                                      \
    case id: return retry;

const char *stop_name(enum stop_reason stop)
{
    switch (stop) {
        STOP_REASONS(NAME_CASE2)
    }
    return "end_turn";
}

bool stop_of_name(struct str name, enum stop_reason *out)
{
#define STOP_ITEM(id, text) id,
    static const enum stop_reason all[] = {STOP_REASONS(STOP_ITEM)};
#undef STOP_ITEM
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (str_is(name, stop_name(all[i]))) {
            *out = all[i];
            return true;
        }
    }
    return false;
}

const char *fail_name(enum fail_class c)
{
    switch (c) {
        FAIL_CLASSES(NAME_CASE3)
    }
    return "protocol";
}

bool fail_retryable(enum fail_class c)
{
    switch (c) {
        FAIL_CLASSES(RETRY_CASE)
    }
    return false;
}

const char *role_name(enum role r)
{
    switch (r) {
    case ROLE_SYSTEM: return "system";
    case ROLE_USER: return "user";
    case ROLE_ASSISTANT: return "assistant";
    case ROLE_TOOL: return "tool";
    }
    return "user";
}
