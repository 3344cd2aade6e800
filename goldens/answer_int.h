/* An answer check as loaded, for those who test answers and those who doubt the check. */
#ifndef GOLDENS_ANSWER_INT_H
#define GOLDENS_ANSWER_INT_H

#include "goldens/golden_int.h"

enum { ANSWER_PATH_PARTS_MAX = 64, ANSWER_INDEX_DIGITS_MAX = 9 };

enum answer_kind {
    ANSWER_TEXT,
    ANSWER_NUMBER,
    ANSWER_JSON,
    ANSWER_SCHEMA,
    ANSWER_RUBRIC,
    ANSWER_ALL,
    ANSWER_ANY,
    ANSWER_NOT
};

struct golden_answer {
    enum answer_kind kind;
    const struct val *at;              /* where it is written */
    struct golden_answer *made_before; /* the chain of golden_loaded */
    struct text_cond *text;
    struct str value; /* ANSWER_NUMBER */
    struct str within;
    struct str path; /* ANSWER_JSON */
    struct arg_match *match;
    struct schema *schema;
    struct str rubric;
    struct golden_answer **parts; /* ANSWER_ALL, ANY, NOT */
    size_t n_parts;
};
#endif
