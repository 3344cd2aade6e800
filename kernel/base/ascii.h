/* What a byte is in ASCII, in every locale. */
#ifndef KERNEL_BASE_ASCII_H
#define KERNEL_BASE_ASCII_H

#include <stdbool.h>

static inline bool ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || ascii_upper(c);
}

static inline bool ascii_alnum(char c)
{
    return ascii_letter(c) || ascii_digit(c);
}

/* A capital letter as the small one, anything else as it is. */
static inline char ascii_lower(char c)
{
    return ascii_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* The value of a hexadecimal digit of either case, -1 for anything else. */
static inline int ascii_hex(char c)
{
    return ascii_digit(c)         ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}
#endif
