/* YAML read by libyaml, whose events become parts of a document (yaml_build.c), and whose syntax
 * errors get a hint what to try. Nothing else knows libyaml. */
#include <string.h>
#include <yaml.h>

#include "kernel/base/text.h"
#include "kernel/base/yaml_int.h"

/* A document that is being read. */
struct reading {
    struct load *load;
    const char *file;
    struct str text; /* to look for what is odd; empty when it comes piece by piece */
    struct err *e;
    yaml_parser_t parser;
    enum { NO_DOCUMENT, IN_DOCUMENT, AFTER_DOCUMENT, AFTER_STREAM } state;
};

static uint32_t line_of(yaml_mark_t m)
{
    return (uint32_t)m.line + 1;
}

static uint32_t column_of(yaml_mark_t m)
{
    return (uint32_t)m.column + 1;
}

/* ---- events ---- */

static struct yaml_part part_at(yaml_mark_t m, const yaml_char_t *tag, const yaml_char_t *anchor)
{
    return (struct yaml_part){.tag = (const char *)tag,
                              .anchor = (const char *)anchor,
                              .line = line_of(m),
                              .column = column_of(m)};
}

static int on_scalar(struct load *l, const yaml_event_t *ev)
{
    struct yaml_part part = part_at(ev->start_mark, ev->data.scalar.tag, ev->data.scalar.anchor);
    part.text = (struct str){(const char *)ev->data.scalar.value, ev->data.scalar.length};
    part.plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return yaml_on_scalar(l, &part);
}

static int on_alias(struct load *l, const yaml_event_t *ev)
{
    struct yaml_part part = part_at(ev->start_mark, NULL, NULL);
    part.text = str_of((const char *)ev->data.alias.anchor);
    return yaml_on_alias(l, &part);
}

static int on_list(struct load *l, const yaml_event_t *ev)
{
    const struct yaml_part part =
        part_at(ev->start_mark, ev->data.sequence_start.tag, ev->data.sequence_start.anchor);
    return yaml_on_open(l, VAL_ARRAY, &part);
}

static int on_map(struct load *l, const yaml_event_t *ev)
{
    const struct yaml_part part =
        part_at(ev->start_mark, ev->data.mapping_start.tag, ev->data.mapping_start.anchor);
    return yaml_on_open(l, VAL_OBJECT, &part);
}

static int on_event(struct reading *r, const yaml_event_t *ev)
{
    switch (ev->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT: return 0;
    case YAML_STREAM_END_EVENT:
        if (r->state == NO_DOCUMENT) {
            return err_at(r->e, ERR_INPUT, r->file, 1, 1,
                          "the file is empty; expected a YAML or JSON document");
        }
        r->state = AFTER_STREAM;
        return 0;
    case YAML_DOCUMENT_START_EVENT:
        if (r->state != NO_DOCUMENT) {
            return err_at(r->e, ERR_INPUT, r->file, line_of(ev->start_mark),
                          column_of(ev->start_mark),
                          "a second document begins here; expected one document in the file");
        }
        r->state = IN_DOCUMENT;
        return 0;
    case YAML_DOCUMENT_END_EVENT: r->state = AFTER_DOCUMENT; return 0;
    case YAML_ALIAS_EVENT: return on_alias(r->load, ev);
    case YAML_SCALAR_EVENT: return on_scalar(r->load, ev);
    case YAML_SEQUENCE_START_EVENT: return on_list(r->load, ev);
    case YAML_MAPPING_START_EVENT: return on_map(r->load, ev);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return yaml_close(r->load);
    }
    return 0;
}

/* ---- syntax errors ---- */

/* What to try, for the slips that people make most. */
static const char *hint(const char *problem)
{
    static const struct {
        const char *part;
        const char *hint;
    } hints[] = {
        {"mapping values are not allowed",
         "; text that holds \": \" needs quotes, and keys of one map stand below each other"},
        {"tab character", "; indent with spaces, not with tabs"},
        {"cannot start any token",
         "; indent with spaces, not with tabs, and quote text that begins with @ ` %"},
        {"alphabetic or numeric", "; text that begins with * or & needs quotes"},
        {"expected key", "; check the indentation, and that quotes are closed"},
        {"expected ':'", "; check the indentation, and that each key has its colon"},
        {"'-' indicator", "; check the indentation of this list"},
        {"',' or", "; check that the bracket is closed, and quote text that begins with { or ["},
        {"unknown escape", "; in double quotes write \\\\ for a backslash"},
        {"incompatible YAML", "; remove the %YAML line"},
        {"document start", "; check that the text is one map or list"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strstr(problem, hints[i].part) != NULL) {
            return hints[i].hint;
        }
    }
    return "";
}

/* The line of the text with this number, from 1. */
static struct str line_at(struct str text, uint32_t line)
{
    size_t at = 0;
    for (uint32_t n = 1; n < line && at < text.n; n++) {
        size_t end = str_find(str_slice(text, at, text.n), STR("\n"));
        at = end == SIZE_MAX ? text.n : at + end + 1;
    }
    struct str rest = str_slice(text, at, text.n);
    return str_slice(rest, 0, str_find(rest, STR("\n")));
}

/* Blanks at the beginning of a line, whatever characters they are. */
static struct str indentation(struct str line)
{
    static const char *const blanks[] = {" ", "\t", "\xc2\xa0", "\xe3\x80\x80"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0];) {
        bool here = str_starts(str_slice(line, at, line.n), blanks[i]);
        at += here ? strlen(blanks[i]) : 0;
        i = here ? 0 : i + 1;
    }
    return str_slice(line, 0, at);
}

/* What editors, chats and merges put into a line; NULL = nothing such. */
static const char *oddity(struct str line)
{
    struct str indent = indentation(line);
    if (str_starts(line, "<<<<<<< ") || str_is(line, "=======") || str_starts(line, ">>>>>>> ")) {
        return "a mark that a merge left; decide for one side";
    }
    if (str_starts(line, "```")) {
        return "a fence of Markdown; take it out";
    }
    if (str_find(indent, STR("\xc2\xa0")) != SIZE_MAX) {
        return "a no-break space (U+00A0); indent with plain spaces";
    }
    if (str_find(indent, STR("\xe3\x80\x80")) != SIZE_MAX) {
        return "a wide space (U+3000); indent with plain spaces";
    }
    if (str_find(line, STR(": \xe2\x80\x9c")) != SIZE_MAX) {
        return "curly quotes (U+201C), which are letters here; write \"";
    }
    if (str_find(line, STR("\xef\xbc\x9a")) != SIZE_MAX && str_find(line, STR(":")) == SIZE_MAX) {
        return "a full-width colon (U+FF1A); write : and a space";
    }
    return NULL;
}

/* Appends what is odd where the problem showed, in the line above, or where its surroundings began;
 * else what to try. */
static void add_hint(struct buf *out, const struct reading *r, const char *problem)
{
    const yaml_parser_t *p = &r->parser;
    uint32_t line = line_of(p->problem_mark);
    uint32_t began = p->context == NULL ? line : line_of(p->context_mark);
    const uint32_t lines[] = {line, line > 1 ? line - 1 : 1, began};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *odd = oddity(line_at(r->text, lines[i]));
        if (odd != NULL) {
            buf_fmt(out, "; line %u holds %s", lines[i], odd);
            return;
        }
    }
    buf_addz(out, hint(problem));
}

static int syntax_error(const struct reading *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem != NULL ? p->problem : "unknown problem";
    if (p->error == YAML_READER_ERROR) {
        uint32_t line = 0, column = 0;
        text_place(r->text, p->problem_offset, &line, &column);
        return err_at(
            r->e, ERR_INPUT, r->file, line, column,
            "the character U+%04X cannot stand in YAML; write it in double quotes as \\u%04x",
            (unsigned)p->problem_value, (unsigned)p->problem_value);
    }
    if (p->error == YAML_MEMORY_ERROR) {
        mem_exhausted();
    }
    uint32_t line = line_of(p->problem_mark), column = column_of(p->problem_mark);
    struct buf why = {0};
    buf_fmt(&why, "not valid YAML: %s", problem);
    if (p->context != NULL) {
        buf_fmt(&why, " %s that began at line %u", p->context, line_of(p->context_mark));
    }
    add_hint(&why, r, problem);
    int rc = err_at(r->e, ERR_INPUT, r->file, line, column, "%.*s", STR_FMT(buf_str(&why)));
    buf_free(&why);
    return rc;
}

/* ---- a whole text, and one that comes piece by piece ---- */

static void begin(struct reading *r)
{
    if (!yaml_parser_initialize(&r->parser)) {
        mem_exhausted();
    }
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
}

/* Reads to the end, or to the first mistake. */
static int run(struct reading *r)
{
    int rc = 0;
    while (rc == 0 && r->state != AFTER_STREAM) {
        yaml_event_t ev;
        if (!yaml_parser_parse(&r->parser, &ev)) {
            rc = syntax_error(r);
            break;
        }
        rc = on_event(r, &ev);
        yaml_event_delete(&ev);
    }
    yaml_parser_delete(&r->parser);
    return rc;
}

int yaml_read_any(struct load *load, const char *file, struct str text, struct err *e)
{
    static const unsigned char none[1];
    struct reading r = {.load = load, .file = file, .text = text, .e = e};
    begin(&r);
    yaml_parser_set_input_string(&r.parser, text.n == 0 ? none : (const unsigned char *)text.p,
                                 text.n);
    return run(&r);
}

struct pieces {
    bool (*read)(void *ctx, char *out, size_t n, size_t *got);
    void *ctx;
};

static int next_piece(void *ctx, unsigned char *out, size_t size, size_t *got)
{
    const struct pieces *p = ctx;
    return p->read(p->ctx, (char *)out, size, got) ? 1 : 0;
}

int yaml_stream_any(struct load *load, bool (*read)(void *ctx, char *out, size_t n, size_t *got),
                    void *ctx)
{
    struct pieces pieces = {.read = read, .ctx = ctx};
    struct reading r = {.load = load};
    begin(&r);
    yaml_parser_set_input(&r.parser, next_piece, &pieces);
    return run(&r);
}
