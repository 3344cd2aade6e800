/* A command as words, without a shell. */
#include <string.h>

#include "evals/agent.h"
#include "kernel/drive/child.h"

enum { COMMAND_WORDS_MAX = 1000 };

/* What a shell would do more with than take it as it is. */
static bool is_for_shell(char c)
{
    return c != '\0' && strchr("|&;<>()$`*?[#~\n", c) != NULL;
}

struct reader {
    struct str text;
    size_t at;
    struct buf word;
};

static int refuse(char c, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "--agent: %s is for a shell, and none is used: put it in quotes, or name one: "
                   "--agent \"sh -c '...'\"",
                   c == '\n' ? "a new line" : (const char[]){c, '\0'});
}

/* What is in double quotes, from behind the first. */
static int read_double(struct reader *r, struct err *e)
{
    for (; r->at < r->text.n && r->text.p[r->at] != '"'; r->at++) {
        char c = r->text.p[r->at];
        char next = r->at + 1 < r->text.n ? r->text.p[r->at + 1] : '\0';
        if (c == '$' || c == '`') {
            return refuse(c, e);
        }
        if (c == '\\' && next != '\0' && strchr("\"\\$`", next) != NULL) {
            c = next;
            r->at++;
        }
        buf_char(&r->word, c);
    }
    return 0;
}

static void read_single(struct reader *r)
{
    for (; r->at < r->text.n && r->text.p[r->at] != '\''; r->at++) {
        buf_char(&r->word, r->text.p[r->at]);
    }
}

/* One character outside of quotes, or what is in the quotes that it opens. */
static int read_part(struct reader *r, struct err *e)
{
    char c = r->text.p[r->at++];
    if (c == '\'' || c == '"') {
        int rc = 0;
        if (c == '"') {
            rc = read_double(r, e);
        } else {
            read_single(r);
        }
        if (rc == 0 && r->at == r->text.n) {
            rc = err_set(e, ERR_USAGE, "--agent: a quote %c is not closed", c);
        }
        r->at++;
        return rc;
    }
    if (c == '\\' && r->at < r->text.n) {
        c = r->text.p[r->at++];
    } else if (is_for_shell(c)) {
        return refuse(c, e);
    }
    buf_char(&r->word, c);
    return 0;
}

static bool at_space(const struct reader *r)
{
    return r->text.p[r->at] == ' ' || r->text.p[r->at] == '\t';
}

static int read_words(struct reader *r, struct arena *arena, struct agent_command *out,
                      struct err *e)
{
    int rc = 0;
    while (rc == 0 && r->at < r->text.n) {
        if (at_space(r)) {
            r->at++;
            continue;
        }
        buf_clear(&r->word);
        while (rc == 0 && r->at < r->text.n && !at_space(r)) {
            rc = read_part(r, e);
        }
        if (rc == 0 && out->n == COMMAND_WORDS_MAX) {
            rc = err_set(e, ERR_USAGE, "--agent: more than %d words", COMMAND_WORDS_MAX);
        } else if (rc == 0) {
            out->words[out->n++] = arena_str(arena, buf_str(&r->word));
        }
    }
    return rc;
}

static bool is_named(struct str word, const char *const *names)
{
    for (size_t slash; (slash = str_find(word, STR("/"))) != SIZE_MAX;) {
        word = str_slice(word, slash + 1, word.n);
    }
    for (; *names != NULL; names++) {
        if (str_is(word, *names)) {
            return true;
        }
    }
    return false;
}

/* -c, -lc, -e: behind which an interpreter takes a script. */
static bool is_script_option(struct str word)
{
    return str_starts(word, "-") && !str_starts(word, "--") &&
           (str_ends(word, "c") || str_ends(word, "e"));
}

/* Whether word i is a script: of a shell that stands anywhere before it (env, timeout and their
 * kin start others), or of another interpreter all of whose words before it are options. */
static bool is_script(const struct agent_command *c, size_t i)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "fish", NULL};
    static const char *const others[] = {"python", "python3", "node", "perl", "ruby", NULL};
    bool options = true;
    for (size_t k = i - 1; is_script_option(c->words[i - 1]) && k-- > 0;) {
        if (is_named(c->words[k], shells) || (options && is_named(c->words[k], others))) {
            return true;
        }
        options = options && str_starts(c->words[k], "-");
    }
    return false;
}

/* A prompt in a script would be run. */
static int check_words(const struct agent_command *c, struct arena *arena, struct err *e)
{
    if (c->n == 0 || c->words[0].n == 0) {
        return err_set(e, ERR_USAGE, "--agent names no program");
    }
    for (size_t i = 2; i < c->n; i++) {
        if (str_find(c->words[i], STR("{prompt}")) != SIZE_MAX && is_script(c, i)) {
            return err_set(e, ERR_USAGE,
                           "--agent: what is in the prompt would be run as a part of this script: "
                           "let it read $ASSAY_PROMPT or its standard input in place of "
                           "{prompt}");
        }
    }
    if (!program_found(arena, c->words[0].p, ".")) {
        return err_set(e, ERR_NOT_FOUND, "--agent: there is no program %s%s", c->words[0].p,
                       str_find(c->words[0], STR("/")) == SIZE_MAX
                           ? " in PATH; one of this folder is written ./NAME"
                           : " that can be run");
    }
    return 0;
}

int agent_command_read(const char *text, struct arena *arena, struct agent_command *out,
                       struct err *e)
{
    struct reader r = {.text = str_of(text)};
    *out = (struct agent_command){.text = r.text};
    out->words = arena_array(arena, COMMAND_WORDS_MAX, sizeof *out->words);
    int rc = read_words(&r, arena, out, e);
    buf_free(&r.word);
    return rc != 0 ? rc : check_words(out, arena, e);
}
