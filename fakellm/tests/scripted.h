/* What the tests of fakellm/ share: scripts from text, and requests. */
#ifndef FAKELLM_TESTS_SCRIPTED_H
#define FAKELLM_TESTS_SCRIPTED_H

#include "fakellm/fake.h"

/* A script from text, with the arena that holds it. */
struct scripted {
    struct arena *arena;
    struct fake_script *script;
    struct fake_session *session;
};

/* Loads a good script; a bad one fails the test and ends the program. */
struct scripted scripted_new(const char *yaml);
void scripted_free(struct scripted *s);

/* Asks with `body` (JSON) at the usual URL. */
void scripted_ask(struct scripted *s, const char *body, struct fake_answer *out);

/* A request body with one user message. */
extern const char *const ask_plain;
extern const char *const ask_stream;
#endif
