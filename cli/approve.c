#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/approve.h"
#include "cli/cli.h"
#include "kernel/base/json.h"
#include "kernel/base/match.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

enum { DECISIONS_BYTES_MAX = 16 << 20, ARGUMENTS_SHOWN = 1000, ANSWER_BYTES = 256 };

/* A line of the file of decisions. */
struct rule {
    uint32_t line;
    struct str tool;
    struct arg_match *when; /* NULL = any arguments */
    enum decision decision;
};

struct approver {
    struct loop *loop;
    struct arena *arena;
    const char *file; /* of decisions, in arena; NULL = none */
    struct rule *rules;
    size_t n_rules;
    struct rig *rig;    /* that waits for an answer of the terminal; NULL = nobody does */
    struct str call_id; /* of its call */
    struct str name;
    struct str arguments;
    int terminal; /* a file description of its own; -1 = none open */
    struct loop_watch *watch;
};

/* ---- the file of decisions ---- */

static int read_rule(struct doc d, const struct val *v, struct rule *out, struct err *e)
{
    static const char *const keys[] = {"tool", "when", "decision", NULL};
    static const char *const decisions[] = {"allow", "deny", "always", NULL};
    const struct val *when = NULL;
    int decision = -1;
    out->line = v->line;
    int rc = doc_keys(d, v, "a decision", keys, e);
    if (rc == 0) {
        rc = doc_str(d, v, "tool", DOC_REQUIRED, &out->tool, e);
    }
    if (rc == 0 && out->tool.n == 0) {
        rc = doc_fail(d, val_get(v, "tool"), e, "\"tool\" is the name of a tool, got \"\"");
    }
    if (rc == 0) {
        rc = doc_map(d, v, "when", DOC_OPTIONAL, &when, e);
    }
    if (rc == 0) {
        rc = doc_enum(d, v, "decision", decisions, &decision, e);
    }
    if (rc == 0 && decision < 0) {
        rc = doc_fail(d, v, e, "\"decision\" is missing; it is allow, deny or always");
    }
    out->decision = (enum decision)(decision < 0 ? 0 : decision);
    return rc == 0 && when != NULL ? args_match_new(d, when, &out->when, e) : rc;
}

static int read_rules(struct approver *a, const char *path, struct err *e)
{
    static const char *const keys[] = {"version", "decisions", NULL};
    struct doc d = {a->arena, arena_cstr(a->arena, str_of(path))};
    a->file = d.file;
    struct str text;
    struct val *root;
    const struct val *list = NULL;
    int rc = file_read(a->arena, path, DECISIONS_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : yaml_parse(a->arena, d.file, text, YAML_CORE, &root, e);
    rc = rc != 0 ? rc : doc_keys(d, root, "a file of decisions", keys, e);
    rc = rc != 0 ? rc : doc_version(d, root, e);
    rc = rc != 0 ? rc : doc_list(d, root, "decisions", DOC_REQUIRED, &list, e);
    if (rc != 0) {
        return rc;
    }
    a->rules = arena_array(a->arena, list->count, sizeof *a->rules);
    for (; rc == 0 && a->n_rules < list->count; a->n_rules++) {
        rc = read_rule(d, &list->items[a->n_rules], &a->rules[a->n_rules], e);
    }
    return rc;
}

int approver_new(struct loop *loop, const char *decisions, struct approver **out, struct err *e)
{
    struct approver *a = mem_zero(sizeof *a);
    *a = (struct approver){.loop = loop, .arena = arena_new(), .terminal = -1};
    int rc = decisions == NULL ? 0 : read_rules(a, decisions, e);
    if (rc != 0) {
        approver_free(a);
        return rc;
    }
    *out = a;
    return 0;
}

/* A decision that something else goes before: one that denies would be thought to hold. */
static void tell_idle(const struct approver *a, const struct rule *r, const struct tool_spec *tool,
                      const enum tier_policy *tiers)
{
    static const char *const tier_words[] = {"read", "write", "danger"};
    bool denies = r->decision == DECIDED_DENY;
    if (tool == NULL) {
        tell("%s:%u: warning: no tool of this run is called %.*s", a->file, (unsigned)r->line,
             STR_FMT(r->tool));
    } else if (tiers[tool->tier] == (denies ? TIER_POLICY_ALLOW : TIER_POLICY_DENY)) {
        tell("%s:%u: warning: calls of %.*s are %s unasked, whatever stands here; --approve %s=ask "
             "asks",
             a->file, (unsigned)r->line, STR_FMT(r->tool), denies ? "allowed" : "denied",
             tier_words[tool->tier]);
    }
}

void approver_check(const struct approver *a, const struct toolset *tools,
                    const enum tier_policy *tiers)
{
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(tools, &n);
    for (size_t i = 0; i < a->n_rules; i++) {
        const struct tool_spec *tool = NULL;
        for (size_t k = 0; k < n && tool == NULL; k++) {
            tool = str_eq(specs[k].name, a->rules[i].tool) ? &specs[k] : NULL;
        }
        tell_idle(a, &a->rules[i], tool, tiers);
    }
}

void approver_free(struct approver *a)
{
    if (a != NULL) {
        approver_end(a);
        for (size_t i = 0; i < a->n_rules; i++) {
            args_match_free(a->rules[i].when);
        }
        arena_free(a->arena);
        free(a);
    }
}

/* The first rule that fits decides. Behind one that may fit (its regular expression came to the
 * match limit on what the model wrote) none does: a denial is not got past by a long argument. */
bool approver_decides(const struct approver *a, struct str name, struct str arguments,
                      enum decision *decision)
{
    bool unsure = false;
    const struct args_match_options loose = {.ignore_extra = true, .unsure = &unsure};
    struct arena *arena = arena_new();
    struct val *args = NULL;
    bool found = false;
    bool parsed = json_parse(arena, NULL, arguments, &args, NULL) == 0;
    for (size_t i = 0; parsed && !found && !unsure && i < a->n_rules; i++) {
        const struct rule *r = &a->rules[i];
        if (str_eq(r->tool, name) &&
            (r->when == NULL || args_match_test(r->when, args, &loose, NULL))) {
            found = true;
            *decision = r->decision;
        }
    }
    arena_free(arena);
    return found;
}

/* ---- the terminal ---- */

static void put_question(const struct approver *a)
{
    struct arena *arena = arena_new();
    struct str name = text_preview(arena, a->name, ARGUMENTS_SHOWN);
    struct str arguments = text_preview(arena, a->arguments, ARGUMENTS_SHOWN);
    fprintf(stderr, "%.*s %.*s: allow? [y]es / [n]o / [a]lways ", STR_FMT(name),
            STR_FMT(arguments));
    fflush(stderr);
    arena_free(arena);
}

static void decide(struct approver *a, enum decision decision)
{
    struct rig *rig = a->rig;
    struct str call_id = a->call_id;
    approver_end(a);
    rig_approve(rig, call_id, decision);
}

/* A line of the terminal; nothing but spaces, or other words, are asked about again. */
static void on_line(void *arg)
{
    struct approver *a = arg;
    char bytes[ANSWER_BYTES];
    ssize_t n = read(a->terminal, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    struct str word = str_trim((struct str){bytes, n < 0 ? 0 : (size_t)n});
    if (n <= 0) { /* Ctrl+D, or the terminal is gone */
        fputc('\n', stderr);
        decide(a, DECIDED_DENY);
    } else if (str_is_nocase(word, "y") || str_is_nocase(word, "yes")) {
        decide(a, DECIDED_ALLOW);
    } else if (str_is_nocase(word, "n") || str_is_nocase(word, "no")) {
        decide(a, DECIDED_DENY);
    } else if (str_is_nocase(word, "a") || str_is_nocase(word, "always")) {
        decide(a, DECIDED_ALWAYS);
    } else {
        put_question(a);
    }
}

/* A file description of its own: watching makes it non-blocking, which the shell's must not be. */
static int open_terminal(void)
{
    char name[256];
    int fd = -1;
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
        return -1;
    }
    if (ttyname_r(STDIN_FILENO, name, sizeof name) == 0) {
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    }
    return fd >= 0 ? fd : open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static bool ask_terminal(struct approver *a, struct rig *rig)
{
    a->terminal = open_terminal();
    a->watch = a->terminal < 0 ? NULL : loop_watch(a->loop, a->terminal, on_line, a);
    if (a->watch == NULL) {
        approver_end(a);
        return false;
    }
    a->rig = rig;
    put_question(a);
    return true;
}

void approver_end(struct approver *a)
{
    loop_unwatch(a->watch);
    if (a->terminal >= 0) {
        close(a->terminal);
    }
    a->watch = NULL;
    a->terminal = -1;
    a->rig = NULL;
}

void approver_ask(struct approver *a, struct rig *rig, struct str call_id, struct str name,
                  struct str arguments)
{
    enum decision decision = DECIDED_DENY;
    if (approver_decides(a, name, arguments, &decision)) {
        rig_approve(rig, call_id, decision);
        return;
    }
    a->call_id = call_id;
    a->name = name;
    a->arguments = arguments;
    if (!ask_terminal(a, rig)) {
        tell("%.*s is denied: nobody can be asked; --approve or --decisions FILE can allow it",
             STR_FMT(name));
        rig_approve(rig, call_id, DECIDED_DENY);
    }
}
