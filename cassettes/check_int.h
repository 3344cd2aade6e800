/* Shared by the files that check a cassette. */
#ifndef CASSETTES_CHECK_INT_H
#define CASSETTES_CHECK_INT_H

#include "cassettes/cassette_int.h"

/* A place in the file. */
struct place {
    size_t at;
    uint32_t line;
    uint32_t column;
};

struct checking {
    const struct cassette *c;
    void (*found)(void *ctx, const struct finding *f);
    void *ctx;
    struct arena *arena;
    struct place item;   /* where the interaction at hand begins; moves forward only */
    struct place secret; /* the last secret found in it */
    enum {
        SECRETS_FIRST, /* of a body only the first secret is told; one in a header is a warning */
        SECRETS_ALL    /* each is told, as an error */
    } secrets;
};

void cassette_tell_at(struct checking *k, struct place place, enum finding_severity severity,
                      const char *code, struct str message);

/* ---- secrets.c ---- */

/* Turns to the next interaction. They come in their order. */
void cassette_place_item(struct checking *k, const struct interaction *it);

/* Tells the secrets of an interaction. */
void cassette_find_secrets(struct checking *k, const struct reading *r);

#endif
