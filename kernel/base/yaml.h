/* YAML documents (libyaml underneath, used in yaml_events.c alone) as values with positions. */
#ifndef KERNEL_BASE_YAML_H
#define KERNEL_BASE_YAML_H

#include "kernel/base/err.h"
#include "kernel/base/val.h"

/* How plain scalars resolve: our own files follow YAML 1.2's core schema; other programs' cassettes
 * follow PyYAML's SafeLoader (YAML 1.1: yes/no/on/off, 0o and 0 octal, sexagesimals, 1_000, ~;
 * dates stay strings). */
enum yaml_rules { YAML_CORE, YAML_PYYAML };

enum {
    YAML_DEPTH_MAX = 200,      /* nesting */
    YAML_NODES_MAX = 4000000,  /* values after aliases are expanded */
    YAML_BYTES_MAX = 256 << 20 /* of input */
};

/* Parses one document. file: named in errors, may be NULL. A text that begins with '{' or '[' and
 * is valid JSON is read as JSON. A leading BOM is allowed; UTF-16 and bytes that are not UTF-8 are
 * refused. Aliases and merge keys (<<) are expanded within YAML_NODES_MAX; an alias inside its own
 * anchor is an error. Duplicate keys are an error at the second (YAML_CORE) or the last counts
 * (YAML_PYYAML). Map keys that are not strings become their text. !!binary gives a string with
 * `binary` set. Returns 0 and *out (in arena); ERR_INPUT with line and column in characters (both
 * from 1): syntax, encoding, an empty document, more than one document; ERR_LIMIT beyond the limits
 * above. */
int yaml_parse(struct arena *arena, const char *file, struct str text, enum yaml_rules rules,
               struct val **out, struct err *e) MUST_CHECK;

/* The same by YAML_CORE, with the items of one list handed out (val.h): in *out that list has its
 * count and no items. One with anchors or aliases in it stays; a list that has an anchor itself, or
 * comes by a merge key, is in *out as usual. */
int yaml_parse_items(struct arena *arena, const char *file, struct str text,
                     const struct val_items *items, struct val **out, struct err *e) MUST_CHECK;

/* A text that comes piece by piece. Both return false when they fail. */
struct yaml_source {
    bool (*read)(void *ctx, char *out, size_t n, size_t *got); /* at most n bytes; 0 at the end */
    bool (*again)(void *ctx);                                  /* from its start */
    void *ctx;
};

/* yaml_parse_items for such a text. A negative code for all that is wrong, and for a text that may
 * be JSON: yaml_parse_items of the whole text then says what it is, and hands its items out from
 * the first. So do items where a part of them turns out not to be simple. */
int yaml_stream_items(struct arena *arena, const char *file, const struct yaml_source *from,
                      const struct val_items *items, struct val **out) MUST_CHECK;

/* Whether both YAML versions allow a character as it is and take it for no line break; others need
 * an escape. Sources: YAML 1.1 5.1 and 5.4, YAML 1.2.2 5.1, PyYAML's reader. */
bool yaml_is_printable(uint32_t code);

/* Appends JSON text as YAML: the characters that are not printable, which stand only inside of
 * strings, as JSON escapes. */
void yaml_add_json(struct buf *out, struct str json);
#endif
