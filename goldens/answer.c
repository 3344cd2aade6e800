/* What an answer is worth by its check. */
#include "goldens/answer_int.h"
#include "kernel/base/dec.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"
#include "kernel/base/text.h"

enum { PREVIEW_CHARS = 120, NUMBERS_SHOWN = 10 };

static void add_preview(struct buf *why, struct str text)
{
    struct arena *arena = arena_new();
    json_add_string(why, text_preview(arena, text, PREVIEW_CHARS));
    arena_free(arena);
}

static void say(struct buf *why, const char *what, struct str text)
{
    if (why != NULL) {
        buf_addz(why, what);
        add_preview(why, text);
    }
}

struct near {
    struct dec value;
    struct dec within;
    struct buf *read; /* NULL = nobody asks which numbers there were */
    size_t n;
};

static void note_number(struct near *want, struct str number)
{
    if (want->read != NULL && want->n++ < NUMBERS_SHOWN) {
        buf_addz(want->read, want->n == 1 ? "" : ", ");
        buf_add(want->read, number);
    }
}

static bool is_near(void *ctx, struct str number)
{
    struct near *want = ctx;
    struct dec got;
    struct dec distance;
    note_number(want, number);
    if (dec_parse(number, &got) != 0 || dec_sub(&got, &want->value, &distance) != 0) {
        return false;
    }
    distance.negative = false;
    return dec_cmp(&distance, &want->within) <= 0;
}

/* Whether a comma stands where some write the decimal point: "2,90". */
static bool has_decimal_comma(struct str s)
{
    for (size_t i = 1; i + 1 < s.n; i++) {
        size_t end = i + 1;
        if (s.p[i] != ',' || s.p[i - 1] < '0' || s.p[i - 1] > '9') {
            continue;
        }
        while (end < s.n && s.p[end] >= '0' && s.p[end] <= '9') {
            end++;
        }
        bool list = end < s.n && s.p[end] == ',';
        if (end > i + 1 && end != i + 4 && !list) {
            return true;
        }
    }
    return false;
}

/* Which numbers the answer was read to have. */
static void add_read(struct buf *why, const struct near *want, struct str answer)
{
    if (want->n == 0) {
        buf_addz(why, " (no number was read)");
        return;
    }
    buf_fmt(why, " (read: %.*s%s%s)", STR_FMT(buf_str(want->read)),
            want->n > NUMBERS_SHOWN ? ", …" : "",
            has_decimal_comma(answer) ? "; a comma is no decimal point" : "");
}

static bool test_number(const struct golden_answer *a, struct str answer, struct buf *why)
{
    struct buf read = {0};
    struct near want = {.read = why == NULL ? NULL : &read};
    bool parsed = dec_parse(a->value, &want.value) == 0 && dec_parse(a->within, &want.within) == 0;
    bool holds = parsed && golden_numbers(answer, is_near, &want);
    if (!holds && why != NULL) {
        buf_fmt(why, "expected the number %.*s (within %.*s) in the answer, got ",
                STR_FMT(a->value), STR_FMT(a->within));
        add_preview(why, answer);
        add_read(why, &want, answer);
    }
    buf_free(&read);
    return holds;
}

/* The JSON in an answer: the whole of it, or its first fenced block. NULL when there is none. */
static const struct val *answer_json(struct arena *arena, struct str answer)
{
    struct val *v;
    if (json_parse(arena, NULL, answer, &v, NULL) == 0) {
        return v;
    }
    size_t open = str_find(answer, STR("```"));
    if (open == SIZE_MAX) {
        return NULL;
    }
    struct str rest = str_slice(answer, open + 3, answer.n);
    size_t line = str_find(rest, STR("\n"));
    rest = line == SIZE_MAX ? rest : str_slice(rest, line + 1, rest.n);
    size_t close = str_find(rest, STR("```"));
    rest = str_slice(rest, 0, close == SIZE_MAX ? rest.n : close);
    return json_parse(arena, NULL, rest, &v, NULL) == 0 ? v : NULL;
}

static bool read_index(struct str part, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] < '0' || part.p[i] > '9' || i >= ANSWER_INDEX_DIGITS_MAX) {
            return false;
        }
        n = n * 10 + (size_t)(part.p[i] - '0');
    }
    *out = n;
    return part.n > 0;
}

/* Follows a path such as items[0].price, items.0.price or $.items[0]. NULL where it ends early. */
static const struct val *follow(const struct val *v, struct str path)
{
    size_t at = str_starts(path, "$") ? 1 : 0;
    for (size_t parts = 0; at < path.n && v != NULL; parts++) {
        at += path.p[at] == '.' || path.p[at] == '[' ? 1 : 0;
        size_t end = at;
        while (end < path.n && path.p[end] != '.' && path.p[end] != '[' && path.p[end] != ']') {
            end++;
        }
        struct str part = str_slice(path, at, end);
        size_t index;
        if (parts >= ANSWER_PATH_PARTS_MAX) {
            return NULL;
        }
        if (val_is(v, VAL_ARRAY)) {
            v = read_index(part, &index) ? val_item(v, index) : NULL;
        } else {
            v = val_find(v, part);
        }
        at = end + (end < path.n && path.p[end] == ']' ? 1 : 0);
    }
    return v;
}

/* What stands at the path of the answer. */
static bool test_path(const struct golden_answer *a, const struct val *root, bool *unsure,
                      struct buf *why)
{
    const struct val *found = follow(root, a->path);
    struct member member = {.key = a->path};
    struct val args = {.kind = VAL_OBJECT, .members = &member};
    if (found != NULL) {
        member.value = *found;
        args.count = 1;
    }
    struct args_match_options o = {.unsure = unsure};
    struct buf reason = {0};
    bool holds = args_match_test(a->match, &args, &o, &reason);
    if (!holds && why != NULL) {
        struct str text = buf_str(&reason);
        buf_addz(why, "json ");
        buf_add(why, str_slice(text, str_starts(text, "args.") ? 5 : 0, text.n));
    }
    buf_free(&reason);
    return holds;
}

/* `json` and `schema`: the answer as a value. */
static bool test_value(const struct golden_answer *a, struct str answer, bool *unsure,
                       struct buf *why)
{
    struct arena *arena = arena_new();
    const struct val *root = answer_json(arena, answer);
    bool holds = false;
    if (root == NULL) {
        say(why, "expected JSON, got ", answer);
    } else if (a->kind == ANSWER_SCHEMA) {
        holds = schema_valid(a->schema, root, why);
    } else {
        holds = test_path(a, root, unsure, why);
    }
    arena_free(arena);
    return holds;
}

/* What may become of a check, as a set of bits that rise from no to yes. A check stays unsure whose
 * regular expression came to the match limit: it does not hold, and neither does its opposite. A
 * rubric without a verdict may become either. */
enum {
    VERDICT_NO = 1,
    VERDICT_UNSURE = 2,
    VERDICT_YES = 4,
    VERDICT_OPEN = VERDICT_NO | VERDICT_YES
};

/* An answer with what judges have said of it. */
struct subject {
    struct str answer;
    const struct golden_verdicts *verdicts; /* NULL = nothing */
};

static unsigned judge(const struct golden_answer *a, const struct subject *s, struct buf *why);

static unsigned verdict_of(bool holds, bool unsure)
{
    return holds ? VERDICT_YES : unsure ? VERDICT_UNSURE : VERDICT_NO;
}

static unsigned judge_text(const struct text_cond *c, struct str answer, struct buf *why)
{
    bool holds = text_cond_test(c, &answer, why);
    return verdict_of(holds, !holds && text_cond_unsure(c, answer));
}

static unsigned judge_value(const struct golden_answer *a, struct str answer, struct buf *why)
{
    bool unsure = false;
    bool holds = test_value(a, answer, &unsure, why);
    return verdict_of(holds, unsure);
}

static const struct golden_verdict *find_verdict(const struct golden_answer *a,
                                                 const struct golden_verdicts *v)
{
    for (size_t i = 0; v != NULL && i < v->n; i++) {
        if (str_eq(v->at[i].rubric, a->rubric)) {
            return &v->at[i];
        }
    }
    return NULL;
}

/* What the judge said, where that is not what is wanted. */
static void say_rubric(struct buf *why, const struct golden_answer *a, const char *how,
                       const struct golden_verdict *v, struct str judge_name)
{
    say(why, "rubric ", a->rubric);
    if (why != NULL) {
        buf_fmt(why, " %s: %.*s (judge %.*s)", how, STR_FMT(v->reason), STR_FMT(judge_name));
    }
}

static unsigned judge_rubric(const struct golden_answer *a, const struct subject *s,
                             struct buf *why)
{
    const struct golden_verdict *v = find_verdict(a, s->verdicts);
    if (v != NULL && !v->pass) {
        say_rubric(why, a, "not met", v, s->verdicts->judge);
    }
    return v == NULL ? VERDICT_OPEN : verdict_of(v->pass, false);
}

/* What may become of two checks together: the lower of both, or the higher. */
static unsigned combine(unsigned a, unsigned b, bool lower)
{
    unsigned all = 0;
    for (unsigned x = VERDICT_NO; x <= VERDICT_YES; x <<= 1) {
        for (unsigned y = VERDICT_NO; y <= VERDICT_YES; y <<= 1) {
            if ((a & x) != 0 && (b & y) != 0) {
                all |= (x < y) == lower ? x : y;
            }
        }
    }
    return all;
}

static unsigned judge_any(const struct golden_answer *a, const struct subject *s, struct buf *why)
{
    struct buf reasons = {0};
    unsigned all = VERDICT_NO;
    for (size_t i = 0; i < a->n_parts && all != VERDICT_YES; i++) {
        buf_addz(&reasons, i == 0 ? "none of these holds: " : "; ");
        all = combine(all, judge(a->parts[i], s, &reasons), false);
    }
    if ((all & VERDICT_YES) == 0 && why != NULL) {
        buf_add(why, buf_str(&reasons));
    }
    buf_free(&reasons);
    return all;
}

static unsigned judge_all(const struct golden_answer *a, const struct subject *s, struct buf *why)
{
    unsigned all = VERDICT_YES;
    for (size_t i = 0; i < a->n_parts && all != VERDICT_NO; i++) {
        bool first = (all & VERDICT_YES) != 0;
        all = combine(all, judge(a->parts[i], s, first ? why : NULL), true);
    }
    return all;
}

/* Why a `not` does not hold. */
static void say_not(const struct golden_answer *part, const struct subject *s, unsigned inner,
                    struct buf *why)
{
    const struct golden_verdict *v =
        part->kind == ANSWER_RUBRIC ? find_verdict(part, s->verdicts) : NULL;
    if (inner == VERDICT_YES && v != NULL) {
        say_rubric(why, part, "is met, and must not be", v, s->verdicts->judge);
    } else if (inner == VERDICT_YES) {
        say(why, "the check under `not` holds for the answer ", s->answer);
    } else if ((inner & VERDICT_NO) == 0) {
        say(why,
            "whether the check under `not` holds is not known (its regex needs too many steps "
            "here; make it simpler) for the answer ",
            s->answer);
    }
}

static unsigned judge_not(const struct golden_answer *a, const struct subject *s, struct buf *why)
{
    unsigned inner = judge(a->parts[0], s, NULL);
    say_not(a->parts[0], s, inner, why);
    return ((inner & VERDICT_NO) != 0 ? VERDICT_YES : 0u) | (inner & VERDICT_UNSURE) |
           ((inner & VERDICT_YES) != 0 ? VERDICT_NO : 0u);
}

static unsigned judge(const struct golden_answer *a, const struct subject *s, struct buf *why)
{
    switch (a->kind) {
    case ANSWER_TEXT: return judge_text(a->text, s->answer, why);
    case ANSWER_NUMBER: return verdict_of(test_number(a, s->answer, why), false);
    case ANSWER_JSON:
    case ANSWER_SCHEMA: return judge_value(a, s->answer, why);
    case ANSWER_RUBRIC: return judge_rubric(a, s, why);
    case ANSWER_ALL: return judge_all(a, s, why);
    case ANSWER_ANY: return judge_any(a, s, why);
    case ANSWER_NOT: return judge_not(a, s, why);
    }
    return VERDICT_NO;
}

enum golden_held golden_answer_judge(const struct golden_answer *a, struct str answer,
                                     const struct golden_verdicts *verdicts, struct buf *why)
{
    struct subject s = {answer, verdicts};
    if (a == NULL) {
        return GOLDEN_HOLDS;
    }
    if (answer.p == NULL) {
        if (why != NULL) {
            buf_addz(why, "expected an answer, got none");
        }
        return GOLDEN_FAILS;
    }
    unsigned all = judge(a, &s, why);
    return all == VERDICT_YES         ? GOLDEN_HOLDS
           : (all & VERDICT_YES) == 0 ? GOLDEN_FAILS
                                      : GOLDEN_OPEN;
}

bool golden_answer_test(const struct golden_answer *a, struct str answer, struct buf *why)
{
    return golden_answer_judge(a, answer, NULL, why) == GOLDEN_HOLDS;
}

/* The first rubric under a check that may become one thing or another. */
static const struct golden_answer *first_open(const struct golden_answer *a,
                                              const struct subject *s)
{
    for (size_t i = 0; i < a->n_parts; i++) {
        unsigned part = judge(a->parts[i], s, NULL);
        if ((part & (part - 1)) != 0) {
            return first_open(a->parts[i], s);
        }
    }
    return a;
}

struct str golden_answer_open(const struct golden_answer *a, struct str answer,
                              const struct golden_verdicts *verdicts)
{
    struct subject s = {answer, verdicts};
    return golden_answer_judge(a, answer, verdicts, NULL) == GOLDEN_OPEN ? first_open(a, &s)->rubric
                                                                         : (struct str){NULL, 0};
}

const struct val *golden_answer_rubric(const struct golden_answer *a)
{
    const struct val *at = a != NULL && a->kind == ANSWER_RUBRIC ? a->at : NULL;
    for (size_t i = 0; a != NULL && at == NULL && i < a->n_parts; i++) {
        at = golden_answer_rubric(a->parts[i]);
    }
    return at;
}
