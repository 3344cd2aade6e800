/* Shared by the files of the player: player.c answers, nearest.c finds, miss.c tells. */
#ifndef CASSETTES_PLAYER_INT_H
#define CASSETTES_PLAYER_INT_H

#include "cassettes/cassette_int.h"
#include "cassettes/player.h"

/* A request as the player looks it up. */
struct asked {
    struct str method;
    struct str uri;
    struct str body;
    const struct val *json;
};

struct player_transport {
    struct transport base;
    struct player *player;
};

struct player_toolbox {
    struct toolbox base;
    struct player *player;
};

/* What is in a request, for measuring how far two are apart: a hash of each of its values with its
 * place, rising. */
struct signature {
    uint64_t *parts;
    size_t n;
};

struct player {
    struct arena *arena;
    struct player_options o;
    const struct rules *rules;
    struct index *answers; /* by what decides the answer */
    struct index *places;  /* by path and method */
    bool *used;
    size_t n_used;
    uint32_t first_unused;
    uint32_t *jump;     /* of a used interaction: an unused one is behind here, at its place */
    uint32_t *recorded; /* how many are at the place of an interaction, at the place's first one */
    uint32_t *requests; /* to it, likewise */
    struct signature *signatures; /* made when needed */
    struct player_transport transport;
    struct player_toolbox toolbox;
    struct http_call *calls;
    struct tool_run *runs;
    size_t misses;
    size_t drifts;
    size_t live;
    struct buf miss_text;
    struct buf drift_text;
    struct buf unused_text;
};

struct asked player_recorded(const struct interaction *it);

/* ---- nearest.c ---- */

/* Takes a recording out of those that can be had. */
void player_use(struct player *p, uint32_t i);

/* The first at or behind interaction i, at its place, that was not used; INDEX_NONE at the end. */
uint32_t player_unused_from(struct player *p, uint32_t i);

/* The recording of a place whose values differ from the request's in the fewest places, the earlier
 * one where several do; INDEX_NONE where there is none. Only NEAREST_MAX of them are looked at, the
 * first in the file; with `used` also so many used ones, which come behind equally near unused
 * ones. */
enum { NEAREST_MAX = 256 };
uint32_t player_nearest(struct player *p, struct key place, const struct asked *a, bool used);

/* ---- miss.c ---- */

/* Notes a miss; `detail` gets the one line that the session hears. */
void player_note_miss(struct player *p, const struct asked *a, struct str what, struct buf *detail);
/* Writes unused_text; returns how many there are. */
size_t player_list_unused(struct player *p);
/* Notes how a request differs from the recording that it got, where it does. */
void player_note_drift(struct player *p, const struct interaction *it, const struct asked *a);

#endif
