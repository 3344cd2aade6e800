/* A compiled schema: a graph of nodes, shared by the files of the schema module. */
#ifndef KERNEL_BASE_SCHEMA_INT_H
#define KERNEL_BASE_SCHEMA_INT_H

#include "kernel/base/arena.h"
#include "kernel/base/regex.h"
#include "kernel/base/schema.h"

enum {
    SCHEMA_NODES_MAX = 50000,
    SCHEMA_NAMES_MAX = 2000, /* resources, and anchors */
    SCHEMA_DEPTH_MAX = 1000, /* nodes entered at once, compiling or checking */
    SCHEMA_STEPS_MAX = 2000000
};

struct node;

/* A part of the schema with a URI of its own: the root, and every `$id`. */
struct resource {
    struct resource *next;
    struct str uri; /* absolute where the schema says so, without fragment */
    const struct val *root;
};

struct anchor {
    struct anchor *next;
    const struct resource *resource;
    struct str name;
    struct node *node;
    bool dynamic;
};

struct pattern {
    struct pattern *next; /* all of a schema, for freeing */
    struct regex *regex;
};

/* A member of a keyword that maps names to schemas. */
struct named {
    struct str key;
    struct node *node;
    const struct pattern *pattern; /* patternProperties */
    const struct val *names;       /* dependencies: a list of names instead of a schema */
};

struct named_list {
    struct named *items;
    size_t n;
};

struct node_list {
    struct node **items;
    size_t n;
};

enum node_kind { NODE_ANY, NODE_NONE, NODE_RULES };

/* One schema. NULL, empty, -1 and {NULL, 0} stand for keywords that are not there. */
struct node {
    enum node_kind kind;
    const struct val *at;
    const struct resource *resource;
    unsigned types; /* bits of enum schema_type; 0 = any */
    const struct val *constant;
    const struct val *choices;
    struct str multiple_of;
    struct str minimum;
    struct str maximum;
    struct str above; /* exclusiveMinimum */
    struct str below;
    int64_t min_length;
    int64_t max_length;
    const struct pattern *pattern;
    struct node_list prefix;
    struct node *items; /* behind the prefix */
    struct node *contains;
    int64_t min_contains;
    int64_t max_contains;
    int64_t min_items;
    int64_t max_items;
    bool unique;
    struct node *unevaluated_items;
    struct named_list properties; /* sorted by key */
    struct named_list patterns;
    struct node *additional;
    struct node *names;
    struct named_list dependent;
    const struct val *required;
    int64_t min_properties;
    int64_t max_properties;
    struct node *unevaluated_properties;
    struct node_list all_of;
    struct node_list any_of;
    struct node_list one_of;
    struct node *not_this;
    struct node *if_this;
    struct node *then;
    struct node *otherwise;
    struct node *ref;
    struct node *dynamic_ref;
    struct str dynamic_name; /* of a $dynamicRef that looks through the dynamic scope */
};

enum schema_type {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INTEGER = 4,
    TYPE_NUMBER = 8,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64
};

struct schema {
    struct arena *arena;
    enum schema_draft draft;
    struct node *root;
    struct resource *resources;
    struct anchor *anchors;
    struct pattern *patterns;
};

/* ---- schema_uri.c ---- */

/* The URI that `ref` means at `base` (RFC 3986, section 5.2), without its fragment; in arena. */
struct str uri_resolve(struct arena *arena, struct str base, struct str ref);

/* What stands behind the '#', percent-decoded; empty where there is none. */
struct str uri_fragment(struct arena *arena, struct str ref);

/* ---- schema_pattern.c ---- */

/* A regular expression of ECMA 262 in PCRE2's spelling. */
void pattern_translate(struct str pattern, struct buf *out);

/* ---- schema_check.c ---- */

/* The state of one validation; zero-initialised but for schema and why. */
struct check {
    const struct schema *schema;
    struct buf *why; /* where the first failure is told; NULL = nowhere */
    const struct scope *scope;
    unsigned depth;
    uint64_t steps;
    bool exceeded; /* a bound was hit: nothing is valid any more */
};

/* Whether v is valid against n alone, as the root of a validation. */
bool check_node(struct check *c, const struct node *n, const struct val *v);

/* The bits of the types that v has: a whole number has two. */
unsigned types_of(const struct val *v);
#endif
