#include "kernel/base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { NO_DIGIT = 64, SPACE = 65, PADDING = 66, PIECE_BYTES = 3 * 256 };

/* What each character is: its digit, or one of the above. */
static unsigned char kind_of(unsigned char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (unsigned char)(c - 'A');
    }
    if (c >= 'a' && c <= 'z') {
        return (unsigned char)(c - 'a' + 26);
    }
    if (c >= '0' && c <= '9') {
        return (unsigned char)(c - '0' + 52);
    }
    switch (c) {
    case '+': return 62;
    case '/': return 63;
    case '=': return PADDING;
    case ' ':
    case '\n':
    case '\r':
    case '\t': return SPACE;
    default: return NO_DIGIT;
    }
}

/* A piece of the output, so that its buffer is not asked for each byte. */
struct piece {
    char bytes[PIECE_BYTES];
    size_t n;
};

static void add_three(struct piece *piece, uint32_t bits, size_t n, struct buf *out)
{
    if (piece->n + 3 > PIECE_BYTES) {
        buf_add(out, (struct str){piece->bytes, piece->n});
        piece->n = 0;
    }
    piece->bytes[piece->n] = (char)(bits >> 16 & 0xff);
    piece->bytes[piece->n + 1] = (char)(bits >> 8 & 0xff);
    piece->bytes[piece->n + 2] = (char)(bits & 0xff);
    piece->n += n;
}

bool base64_decode(struct str text, struct buf *out)
{
    unsigned char kinds[256];
    struct piece piece = {.n = 0};
    uint32_t bits = 0;
    unsigned digits = 0;
    unsigned padding = 0;
    for (unsigned c = 0; c < 256; c++) {
        kinds[c] = kind_of((unsigned char)c);
    }
    for (size_t i = 0; i < text.n; i++) {
        unsigned char kind = kinds[(unsigned char)text.p[i]];
        if (kind == SPACE) {
            continue;
        }
        if (kind == NO_DIGIT || (padding > 0 && kind != PADDING)) {
            return false;
        }
        padding += kind == PADDING;
        bits = bits << 6 | (kind == PADDING ? 0 : kind);
        if (++digits % 4 == 0) {
            if (padding > 2) {
                return false;
            }
            add_three(&piece, bits, 3 - padding, out);
        }
    }
    buf_add(out, (struct str){piece.bytes, piece.n});
    return digits % 4 == 0;
}

void base64_add(struct buf *out, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t have = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8 | (k < have ? (unsigned char)bytes.p[i + k] : 0);
        }
        for (size_t k = 0; k < 4; k++) {
            buf_char(out, k <= have ? alphabet[bits >> (18 - 6 * k) & 63] : '=');
        }
    }
}
