/* Event streams by the grammar of WHATWG HTML, section "server-sent events". */
#include <assert.h>
#include <string.h>

#include "kernel/wire/wire_int.h"

/* The line in s->line is complete: a field is taken in; a blank line ends an event. True when that
 * event has data. */
static bool take_line(struct sse *s)
{
    struct str line = buf_str(&s->line);
    if (!s->after_first_line) {
        s->after_first_line = true;
        if (str_starts(line, "\xEF\xBB\xBF")) {
            line = str_slice(line, 3, line.n);
        }
    }
    if (line.n == 0) {
        return s->data_seen;
    }
    const char *colon = memchr(line.p, ':', line.n);
    size_t at = colon == NULL ? line.n : (size_t)(colon - line.p);
    struct str field = str_slice(line, 0, at);
    struct str value = str_slice(line, at + 1, line.n);
    if (value.n > 0 && value.p[0] == ' ') {
        value = str_slice(value, 1, value.n);
    }
    if (str_is(field, "data")) {
        if (s->data_seen) {
            buf_char(&s->data, '\n');
        }
        buf_add(&s->data, value);
        s->data_seen = true;
    } else if (str_is(field, "event")) {
        buf_clear(&s->event);
        buf_add(&s->event, value);
    }
    return false;
}

/* Begins the next event: what the last one held has been read. */
static void next_event(struct sse *s)
{
    buf_clear(&s->data);
    buf_clear(&s->event);
    s->data_seen = false;
    s->handed_out = false;
}

/* Where the line ends, or s.n. By windows, so that lines with one kind of end are not searched for
 * the other to the end of the text each time. */
static size_t line_end(struct str s)
{
    enum { WINDOW_BYTES = 256 };
    for (size_t at = 0; at < s.n; at += WINDOW_BYTES) {
        struct str piece = str_slice(s, at, at + WINDOW_BYTES);
        const char *lf = memchr(piece.p, '\n', piece.n);
        size_t n = lf == NULL ? piece.n : (size_t)(lf - piece.p);
        const char *cr = memchr(piece.p, '\r', n);
        if (cr != NULL || lf != NULL) {
            return at + (cr != NULL ? (size_t)(cr - piece.p) : n);
        }
    }
    return s.n;
}

/* Ends the current line. True when it completes an event, into *out. */
static bool end_line(struct sse *s, struct sse_event *out)
{
    bool blank = s->line.n == 0;
    bool complete = take_line(s);
    buf_clear(&s->line);
    if (complete) {
        *out = (struct sse_event){buf_str(&s->event), buf_str(&s->data)};
        s->handed_out = true;
        return true;
    }
    if (blank) {
        next_event(s);
    }
    return false;
}

bool sse_next(struct sse *s, struct str *bytes, struct sse_event *out)
{
    if (s->handed_out) {
        next_event(s);
    }
    while (bytes->n > 0) {
        bool lf_of_crlf = s->after_cr && bytes->p[0] == '\n';
        s->after_cr = false;
        if (lf_of_crlf) {
            *bytes = str_slice(*bytes, 1, bytes->n);
            continue;
        }
        size_t end = line_end(*bytes);
        buf_add(&s->line, str_slice(*bytes, 0, end));
        if (end == bytes->n) {
            *bytes = str_slice(*bytes, end, end);
            return false;
        }
        s->after_cr = bytes->p[end] == '\r';
        *bytes = str_slice(*bytes, end + 1, bytes->n);
        if (end_line(s, out)) {
            return true;
        }
    }
    return false;
}

bool sse_end(struct sse *s, struct sse_event *out)
{
    if (s->handed_out) {
        next_event(s);
    }
    if (s->line.n > 0) {
        bool complete = end_line(s, out);
        assert(!complete); /* only a blank line completes */
    }
    return end_line(s, out);
}

void sse_free(struct sse *s)
{
    buf_free(&s->line);
    buf_free(&s->data);
    buf_free(&s->event);
}
