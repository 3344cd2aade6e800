/* Python's expressions as trees: read by our own parser (the grammar of Python 3.11,
 * https://docs.python.org/3.11/reference/grammar.html), never run. */
#ifndef EVALS_BFCL_PYTHON_INT_H
#define EVALS_BFCL_PYTHON_INT_H

#include "evals/bfcl/bfcl_int.h"

/* ---- python_tokens.c ---- */

enum py_token_kind { PY_END, PY_NEWLINE, PY_WORD, PY_NUMBER, PY_STRING, PY_SIGN, PY_BAD };

struct py_token {
    enum py_token_kind kind;
    struct str text;
};

struct py_tokens {
    struct bfcl_work *work;
    struct str text;
    size_t at;
    unsigned depth; /* brackets open */
    char open[BFCL_BRACKETS_MAX];
};

struct py_token py_next(struct py_tokens *t);

/* ---- python_literal.c ---- */

/* The value of a number; false where it is none. */
bool py_number(struct bfcl_work *w, struct str text, struct bfcl_value *out);

enum py_prefix { PY_PLAIN, PY_BYTES, PY_FORMAT };

/* Whether a string in its quotes stands for just what is between them: it has no prefix, no escape,
 * and is of one line. */
bool py_is_verbatim(struct str text);

/* A string with its prefix and quotes: appends its characters to out. false for a bad escape. */
bool py_string(struct str text, struct buf *out, enum py_prefix *prefix);

/* Appends repr() of a string's (PY_PLAIN) or bytes' characters. */
void py_repr_string(struct bfcl_work *w, struct buf *out, struct str s, enum py_prefix prefix);

/* ---- python_parse.c ---- */

enum py_kind {
    PY_CONSTANT,
    PY_ELLIPSIS,
    PY_FORMATTED, /* an f-string; text is its source */
    PY_NAME,
    PY_ATTRIBUTE, /* left.text */
    PY_SUBSCRIPT, /* left[right] */
    PY_SLICE,     /* left:right:third, each may be NULL */
    PY_CALL,      /* left(children): keywords have a name, "**" unpacks */
    PY_UNARY,     /* text left */
    PY_BINARY,    /* left text right */
    PY_BOOLEAN,   /* children joined by text */
    PY_COMPARE,   /* left, then children: name is the operator */
    PY_CHOICE,    /* left if right else third */
    PY_LAMBDA,    /* children: name with its stars, node is the default; left is the body */
    PY_LIST,
    PY_TUPLE,
    PY_SET,
    PY_DICT,          /* children: key, node; key NULL unpacks */
    PY_COMPREHENSION, /* text is "[", "{" or "("; left, and right where it makes a dict; children:
                         "for" or "async for" with key in node, "if" with node */
    PY_STARRED,       /* *left */
    PY_NAMED,         /* text := left */
    PY_AWAIT,
    PY_YIELD /* text is "yield" or "yield from"; left may be NULL */
};

struct py_node;

struct py_child {
    struct str name;
    struct py_node *key;
    struct py_node *node;
};

struct py_node {
    enum py_kind kind;
    bool unicode; /* PY_CONSTANT: a string with the prefix u */
    bool grouped; /* in parentheses of its own */
    uint32_t depth;
    struct str text;
    struct bfcl_value value; /* PY_CONSTANT */
    struct py_node *left;
    struct py_node *right;
    struct py_node *third;
    struct py_child *children;
    size_t n;
};

/* The expression that the text is, in the arena; NULL where it is none, or nested too deep. */
struct py_node *py_parse(struct bfcl_work *w, struct str text);

/* ---- python_print.c ---- */

/* Appends the expression as ast.unparse of Python 3.11 writes it. */
void py_print(struct bfcl_work *w, struct buf *out, const struct py_node *n);

/* ---- python_arith.c ---- */

/* Arithmetic on constants. false: anything else is in it, or Python would raise an exception. */
bool py_compute(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out);

/* The value of a list or tuple, each item's by `value`; false when one has none. */
typedef bool py_value_fn(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out);
bool py_items(struct bfcl_work *w, const struct py_node *n, py_value_fn *value,
              struct bfcl_value *out);
bool py_negate(struct bfcl_work *w, const struct bfcl_value *v, struct bfcl_value *out);
#endif
