/* The data of the Berkeley Function Calling Leaderboard (BFCL v4): its questions and answers, and
 * the results that models gave; files of JSON lines. */
#ifndef GOLDENS_BFCL_H
#define GOLDENS_BFCL_H

#include "kernel/base/err.h"
#include "kernel/base/val.h"

/* One question, with its answer where there is one. Views into the set. */
struct bfcl_case {
    struct str id;
    const struct val *question;  /* a list of turns, each a list of messages; NULL = none */
    const struct val *functions; /* a list of maps that have a name */
    const struct val *truth; /* the expected calls, each {function: {parameter: [accepted, …]}};
                                NULL = the set was loaded without answers */
    uint32_t line;           /* of the question, from 1 */
    uint32_t truth_line;
};

struct bfcl_set {
    struct arena *arena;
    const char *questions;   /* paths, for messages */
    const char *answers;     /* NULL = none */
    struct bfcl_case *cases; /* in the order of the questions */
    size_t n;
    struct bfcl_id_index *index;
};

/* Loads questions, and answers unless NULL: every question then has one. ERR_NOT_FOUND, ERR_IO,
 * ERR_LIMIT; ERR_INPUT with file:line:column: no JSON, not of BFCL's form, an id twice, an answer
 * without its question or the other way round. Owned by the caller. */
int bfcl_set_load(const char *questions, const char *answers, struct bfcl_set **out,
                  struct err *e) MUST_CHECK;
void bfcl_set_free(struct bfcl_set *s); /* NULL allowed */

/* The case of an id, or NULL. */
const struct bfcl_case *bfcl_set_find(const struct bfcl_set *s, struct str id);

/* What a model gave for one question. */
struct bfcl_result {
    struct str id;
    const struct val *result; /* BFCL's own: a text, or a list of {name: "arguments"} */
    const struct val *calls;  /* or a list of {name, arguments}; one of the two is NULL */
    uint32_t line;
};

/* A file of results, read line by line: the memory of one line is used again for the next. */
struct bfcl_results;
/* Errors as bfcl_set_load. Owned by the caller. */
int bfcl_results_open(const char *path, struct bfcl_results **out, struct err *e) MUST_CHECK;
void bfcl_results_free(struct bfcl_results *r); /* NULL allowed */
/* 1 and *out, valid until the next call; 0 = there are no more; ERR_INPUT with its place. */
int bfcl_results_next(struct bfcl_results *r, struct bfcl_result *out, struct err *e) MUST_CHECK;
/* The arena of the line that bfcl_results_next gave last, for what is made of it. */
struct arena *bfcl_results_arena(const struct bfcl_results *r);
void bfcl_results_rewind(struct bfcl_results *r);

/* Parses JSON as Python's json module does: NaN and Infinity are numbers too; they come as numbers
 * whose text is BFCL_NAN, 1e9999 and -1e9999. Otherwise as json_parse. */
#define BFCL_NAN "0e99999"
int bfcl_json(struct arena *arena, const char *file, struct str text, struct val **out,
              struct err *e) MUST_CHECK;
#endif
