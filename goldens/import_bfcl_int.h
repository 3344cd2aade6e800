/* Java and JavaScript among the questions of the Berkeley Function Calling Leaderboard: arguments
 * come as texts that are written in the language. */
#ifndef GOLDENS_IMPORT_BFCL_INT_H
#define GOLDENS_IMPORT_BFCL_INT_H

#include "kernel/base/val.h"

enum bfcl_code { BFCL_CODE_NONE, BFCL_CODE_JAVA, BFCL_CODE_JAVASCRIPT };

/* The language of a question, by its id. */
enum bfcl_code bfcl_code_of(struct str id);

/* Appends the parameters of a function as a JSON schema: each is a text, and its description tells
 * the type. parameters: a map. */
void bfcl_code_add_schema(enum bfcl_code code, const struct val *parameters, struct buf *out);

/* Appends one accepted value of a parameter of this documented type (n 0 = unknown) as the matchers
 * of the texts that mean it, with commas between them; returns how many there are. */
size_t bfcl_code_put_value(enum bfcl_code code, struct str type, const struct val *v,
                           struct buf *out);
#endif
