#include "kernel/http.h"

#define END_NAME(end, text) [end] = text,

static const char *const end_names[] = {HTTP_ENDS(END_NAME) NULL};

const char *http_end_name(enum http_end end)
{
    return end_names[end];
}

bool http_end_of_name(struct str name, enum http_end *out)
{
    int i = str_index(name, end_names);
    if (i >= 0) {
        *out = (enum http_end)i;
    }
    return i >= 0;
}

void http_pause(struct transport *t, struct http_call *call, bool paused)
{
    if (t->ops->pause != NULL) {
        t->ops->pause(t, call, paused);
    }
}

struct str http_header_get(const struct http_header *headers, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_is_nocase(headers[i].name, name)) {
            struct str value = headers[i].value;
            return value.p == NULL ? STR("") : value;
        }
    }
    return (struct str){NULL, 0};
}
