/* How many tokens a text is, estimated without a vocabulary. */
#ifndef KERNEL_BASE_TOKENS_H
#define KERNEL_BASE_TOKENS_H

#include "kernel/base/str.h"

/* An estimate of the tokens that o200k_base, the vocabulary of OpenAI's models since GPT-4o, makes
 * of s: mostly within 10 %, and seldom off by more than 15 %, on 200 characters or more of English,
 * Chinese, Japanese, Korean or Russian prose, JSON, code, tables and logs (tests/tokens.txt has
 * reference counts). Too low by up to a third for other European languages, by up to a quarter for
 * traditional Chinese. cl100k_base makes much the same of Latin text, and about half more of
 * Chinese. Any bytes may stand in s; one pass. 0 for the empty text; never negative. */
int64_t text_tokens(struct str s);
#endif
