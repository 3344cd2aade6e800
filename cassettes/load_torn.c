/* Recordings whose recorder was killed while it wrote: what is whole of them. */
#include "cassettes/load_int.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"

#include <string.h>

/* Where a line (from 1) begins. */
static size_t line_start(struct str text, uint32_t line)
{
    size_t at = 0;
    for (uint32_t n = 1; n < line && at < text.n; n++) {
        const char *newline = memchr(text.p + at, '\n', text.n - at);
        at = newline == NULL ? text.n : (size_t)(newline - text.p) + 1;
    }
    return at;
}

/* Where the last line that begins with "- request:" stands, or SIZE_MAX. Inside bodies every line
 * is indented, so it can only be the start of an interaction. */
static size_t last_item_at(struct str text)
{
    const struct str mark = STR("- request:");
    for (size_t at = text.n; at-- > 0;) {
        if (text.p[at] == '-' && (at == 0 || text.p[at - 1] == '\n') && text.n - at >= mark.n &&
            memcmp(text.p + at, mark.p, mark.n) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* Whether a recorder finished the last interaction, whose text this is: it writes the response's
 * `assay` last, in a line of its own, further left than any body. */
static bool is_finished(struct str text)
{
    bool finished = false;
    for (size_t end = str_find(text, STR("\n")); end != SIZE_MAX && !finished;
         end = str_find(text, STR("\n"))) {
        struct str line = str_slice(text, 0, end);
        finished = str_starts(line, "    assay: {") && str_ends(line, "}");
        text = str_slice(text, end + 1, text.n);
    }
    return finished;
}

void load_warn_torn(struct cassette *c, size_t n, uint32_t line, const char *mend,
                    struct buf *warning)
{
    c->torn = true;
    c->torn_line = line;
    c->whole = line_start(c->source, line);
    if (warning != NULL) {
        buf_fmt(warning, "%s: the recording was cut off in interaction %zu, which is left out%s%s",
                c->path, n, n > 1 ? "; those before it are whole" : "", mend);
    }
}

static const struct val *timing_of(const struct val *item)
{
    return val_path(item, "response", "assay", NULL);
}

/* Whether a recorder wrote the file, not a hand: it gives times to each of the first n
 * interactions, which are finished, and before them says when it began. */
static bool is_recorded(const struct val *root, size_t n)
{
    const struct val *list = val_get(root, "interactions");
    for (size_t i = 0; i < n; i++) {
        if (timing_of(&list->items[i]) != NULL) {
            return true;
        }
    }
    return n == 0 && val_is(val_path(root, "assay", "run", NULL), VAL_STRING) &&
           val_is(val_path(root, "assay", "started_at", NULL), VAL_STRING);
}

bool load_is_unfinished(const struct val *root, const struct val *list)
{
    return list->count > 0 && !val_is(timing_of(&list->items[list->count - 1]), VAL_OBJECT) &&
           is_recorded(root, list->count - 1);
}

bool load_torn(struct cassette *c, struct str text, struct val **root, uint32_t *cut)
{
    size_t at = last_item_at(text);
    if (at == SIZE_MAX || is_finished(str_slice(text, at, text.n)) ||
        yaml_parse(c->arena, c->path, str_slice(text, 0, at), YAML_CORE, root, NULL) != 0) {
        return false;
    }
    uint32_t column;
    text_place(text, at, cut, &column);
    const struct val *list = val_get(*root, "interactions");
    return is_recorded(*root, val_is(list, VAL_ARRAY) ? list->count : 0);
}
