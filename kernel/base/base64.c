#include "kernel/base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct str text, struct buf *out)
{
    uint32_t bits = 0;
    unsigned digits = 0;
    unsigned padding = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            continue;
        }
        int digit = c == '=' ? 0 : digit_of(c);
        if (digit < 0 || (padding > 0 && c != '=')) {
            return false;
        }
        padding += c == '=';
        bits = bits << 6 | (uint32_t)digit;
        if (++digits % 4 == 0) {
            if (padding > 2) {
                return false;
            }
            for (unsigned k = 0; k < 3 - padding; k++) {
                buf_char(out, (char)(bits >> (16 - 8 * k) & 0xff));
            }
        }
    }
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
