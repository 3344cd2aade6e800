/* How many tokens a text is, estimated without a vocabulary (K19). */
#ifndef KERNEL_BASE_TOKENS_H
#define KERNEL_BASE_TOKENS_H

#include "kernel/base/str.h"

/* An estimate of the tokens that o200k_base, the vocabulary of OpenAI's models since GPT-4o, makes
 * of s: within 15 % on prose in English, Chinese, Japanese, Korean and Russian, on JSON, code,
 * tables and logs of 200 characters or more (tests/tokens.txt has reference counts). Other European
 * languages and traditional Chinese come out up to a third too low. cl100k_base makes much the
 * same of Latin text, and about half more of Chinese. Any bytes may stand in s; one pass. 0 for the
 * empty text; never negative. */
int64_t text_tokens(struct str s);
#endif
