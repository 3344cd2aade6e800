/* Reading promptfoo's configuration part by part. */
#ifndef GOLDENS_PROMPTFOO_INT_H
#define GOLDENS_PROMPTFOO_INT_H

#include "goldens/make.h"
#include "kernel/base/doc.h"

enum { PROMPTFOO_FILE_BYTES_MAX = 64 << 20 };

/* A prompt: what system and user say, with {{variables}}. */
struct prompt {
    const struct val *at;
    struct str system; /* p NULL = none */
    struct str *turns;
    size_t n_turns;
};

/* A configuration that becomes a set. */
struct promptfoo {
    struct arena *arena;
    struct doc doc;
    const char *dir;
    struct golden_made *out;
    void (*left)(void *ctx, const struct finding *f);
    void *ctx;
    struct prompt *prompts;
    size_t n_prompts;
    const struct val *usual; /* defaultTest; NULL = none */
    size_t filled_in;        /* bytes that templates came to */
    const struct val *full;  /* the template with which they are more than a set holds; NULL */
};

/* ---- promptfoo.c ---- */

/* Names something that is not taken over. */
void promptfoo_leave(const struct promptfoo *m, const struct val *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Names each key that is not among the known ones, which NULL ends. */
void promptfoo_leave_others(const struct promptfoo *m, const struct val *map,
                            const char *const *known, const char *what);
/* A text as messages show it; in the arena. */
struct str promptfoo_shown(const struct promptfoo *m, struct str s);

/* ---- promptfoo_prompts.c ---- */

/* Reads "prompts". ERR_INPUT: there is none that can be taken over, or more than 1,000. */
int promptfoo_prompts(struct promptfoo *m, const struct val *root, struct err *e) MUST_CHECK;

/* Fills in {{name}} by the test's variables; false, told, where the template wants more than that.
 */
bool promptfoo_render(struct promptfoo *m, const struct val *test, struct str text,
                      const struct val *at, struct str *out);

/* What a test says in a prompt, with room for its turns; false, told, where it cannot be filled in.
 */
bool promptfoo_fill_in(struct promptfoo *m, const struct val *test, const struct prompt *p,
                       struct str *system, struct str *turns);

/* ---- promptfoo_asserts.c ---- */

/* Appends what the asserts of the test, and of all tests, come to as a task's "expect". */
void promptfoo_expect(struct promptfoo *m, const struct val *test, struct buf *out);
#endif
