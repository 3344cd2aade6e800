/* How many tokens a text is, estimated without a vocabulary (K19). */
#ifndef KERNEL_BASE_TOKENS_H
#define KERNEL_BASE_TOKENS_H

#include "kernel/base/str.h"

/* An estimate of the tokens that current models' byte-pair encodings make of s, within 15 % on
 * English, Chinese, JSON and code of some length (tests/tokens_test.c has the reference counts). 0
 * for the empty text; never negative. */
int64_t text_tokens(struct str s);
#endif
