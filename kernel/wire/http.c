#include "kernel/http.h"

const char *http_end_name(enum http_end end)
{
#define HTTP_CASE(name, text)                                                                      \
    case name: return text;
    switch (end) {
        HTTP_ENDS(HTTP_CASE)
    }
#undef HTTP_CASE
    return "unknown";
}

bool http_end_of_name(struct str name, enum http_end *out)
{
#define HTTP_MATCH(end, text)                                                                      \
    if (str_is(name, text)) {                                                                      \
        *out = end;                                                                                \
        return true;                                                                               \
    }
    HTTP_ENDS(HTTP_MATCH)
#undef HTTP_MATCH
    return false;
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
