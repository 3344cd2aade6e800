/* Arithmetic on constants, as Python does it: whole numbers of any size, doubles, and what + * and
 * % do with strings and lists. */
#include <math.h>
#include <string.h>

#include "evals/bfcl/python_int.h"
#include "kernel/base/dec.h"

enum { REPEAT_BYTES_MAX = 1 << 20, REPEAT_ITEMS_MAX = 1 << 16, POWER_MAX = 4096 };

static bool is_whole(const struct bfcl_value *v)
{
    return v->type == BFCL_INT || v->type == BFCL_BOOL;
}

static struct str whole_text(const struct bfcl_value *v)
{
    return v->type == BFCL_INT ? v->text : v->boolean ? STR("1") : STR("0");
}

/* A number as a double; false where it is too large for one. */
static bool real_of(const struct bfcl_value *v, double *out)
{
    *out = v->type == BFCL_FLOAT ? v->real : bfcl_double(whole_text(v));
    return v->type == BFCL_FLOAT || isfinite(*out);
}

static struct bfcl_value real_value(double d)
{
    return (struct bfcl_value){.type = BFCL_FLOAT, .real = d};
}

static bool whole_int64(const struct bfcl_value *v, int64_t *out)
{
    const struct val number = {.kind = VAL_NUMBER, .text = whole_text(v)};
    return val_int(&number, out);
}

/* Digits of a decimal that is whole, without an exponent. */
static struct bfcl_value whole_value(struct bfcl_work *w, const struct dec *d)
{
    struct buf out = {0};
    buf_addz(&out, d->negative && d->n > 0 ? "-" : "");
    for (uint32_t i = 0; i < d->n; i++) {
        buf_char(&out, (char)('0' + d->digits[i]));
    }
    for (int32_t i = 0; d->n > 0 && i < d->exp; i++) {
        buf_char(&out, '0');
    }
    buf_addz(&out, d->n == 0 ? "0" : "");
    struct bfcl_value v = {.type = BFCL_INT, .text = arena_str(w->arena, buf_str(&out))};
    buf_free(&out);
    return v;
}

static int exact(char sign, const struct dec *a, const struct dec *b, struct dec *out)
{
    return sign == '+' ? dec_add(a, b, out) : sign == '-' ? dec_sub(a, b, out) : dec_mul(a, b, out);
}

/* + - * of whole numbers of any size. */
static bool whole_exact(struct bfcl_work *w, char sign, const struct bfcl_value *a,
                        const struct bfcl_value *b, struct bfcl_value *out)
{
    struct dec x, y;
    if (dec_parse(whole_text(a), &x) != 0 || dec_parse(whole_text(b), &y) != 0 ||
        exact(sign, &x, &y, &x) != 0 || x.exp > DEC_DIGITS_MAX) {
        return false;
    }
    *out = whole_value(w, &x);
    return true;
}

static bool whole_power(struct bfcl_work *w, const struct bfcl_value *a, int64_t exponent,
                        struct bfcl_value *out)
{
    struct dec base, x;
    if (exponent > POWER_MAX || dec_parse(whole_text(a), &base) != 0 ||
        dec_parse(STR("1"), &x) != 0) {
        return false;
    }
    for (int64_t i = 0; i < exponent; i++) {
        if (dec_mul(&x, &base, &x) != 0 || x.exp > DEC_DIGITS_MAX) {
            return false;
        }
    }
    *out = whole_value(w, &x);
    return true;
}

/* // and % round down. */
static bool whole_divide(struct bfcl_work *w, bool quotient, int64_t a, int64_t b,
                         struct bfcl_value *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return false;
    }
    int64_t rest = a % b;
    int64_t whole = a / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        whole--;
    }
    *out = bfcl_int(w->arena, quotient ? whole : rest);
    return true;
}

static bool whole_bits(struct bfcl_work *w, struct str sign, int64_t a, int64_t b,
                       struct bfcl_value *out)
{
    if (str_is(sign, "<<") || str_is(sign, ">>")) {
        bool left = sign.p[0] == '<';
        if (b < 0 || (left && (b > 61 || a > (INT64_MAX >> b) || a < -(INT64_MAX >> b)))) {
            return false;
        }
        int64_t shifted = left ? a * (INT64_C(1) << b) : b > 62 ? (a < 0 ? -1 : 0) : a >> b;
        *out = bfcl_int(w->arena, shifted);
        return true;
    }
    *out = bfcl_int(w->arena, sign.p[0] == '|' ? (a | b) : sign.p[0] == '&' ? (a & b) : (a ^ b));
    return true;
}

/* Two whole numbers, unless the result is a float. */
static bool wholes(struct bfcl_work *w, struct str sign, const struct bfcl_value *a,
                   const struct bfcl_value *b, struct bfcl_value *out)
{
    int64_t x, y;
    if (sign.n == 1 && (sign.p[0] == '+' || sign.p[0] == '-' || sign.p[0] == '*')) {
        return whole_exact(w, sign.p[0], a, b, out);
    }
    if (!whole_int64(b, &y)) {
        return false;
    }
    if (str_is(sign, "**")) {
        return whole_power(w, a, y, out);
    }
    if (!whole_int64(a, &x)) {
        return false;
    }
    if (str_is(sign, "//") || str_is(sign, "%")) {
        return whole_divide(w, sign.n == 2, x, y, out);
    }
    if (str_is(sign, "|") || str_is(sign, "^") || str_is(sign, "&") || str_is(sign, "<<") ||
        str_is(sign, ">>")) {
        return whole_bits(w, sign, x, y, out) &&
               (a->type != BFCL_BOOL || b->type != BFCL_BOOL || sign.n == 2);
    }
    return false;
}

/* // and % of doubles, as CPython's float_divmod. */
static double real_divide(double a, double b, bool quotient)
{
    double rest = fmod(a, b);
    double whole = (a - rest) / b;
    if (rest != 0.0 && (b < 0.0) != (rest < 0.0)) {
        rest += b;
        whole -= 1.0;
    } else if (rest == 0.0) {
        rest = copysign(0.0, b);
    }
    double down = whole == 0.0 ? copysign(0.0, a / b) : floor(whole);
    return !quotient ? rest : whole != 0.0 && whole - down > 0.5 ? down + 1.0 : down;
}

static bool real_power(double a, double b, struct bfcl_value *out)
{
    double d = pow(a, b);
    bool complex = a < 0.0 && floor(b) != b;
    if ((a == 0.0 && b < 0.0) || complex || (isinf(d) && isfinite(a) && isfinite(b))) {
        return false;
    }
    *out = real_value(d);
    return true;
}

static bool reals(struct str sign, const struct bfcl_value *a, const struct bfcl_value *b,
                  struct bfcl_value *out)
{
    double x, y;
    if (!real_of(a, &x) || !real_of(b, &y)) {
        return false;
    }
    if (str_is(sign, "**")) {
        return real_power(x, y, out);
    }
    bool divides = str_is(sign, "/") || str_is(sign, "//") || str_is(sign, "%");
    if (divides && y == 0.0) {
        return false;
    }
    if (str_is(sign, "/")) {
        *out = real_value(x / y);
    } else if (divides) {
        *out = real_value(real_divide(x, y, sign.n == 2));
    } else if (str_is(sign, "+") || str_is(sign, "-") || str_is(sign, "*")) {
        char c = sign.p[0];
        *out = real_value(c == '+' ? x + y : c == '-' ? x - y : x * y);
    } else {
        return false;
    }
    return true;
}

static bool is_number(const struct bfcl_value *v)
{
    return is_whole(v) || v->type == BFCL_FLOAT;
}

static bool numbers(struct bfcl_work *w, struct str sign, const struct bfcl_value *a,
                    const struct bfcl_value *b, struct bfcl_value *out)
{
    bool inverse = str_is(sign, "**") && is_whole(b) && whole_text(b).p[0] == '-';
    if (is_whole(a) && is_whole(b) && !str_is(sign, "/") && !inverse) {
        return wholes(w, sign, a, b, out);
    }
    return reals(sign, a, b, out);
}

/* ---- strings and lists ---- */

/* "%s" and "%d" with their one or several values; nothing else is done. */
static bool format(struct bfcl_work *w, struct str s, const struct bfcl_value *values,
                   struct bfcl_value *out)
{
    const struct bfcl_value *at = values->type == BFCL_TUPLE ? values->items : values;
    size_t left = values->type == BFCL_TUPLE ? values->n : 1;
    struct buf text = {0};
    bool good = true;
    for (size_t i = 0; good && i < s.n; i++) {
        char c = s.p[i];
        char kind = c == '%' && i + 1 < s.n ? s.p[i + 1] : '\0';
        i += c == '%' ? 1 : 0;
        if (c != '%' || kind == '%') {
            buf_char(&text, c);
        } else if (left > 0 && kind == 's' && at->type == BFCL_STR) {
            buf_add(&text, at->text);
            at++;
            left--;
        } else if (left > 0 && (kind == 's' || kind == 'r' || (kind == 'd' && is_whole(at)))) {
            if (kind == 'd') {
                buf_add(&text, whole_text(at));
            } else {
                bfcl_repr(w, &text, at);
            }
            at++;
            left--;
        } else {
            good = false;
        }
    }
    *out = bfcl_str(arena_str(w->arena, buf_str(&text)));
    buf_free(&text);
    return good && left == 0;
}

static bool repeat(struct bfcl_work *w, const struct bfcl_value *v, const struct bfcl_value *times,
                   struct bfcl_value *out)
{
    int64_t n;
    if (!whole_int64(times, &n)) {
        return false;
    }
    n = n < 0 ? 0 : n;
    *out = *v;
    if (v->type == BFCL_STR) {
        if (v->text.n > 0 && n > (int64_t)(REPEAT_BYTES_MAX / v->text.n)) {
            return false;
        }
        char *p = arena_alloc(w->arena, v->text.n * (size_t)n);
        for (int64_t i = 0; v->text.n > 0 && i < n; i++) {
            memcpy(p + (size_t)i * v->text.n, v->text.p, v->text.n);
        }
        out->text = (struct str){p, v->text.n * (size_t)n};
        return true;
    }
    if (v->n > 0 && n > (int64_t)(REPEAT_ITEMS_MAX / v->n)) {
        return false;
    }
    out->n = v->n == 0 ? 0 : v->n * (size_t)n;
    out->items = arena_array(w->arena, out->n, sizeof *out->items);
    for (size_t i = 0; i < out->n; i++) {
        out->items[i] = v->items[i % v->n];
    }
    return true;
}

static bool is_sequence(const struct bfcl_value *v)
{
    return v->type == BFCL_STR || v->type == BFCL_LIST || v->type == BFCL_TUPLE;
}

static bool concatenate(struct bfcl_work *w, const struct bfcl_value *a, const struct bfcl_value *b,
                        struct bfcl_value *out)
{
    *out = *a;
    if (a->type == BFCL_STR) {
        char *p = arena_alloc(w->arena, a->text.n + b->text.n);
        memcpy(p, a->text.n == 0 ? p : a->text.p, a->text.n);
        memcpy(p + a->text.n, b->text.n == 0 ? p : b->text.p, b->text.n);
        out->text = (struct str){p, a->text.n + b->text.n};
        return out->text.n <= REPEAT_BYTES_MAX;
    }
    out->n = a->n + b->n;
    out->items = arena_array(w->arena, out->n, sizeof *out->items);
    for (size_t i = 0; i < out->n; i++) {
        out->items[i] = i < a->n ? a->items[i] : b->items[i - a->n];
    }
    return out->n <= REPEAT_ITEMS_MAX;
}

static bool compute_binary(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out)
{
    struct bfcl_value a, b;
    if (!py_compute(w, n->left, &a) || !py_compute(w, n->right, &b)) {
        return false;
    }
    if (is_number(&a) && is_number(&b)) {
        return numbers(w, n->text, &a, &b, out);
    }
    if (str_is(n->text, "%") && a.type == BFCL_STR) {
        return format(w, a.text, &b, out);
    }
    if (str_is(n->text, "+") && is_sequence(&a) && a.type == b.type) {
        return concatenate(w, &a, &b, out);
    }
    if (str_is(n->text, "*") && is_sequence(&a) && is_whole(&b)) {
        return repeat(w, &a, &b, out);
    }
    if (str_is(n->text, "*") && is_whole(&a) && is_sequence(&b)) {
        return repeat(w, &b, &a, out);
    }
    return false;
}

bool py_negate(struct bfcl_work *w, const struct bfcl_value *v, struct bfcl_value *out)
{
    if (v->type == BFCL_FLOAT) {
        *out = real_value(-v->real);
        return true;
    }
    if (v->type == BFCL_OTHER && !str_starts(v->text, "b")) { /* an imaginary number */
        *out = *v;
        out->text = arena_printf(w->arena, "(-0-%.*s)", STR_FMT(v->text));
        return true;
    }
    if (!is_whole(v)) {
        return false;
    }
    struct str text = whole_text(v);
    bool negative = text.p[0] == '-';
    *out = (struct bfcl_value){.type = BFCL_INT};
    out->text = negative            ? str_slice(text, 1, text.n)
                : str_is(text, "0") ? text
                                    : arena_printf(w->arena, "-%.*s", STR_FMT(text));
    return true;
}

static bool compute_unary(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out)
{
    struct bfcl_value v;
    int64_t whole;
    if (!py_compute(w, n->left, &v) || !is_number(&v)) {
        return false;
    }
    switch (n->text.p[0]) {
    case '-': return py_negate(w, &v, out);
    case '+':
        *out = is_whole(&v) ? (struct bfcl_value){.type = BFCL_INT, .text = whole_text(&v)} : v;
        return true;
    case '~':
        if (!is_whole(&v) || !whole_int64(&v, &whole)) {
            return false;
        }
        *out = bfcl_int(w->arena, -(whole + 1));
        return whole < INT64_MAX;
    default: return false;
    }
}

bool py_items(struct bfcl_work *w, const struct py_node *n, py_value_fn *value,
              struct bfcl_value *out)
{
    *out = (struct bfcl_value){.type = n->kind == PY_LIST ? BFCL_LIST : BFCL_TUPLE, .n = n->n};
    out->items = arena_array(w->arena, n->n, sizeof *out->items);
    for (size_t i = 0; i < n->n; i++) {
        if (!value(w, n->children[i].node, &out->items[i])) {
            return false;
        }
    }
    return true;
}

bool py_compute(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out)
{
    switch (n->kind) {
    case PY_CONSTANT: *out = n->value; return true;
    case PY_BINARY: return compute_binary(w, n, out);
    case PY_UNARY: return compute_unary(w, n, out);
    case PY_LIST:
    case PY_TUPLE: return py_items(w, n, py_compute, out);
    case PY_ELLIPSIS:
    case PY_FORMATTED:
    case PY_NAME:
    case PY_ATTRIBUTE:
    case PY_SUBSCRIPT:
    case PY_SLICE:
    case PY_CALL:
    case PY_BOOLEAN:
    case PY_COMPARE:
    case PY_CHOICE:
    case PY_LAMBDA:
    case PY_SET:
    case PY_DICT:
    case PY_COMPREHENSION:
    case PY_STARRED:
    case PY_NAMED:
    case PY_AWAIT:
    case PY_YIELD: break;
    }
    return false;
}
