/* Every value of every format replaced by one of another type, every key misspelt, every map with a
 * key too many: from one good document a format (data/NAME.json), each variant is written as block
 * YAML with one key or item a line, so that the line of a fault is known, and given to the verb
 * that checks the format. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"
#include "kernel/base/arena.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS_MAX = 4000 };

enum change {
    CHANGE_NONE,
    CHANGE_VALUE,  /* the value is replaced */
    CHANGE_KEY,    /* the key gets one letter too many */
    CHANGE_TWICE,  /* the key is there twice */
    CHANGE_UNKNOWN /* the map gets a key that nobody knows */
};

/* Values of every kind, as YAML. */
static const struct {
    const char *name;
    const char *text;
} values[] = {
    {"list", "[1, a]"},
    {"empty list", "[]"},
    {"map", "{a: 1}"},
    {"empty map", "{}"},
    {"text", "text"},
    {"empty", "\"\""},
    {"number", "7"},
    {"negative", "-7"},
    {"fraction", "2.5"},
    {"true", "true"},
    {"null", "null"},
    {"nan", ".nan"},
    {"huge", "99999999999999999999999999"},
    {"exponent", "1e99999"},
};
enum { N_VALUES = sizeof values / sizeof values[0] };

/* The program checks a format by `VERB check`, and reads it by these words, in which FILE stands
 * for the file and SCRIPT for a script that answers. */
static const struct format {
    const char *name;
    const char *verb;
    const char *use[8];
    const char *free[12]; /* below these paths any key may stand; `*` is any one part */
    const char *lenient;  /* why unknown keys are no error; NULL: they are */
} formats[] = {
    {"script", "fake", {"run", "--fake", "FILE", "x"}, {"steps/*/reply/calls/*/arguments"}, NULL},
    {"rules", "fake", {"run", "--fake", "FILE", "x"}, {NULL}, NULL},
    {"tools",
     "golden",
     {"run", "--fake", "SCRIPT", "--tools", "FILE", "x"},
     {"tools/*/parameters", "tools/*/answers/*/when", "tools/*/answers/*/result"},
     NULL},
    {"golden",
     "golden",
     {"eval", "FILE", "--fake"},
     {"tasks/*/expect/calls/list/*", "tasks/*/expect/answer/all/*/schema",
      "defaults/tools/*/parameters"},
     NULL},
    {"cassette",
     "cassette",
     {"run", "--replay", "FILE", "Hello."},
     {"interactions/*/request/headers", "interactions/*/response/headers"},
     NULL},
    {"vcr",
     "cassette",
     {"run", "--replay", "FILE", "Hello."},
     {NULL},
     "other programs write what they like"},
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

struct variant {
    enum change change;
    const cJSON *at;
    size_t value;
    const char *path; /* steps/0/reply/text */
    const char *file;
    unsigned line; /* of what was changed */
    bool accepted;
};

/* ---- writing one variant ---- */

struct writer {
    struct buf out;
    unsigned line;
    const struct variant *v;
    unsigned changed_line;
};

static void new_line(struct writer *w, int indent)
{
    w->line++;
    buf_addz(&w->out, w->out.n > 0 ? "\n" : "");
    for (int i = 0; i < indent; i++) {
        buf_addz(&w->out, "  ");
    }
}

static void write_value(struct writer *w, const cJSON *node, int indent);

static void write_scalar(struct writer *w, const cJSON *node)
{
    char *text = cJSON_PrintUnformatted(node);
    buf_fmt(&w->out, " %s", text);
    cJSON_free(text);
}

static void write_member(struct writer *w, const cJSON *node, int indent, const char *more)
{
    new_line(w, indent);
    if (w->v->at == node) {
        w->changed_line = w->line;
    }
    if (node->string != NULL) {
        buf_fmt(&w->out, "\"%s%s\":", node->string, more);
    } else {
        buf_addz(&w->out, "-");
    }
    write_value(w, node, indent);
}

static void write_children(struct writer *w, const cJSON *node, int indent)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, node)
    {
        bool here = w->v->at == child;
        if (here && w->v->change == CHANGE_TWICE) {
            write_member(w, child, indent, "");
        }
        write_member(w, child, indent, here && w->v->change == CHANGE_KEY ? "x" : "");
    }
}

static void write_value(struct writer *w, const cJSON *node, int indent)
{
    bool here = w->v->at == node;
    if (here && w->v->change == CHANGE_VALUE) {
        buf_fmt(&w->out, " %s", values[w->v->value].text);
        return;
    }
    if (here && w->v->change == CHANGE_UNKNOWN) {
        new_line(w, indent + 1);
        w->changed_line = w->line;
        buf_addz(&w->out, "zzz_unknown: 1");
    }
    if (node->child != NULL) {
        write_children(w, node, indent + 1);
    } else if (!here || w->v->change != CHANGE_UNKNOWN) {
        write_scalar(w, node);
    }
}

static void write_variant(struct variant *v, const cJSON *root, const char *dir, size_t number)
{
    struct writer w = {.v = v};
    w.out.max = 1 << 20;
    if (v->change == CHANGE_UNKNOWN && v->at == root) {
        new_line(&w, 0);
        w.changed_line = w.line;
        buf_addz(&w.out, "zzz_unknown: 1");
    }
    write_children(&w, root, 0);
    new_line(&w, 0);
    v->line = w.changed_line;
    v->file = write_bytes(dir, path_of("%zu.yaml", number), w.out.p, w.out.n);
    buf_free(&w.out);
}

/* ---- all variants of a document ---- */

struct set {
    struct variant all[VARIANTS_MAX];
    size_t n;
    const struct format *format;
};

/* Whether a path is at or below a pattern. */
static bool fits(const char *path, const char *pattern)
{
    while (*pattern != '\0') {
        if (*pattern == '*') {
            path += strcspn(path, "/");
            pattern++;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0' || *path == '/';
}

static bool is_free(const struct format *f, const char *path)
{
    for (size_t i = 0; f->free[i] != NULL; i++) {
        if (fits(path, f->free[i])) {
            return true;
        }
    }
    return false;
}

static void add(struct set *s, enum change change, const cJSON *at, size_t value, const char *path)
{
    if (s->n == VARIANTS_MAX) {
        FAIL("more than %d variants", VARIANTS_MAX);
        return;
    }
    s->all[s->n++] = (struct variant){.change = change, .at = at, .value = value, .path = path};
}

static void collect(struct set *s, const cJSON *node, const char *path)
{
    size_t i = 0;
    const cJSON *child;
    bool any_key = is_free(s->format, path) || s->format->lenient != NULL;
    if (cJSON_IsObject(node) && !any_key) {
        add(s, CHANGE_UNKNOWN, node, 0, path);
    }
    cJSON_ArrayForEach(child, node)
    {
        const char *below = child->string != NULL
                                ? path_of("%s%s%s", path, *path == '\0' ? "" : "/", child->string)
                                : path_of("%s/%zu", path, i);
        for (size_t j = 0; j < N_VALUES; j++) {
            add(s, CHANGE_VALUE, child, j, below);
        }
        if (child->string != NULL && !any_key) {
            add(s, CHANGE_KEY, child, 0, below);
        }
        if (child->string != NULL && s->format->lenient == NULL) {
            add(s, CHANGE_TWICE, child, 0, below);
        }
        collect(s, child, below);
        i++;
    }
}

/* ---- what the program says ---- */

static const char *describe(const struct variant *v)
{
    static const char *const changes[] = {"as it is", "a value", "a key with a letter too many",
                                          "a key twice", "an unknown key"};
    return path_of("%s: %s %s (%s:%u)", v->path, changes[v->change],
                   v->change == CHANGE_VALUE ? values[v->value].name : "", v->file, v->line);
}

static struct variant *of_file(struct set *s, const char *file)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->all[i].file, file) == 0) {
            return &s->all[i];
        }
    }
    return NULL;
}

/* Faults that are told by what they lead to: a key that says whose the file is, or that comes
 * before all others, or of an interaction that is taken for one that was cut off. */
static bool told_otherwise(const struct format *f, const struct variant *v)
{
    return strcmp(f->name, "cassette") == 0 &&
           (fits(v->path, "assay") || fits(v->path, "interactions/1"));
}

static void check_finding(const struct format *f, const struct variant *v, unsigned line,
                          unsigned column, const char *message)
{
    if (line == 0 || column == 0 || strlen(message) < 10 || strchr(message, '\n') != NULL) {
        FAIL("%s: %u:%u %s", describe(v), line, column, message);
    }
    if (v->change == CHANGE_VALUE || told_otherwise(f, v)) {
        return;
    }
    if (line != v->line) {
        FAIL("%s: is told at line %u: %s", describe(v), line, message);
    }
    if (v->change == CHANGE_UNKNOWN && strstr(message, "zzz_unknown") == NULL) {
        FAIL("%s: does not name the key: %s", describe(v), message);
    }
    if (v->change == CHANGE_KEY &&
        strstr(message, path_of("did you mean \"%s\"", v->at->string)) == NULL) {
        FAIL("%s: no \"did you mean\": %s", describe(v), message);
    }
}

/* Takes the findings that are errors; what has none was accepted. */
static void read_findings(struct set *s, const char *text)
{
    for (size_t i = 0; i < s->n; i++) {
        s->all[i].accepted = true;
    }
    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        cJSON *f = cJSON_ParseWithLength(text, (size_t)(end - text));
        const char *file = cJSON_GetStringValue(cJSON_GetObjectItem(f, "file"));
        const char *severity = cJSON_GetStringValue(cJSON_GetObjectItem(f, "severity"));
        const char *message = cJSON_GetStringValue(cJSON_GetObjectItem(f, "message"));
        const cJSON *line = cJSON_GetObjectItem(f, "line"),
                    *column = cJSON_GetObjectItem(f, "column");
        struct variant *v = file == NULL ? NULL : of_file(s, file);
        if (severity != NULL && message != NULL && v != NULL && strcmp(severity, "error") == 0) {
            v->accepted = false;
            check_finding(s->format, v, (unsigned)cJSON_GetNumberValue(line),
                          (unsigned)cJSON_GetNumberValue(column), message);
        } else if (severity == NULL || message == NULL || file == NULL) {
            FAIL("no finding: %.*s", (int)(end - text), text);
        }
        cJSON_Delete(f);
        text = end + 1;
    }
}

/* Uses what was accepted: whatever it does, it is not called bad input now. */
static void use(const struct format *f, const struct variant *v, const char *script)
{
    const char *words[8] = {NULL};
    for (size_t i = 0; f->use[i] != NULL; i++) {
        words[i] = strcmp(f->use[i], "FILE") == 0     ? v->file
                   : strcmp(f->use[i], "SCRIPT") == 0 ? script
                                                      : f->use[i];
    }
    const struct ran *r = program_run(words, NULL);
    if (strstr(r->err, "nothing to replay") != NULL ||
        strstr(r->err, "give --model NAME") != NULL) {
        return; /* a good cassette, but no session */
    }
    bool plain = strcmp(f->name, "golden") != 0 || strstr(v->path, "fake") == NULL;
    if (r->status == 2 && plain) {
        FAIL("%s: is accepted, but not when it is used: %s", describe(v), r->err);
    }
}

/* The accepted ones, a line a path: reviewed by hand, changed only with UPDATE=1. */
static void check_accepted(const struct set *s)
{
    struct buf text = {0};
    const char *path = "";
    for (size_t i = 0; i < s->n; i++) {
        const struct variant *v = &s->all[i];
        if (v->accepted && v->change == CHANGE_VALUE) {
            if (strcmp(path, v->path) != 0) {
                buf_fmt(&text, "%s%s:", text.n == 0 ? "" : "\n", v->path);
                path = v->path;
            }
            buf_fmt(&text, " %s;", values[v->value].name);
        }
    }
    buf_char(&text, '\n');
    const char *name = path_of("%s.accepted.txt", s->format->name);
    const char *dir = SOURCE_DIR "/cli/tests/data";
    if (getenv("UPDATE") != NULL) {
        write_bytes(dir, name, text.p, text.n);
    }
    size_t n = 0, same = 0;
    const char *want = read_text(path_of("%s/%s", dir, name), &n);
    while (same < n && same < text.n && want[same] == text.p[same]) {
        same++;
    }
    if (want == NULL || same < n || same < text.n) {
        while (same > 0 && text.p[same - 1] != '\n') {
            same--;
        }
        struct str rest = str_slice(buf_str(&text), same, text.n);
        struct str line = str_slice(rest, 0, str_find(rest, STR("\n")));
        FAIL("%s: other values are accepted than %s says, first: %.*s", s->format->name, name,
             STR_FMT(line));
    }
    buf_free(&text);
}

static void check_format(const struct format *f)
{
    static struct set s;
    static const char *words[VARIANTS_MAX + 8];
    const char *dir = testing_dir();
    const char *text = read_text(path_of("%s/cli/tests/data/%s.json", SOURCE_DIR, f->name), NULL);
    cJSON *root = cJSON_Parse(text);
    bool by_set = strcmp(f->name, "tools") == 0;
    size_t n = 0;
    CU_ASSERT_FATAL(root != NULL);
    s.n = 0;
    s.format = f;
    add(&s, CHANGE_NONE, NULL, 0, "");
    collect(&s, root, "");
    words[n++] = f->verb;
    words[n++] = "check";
    words[n++] = "--json";
    const char *script = write_text(dir, "f.yaml", "version: 1\nsteps:\n- reply: {text: x}\n");
    for (size_t i = 0; i < s.n; i++) {
        write_variant(&s.all[i], root, dir, i);
        words[n++] = !by_set ? s.all[i].file
                             : write_text(dir, path_of("%zu-set.yaml", i),
                                          path_of("version: 1\nname: n\ndefaults: {tools: %zu.yaml}"
                                                  "\ntasks: [{id: a, prompt: p}]\n",
                                                  i));
    }
    words[n] = NULL;
    const struct ran *r = program_run(words, NULL);
    CHECK_STATUS(r, 2);
    CU_ASSERT(json_lines(r->out, NULL));
    read_findings(&s, r->out);
    const struct variant *last = NULL; /* accepted one of this path */
    for (size_t i = 0; i < s.n; i++) {
        const struct variant *v = &s.all[i];
        if (v->accepted && v->change != CHANGE_VALUE && v->change != CHANGE_NONE &&
            !told_otherwise(f, v)) {
            FAIL("%s: is accepted", describe(v));
        }
        if (v->accepted) {
            last = v;
        }
        bool path_ends = i + 1 == s.n || strcmp(v->path, s.all[i + 1].path) != 0;
        if (path_ends && last != NULL) {
            use(f, last, script); /* one a path: each is a process */
            last = NULL;
        }
    }
    CU_ASSERT(s.all[0].accepted);
    check_accepted(&s);
    cJSON_Delete(root);
}

static void variants(void)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        check_format(&formats[i]);
    }
}

TESTS(variants, {"variants_of_every_format_are_refused_at_their_line", variants})
