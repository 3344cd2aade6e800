#include "kernel/base/tokens.h"

#include "kernel/base/text.h"

int64_t text_tokens(struct str s)
{
    int64_t quarters = 0; /* of a token */
    for (size_t at = 0; at < s.n;) {
        uint32_t c = utf8_next(s, &at);
        quarters += c < 0x80 ? 1 : c >= 0x2e80 ? 3 : 2;
    }
    return (quarters + 3) / 4;
}
