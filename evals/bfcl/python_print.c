/* Expressions written as Python's ast.unparse writes them (Lib/ast.py of Python 3.11): one space
 * around operators, parentheses only where they are needed. */
#include <math.h>

#include "evals/bfcl/python_int.h"

/* How tightly an expression is bound; its parentheses are needed where more is asked for. */
enum bond {
    BOND_NAMED,
    BOND_TUPLE,
    BOND_YIELD,
    BOND_TEST,
    BOND_OR,
    BOND_AND,
    BOND_NOT,
    BOND_COMPARE,
    BOND_BIT_OR,
    BOND_BIT_XOR,
    BOND_BIT_AND,
    BOND_SHIFT,
    BOND_SUM,
    BOND_TERM,
    BOND_FACTOR,
    BOND_POWER,
    BOND_AWAIT,
    BOND_ATOM
};

struct printer {
    struct bfcl_work *work;
    struct buf *out;
};

static void put(const struct printer *p, const struct py_node *n, enum bond bond);

static void word(const struct printer *p, const char *text)
{
    buf_addz(p->out, text);
}

static void open_if(const struct printer *p, bool needed)
{
    word(p, needed ? "(" : "");
}

static void close_if(const struct printer *p, bool needed)
{
    word(p, needed ? ")" : "");
}

/* Children with commas; one alone gets a comma too where it makes a tuple. */
static void put_items(const struct printer *p, const struct py_node *n, bool tuple)
{
    for (size_t i = 0; i < n->n; i++) {
        word(p, i > 0 ? ", " : "");
        put(p, n->children[i].node, BOND_TEST);
    }
    word(p, tuple && n->n == 1 ? "," : "");
}

static void put_constant(const struct printer *p, const struct py_node *n)
{
    const struct bfcl_value *v = &n->value;
    if (v->type == BFCL_FLOAT && isinf(v->real)) {
        word(p, "1e309");
        return;
    }
    if (v->type == BFCL_OTHER && str_starts(v->text, "inf")) {
        word(p, "1e309j");
        return;
    }
    word(p, n->unicode ? "u" : "");
    bfcl_repr(p->work, p->out, v);
}

static void put_call(const struct printer *p, const struct py_node *n)
{
    bool comma = false;
    put(p, n->left, BOND_ATOM);
    word(p, "(");
    for (int keywords = 0; keywords < 2; keywords++) {
        for (size_t i = 0; i < n->n; i++) {
            const struct py_child *c = &n->children[i];
            if ((c->name.n > 0) != (keywords == 1)) {
                continue;
            }
            word(p, comma ? ", " : "");
            comma = true;
            buf_add(p->out, c->name);
            word(p, c->name.n > 0 && !str_is(c->name, "**") ? "=" : "");
            put(p, c->node, BOND_TEST);
        }
    }
    word(p, ")");
}

static void put_subscript(const struct printer *p, const struct py_node *n)
{
    put(p, n->left, BOND_ATOM);
    word(p, "[");
    if (n->right->kind == PY_TUPLE && n->right->n > 0) {
        put_items(p, n->right, true);
    } else {
        put(p, n->right, BOND_TEST);
    }
    word(p, "]");
}

static void put_slice(const struct printer *p, const struct py_node *n)
{
    if (n->left != NULL) {
        put(p, n->left, BOND_TEST);
    }
    word(p, ":");
    if (n->right != NULL) {
        put(p, n->right, BOND_TEST);
    }
    if (n->third != NULL) {
        word(p, ":");
        put(p, n->third, BOND_TEST);
    }
}

static enum bond bond_of_sign(struct str sign)
{
    switch (sign.p[0]) {
    case '|': return BOND_BIT_OR;
    case '^': return BOND_BIT_XOR;
    case '&': return BOND_BIT_AND;
    case '<':
    case '>': return BOND_SHIFT;
    case '+':
    case '-': return BOND_SUM;
    default: return str_is(sign, "**") ? BOND_POWER : BOND_TERM;
    }
}

static void put_binary(const struct printer *p, const struct py_node *n, enum bond bond)
{
    enum bond own = bond_of_sign(n->text);
    bool to_right = own == BOND_POWER;
    open_if(p, bond > own);
    put(p, n->left, to_right ? own + 1 : own);
    word(p, " ");
    buf_add(p->out, n->text);
    word(p, " ");
    put(p, n->right, to_right ? own : own + 1);
    close_if(p, bond > own);
}

static void put_unary(const struct printer *p, const struct py_node *n, enum bond bond)
{
    bool words = str_is(n->text, "not");
    enum bond own = words ? BOND_NOT : BOND_FACTOR;
    open_if(p, bond > own);
    buf_add(p->out, n->text);
    word(p, words ? " " : "");
    put(p, n->left, own);
    close_if(p, bond > own);
}

/* Each further part is bound more tightly: what ast.unparse does. */
static void put_boolean(const struct printer *p, const struct py_node *n, enum bond bond)
{
    enum bond own = str_is(n->text, "and") ? BOND_AND : BOND_OR;
    enum bond part = own;
    open_if(p, bond > own);
    for (size_t i = 0; i < n->n; i++) {
        part = part < BOND_ATOM ? part + 1 : part;
        if (i > 0) {
            word(p, own == BOND_AND ? " and " : " or ");
        }
        put(p, n->children[i].node, part);
    }
    close_if(p, bond > own);
}

static void put_compare(const struct printer *p, const struct py_node *n, enum bond bond)
{
    open_if(p, bond > BOND_COMPARE);
    put(p, n->left, BOND_COMPARE + 1);
    for (size_t i = 0; i < n->n; i++) {
        word(p, " ");
        buf_add(p->out, n->children[i].name);
        word(p, " ");
        put(p, n->children[i].node, BOND_COMPARE + 1);
    }
    close_if(p, bond > BOND_COMPARE);
}

static void put_choice(const struct printer *p, const struct py_node *n, enum bond bond)
{
    open_if(p, bond > BOND_TEST);
    put(p, n->left, BOND_TEST + 1);
    word(p, " if ");
    put(p, n->right, BOND_TEST + 1);
    word(p, " else ");
    put(p, n->third, BOND_TEST);
    close_if(p, bond > BOND_TEST);
}

static void put_lambda(const struct printer *p, const struct py_node *n, enum bond bond)
{
    open_if(p, bond > BOND_TEST);
    word(p, n->n > 0 ? "lambda " : "lambda");
    for (size_t i = 0; i < n->n; i++) {
        word(p, i > 0 ? ", " : "");
        buf_add(p->out, n->children[i].name);
        if (n->children[i].node != NULL) {
            word(p, "=");
            put(p, n->children[i].node, BOND_TEST);
        }
    }
    word(p, ": ");
    put(p, n->left, BOND_TEST);
    close_if(p, bond > BOND_TEST);
}

static void put_dict(const struct printer *p, const struct py_node *n)
{
    word(p, "{");
    for (size_t i = 0; i < n->n; i++) {
        const struct py_child *c = &n->children[i];
        word(p, i > 0 ? ", " : "");
        if (c->key == NULL) {
            word(p, "**");
            put(p, c->node, BOND_BIT_OR);
        } else {
            put(p, c->key, BOND_TEST);
            word(p, ": ");
            put(p, c->node, BOND_TEST);
        }
    }
    word(p, "}");
}

static void put_comprehension(const struct printer *p, const struct py_node *n)
{
    char open = n->text.p[0];
    buf_char(p->out, open);
    put(p, n->left, BOND_TEST);
    if (n->right != NULL) {
        word(p, ": ");
        put(p, n->right, BOND_TEST);
    }
    for (size_t i = 0; i < n->n; i++) {
        const struct py_child *c = &n->children[i];
        word(p, " ");
        buf_add(p->out, c->name);
        word(p, " ");
        if (c->key != NULL) {
            put(p, c->key, BOND_TUPLE);
            word(p, " in ");
        }
        put(p, c->node, BOND_TEST + 1);
    }
    word(p, open == '[' ? "]" : open == '{' ? "}" : ")");
}

/* What is written before its one part, and how tightly that is bound. */
static void put_prefixed(const struct printer *p, const struct py_node *n, enum bond bond,
                         enum bond own, enum bond part)
{
    bool named = n->kind == PY_NAMED;
    open_if(p, bond > own);
    buf_add(p->out, n->kind == PY_AWAIT ? STR("await") : n->text);
    word(p, named ? " := " : n->left != NULL && n->kind != PY_STARRED ? " " : "");
    if (n->left != NULL) {
        put(p, n->left, part);
    }
    close_if(p, bond > own);
}

static void put_attribute(const struct printer *p, const struct py_node *n)
{
    const struct py_node *of = n->left;
    put(p, of, BOND_ATOM);
    bool whole =
        of->kind == PY_CONSTANT && (of->value.type == BFCL_INT || of->value.type == BFCL_BOOL);
    word(p, whole ? " ." : ".");
    buf_add(p->out, n->text);
}

static void put(const struct printer *p, const struct py_node *n, enum bond bond)
{
    bool bare;
    switch (n->kind) {
    case PY_CONSTANT: put_constant(p, n); return;
    case PY_ELLIPSIS: word(p, "..."); return;
    case PY_FORMATTED:
    case PY_NAME: buf_add(p->out, n->text); return;
    case PY_ATTRIBUTE: put_attribute(p, n); return;
    case PY_SUBSCRIPT: put_subscript(p, n); return;
    case PY_SLICE: put_slice(p, n); return;
    case PY_CALL: put_call(p, n); return;
    case PY_UNARY: put_unary(p, n, bond); return;
    case PY_BINARY: put_binary(p, n, bond); return;
    case PY_BOOLEAN: put_boolean(p, n, bond); return;
    case PY_COMPARE: put_compare(p, n, bond); return;
    case PY_CHOICE: put_choice(p, n, bond); return;
    case PY_LAMBDA: put_lambda(p, n, bond); return;
    case PY_LIST:
        word(p, "[");
        put_items(p, n, false);
        word(p, "]");
        return;
    case PY_TUPLE:
        bare = n->n > 0 && bond <= BOND_TUPLE;
        open_if(p, !bare);
        put_items(p, n, true);
        close_if(p, !bare);
        return;
    case PY_SET:
        word(p, "{");
        put_items(p, n, false);
        word(p, "}");
        return;
    case PY_DICT: put_dict(p, n); return;
    case PY_COMPREHENSION: put_comprehension(p, n); return;
    case PY_STARRED: put_prefixed(p, n, BOND_NAMED, BOND_ATOM, BOND_BIT_OR); return;
    case PY_NAMED: put_prefixed(p, n, bond, BOND_NAMED, BOND_ATOM); return;
    case PY_AWAIT: put_prefixed(p, n, bond, BOND_AWAIT, BOND_ATOM); return;
    case PY_YIELD: put_prefixed(p, n, bond, BOND_YIELD, BOND_ATOM); return;
    }
}

void py_print(struct bfcl_work *w, struct buf *out, const struct py_node *n)
{
    const struct printer p = {w, out};
    put(&p, n, BOND_TEST);
}
