#include "kernel/base/text.h"
#include "kernel/base/yaml.h"

bool yaml_is_printable(uint32_t code)
{
    if (code < 0x20) {
        return code == '\t';
    }
    return code < 0x7f || (code >= 0xa0 && code != 0x2028 && code != 0x2029 && code != 0xfeff &&
                           code != 0xfffe && code != 0xffff);
}

void yaml_add_json(struct buf *out, struct str json)
{
    for (size_t at = 0; at < json.n;) {
        size_t from = at;
        uint32_t code = utf8_next(json, &at);
        if (code == '\n' || yaml_is_printable(code)) {
            buf_add(out, str_slice(json, from, at));
        } else {
            buf_fmt(out, "\\u%04x", (unsigned)code);
        }
    }
}
