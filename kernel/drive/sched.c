/* Invariants:
 * 1. Nothing is delivered from inside sched_post, sched_wake or sched_touch, only from a turn.
 * 2. `now` never passes something that is still to be delivered; so each thing comes exactly at its
 *    millisecond, under each clock, however late the machine is.
 * 3. Within one millisecond tool results (order > 0) come by rising order; one that would come too
 *    late for that is put off by a millisecond.
 * 4. While a virtual clock is held nothing is delivered. */
#include "kernel/drive/sched.h"

#include "kernel/base/arena.h"
#include "kernel/drive/loop_int.h"

#include <assert.h>
#include <stdlib.h>
#include <uv.h>

/* Deliveries in one turn; then others have theirs and interrupts are looked for. */
enum { TURN_MAX = 1024, SPEED_ONE = 1000 };

enum place { PLACE_NORMAL, PLACE_LAST };

struct timer {
    uint64_t at_ms;
    enum place place; /* among the things due at at_ms */
    uint32_t order;
    uint64_t seq;
    size_t index; /* in the heap */
    void (*fn)(void *arg);
    void *arg;
};

enum sched_state {
    SCHED_IDLE,
    SCHED_QUEUED,  /* a turn was asked for */
    SCHED_RUNNING, /* inside a turn */
    SCHED_DOOMED   /* freed inside its own turn, which will free it */
};

enum pace {
    PACE_JUMPS, /* virtual: from one thing to the next at once */
    PACE_SPEED, /* virtual, but each thing comes when its time is there by the wall */
    PACE_WALL   /* real */
};

struct sched {
    struct loop *loop;
    enum sched_state state;
    uint64_t now_ms;
    uint32_t order_max; /* highest order delivered at now_ms */
    uint64_t seq;
    unsigned holds;
    struct timer **heap;
    size_t n;
    size_t cap;
    enum pace pace;
    uv_timer_t *alarm; /* NULL = never waits for the wall */
    uint64_t base_ms;  /* uv_now when `now` was base_now_ms */
    uint64_t base_now_ms;
    uint64_t speed; /* thousandths of our milliseconds that pass in one of the loop's */
};

static void turn(void *arg);

/* ---- the heap: earliest first ---- */

static bool before(const struct timer *a, const struct timer *b)
{
    if (a->at_ms != b->at_ms) {
        return a->at_ms < b->at_ms;
    }
    if (a->place != b->place) {
        return a->place < b->place;
    }
    if (a->order != b->order) {
        return a->order < b->order;
    }
    return a->seq < b->seq;
}

static void heap_put(struct sched *s, size_t i, struct timer *t)
{
    s->heap[i] = t;
    t->index = i;
}

static void heap_up(struct sched *s, size_t i)
{
    struct timer *t = s->heap[i];
    while (i > 0 && before(t, s->heap[(i - 1) / 2])) {
        heap_put(s, i, s->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(s, i, t);
}

static void heap_down(struct sched *s, size_t i)
{
    struct timer *t = s->heap[i];
    for (size_t child = 2 * i + 1; child < s->n; child = 2 * i + 1) {
        if (child + 1 < s->n && before(s->heap[child + 1], s->heap[child])) {
            child++;
        }
        if (!before(s->heap[child], t)) {
            break;
        }
        heap_put(s, i, s->heap[child]);
        i = child;
    }
    heap_put(s, i, t);
}

static void heap_add(struct sched *s, struct timer *t)
{
    s->heap = mem_room(s->heap, s->n, &s->cap, sizeof(struct timer *));
    heap_put(s, s->n, t);
    s->n++;
    heap_up(s, s->n - 1);
}

static void heap_remove(struct sched *s, struct timer *t)
{
    size_t i = t->index;
    assert(i < s->n && s->heap[i] == t);
    s->n--;
    if (i == s->n) {
        return;
    }
    heap_put(s, i, s->heap[s->n]);
    heap_up(s, i);
    heap_down(s, s->heap[i]->index);
}

/* ---- asking for the next turn ---- */

static void on_alarm(uv_timer_t *handle);

/* The loop's clock as this scheduler counts it. */
static uint64_t real_ms(const struct sched *s)
{
    return s->base_now_ms + (uv_now(loop_uv(s->loop)) - s->base_ms) * s->speed / SPEED_ONE;
}

/* Counts the loop's clock on from `now`. */
static void set_base(struct sched *s)
{
    uv_loop_t *uv = loop_uv(s->loop);
    uv_update_time(uv);
    s->base_ms = uv_now(uv);
    s->base_now_ms = s->now_ms;
}

static void ask_turn(struct sched *s)
{
    s->state = SCHED_QUEUED;
    loop_defer(s->loop, turn, s);
}

/* Sees to it that a turn comes when the first thing is due, and none when nothing is. */
static void arm(struct sched *s)
{
    if (s->state == SCHED_RUNNING || s->state == SCHED_DOOMED) {
        return; /* the turn does it at its end */
    }
    if (s->n == 0 || (sched_is_virtual(s) && s->holds > 0)) {
        if (s->state == SCHED_QUEUED) {
            loop_undefer(s->loop, turn, s);
            s->state = SCHED_IDLE;
        }
        if (s->alarm != NULL) {
            uv_timer_stop(s->alarm);
        }
        return;
    }
    if (s->state == SCHED_QUEUED) {
        return;
    }
    uint64_t due = s->heap[0]->at_ms;
    if (s->alarm == NULL || due <= s->now_ms || due <= real_ms(s)) {
        ask_turn(s);
        return;
    }
    uint64_t wait = ((due - real_ms(s)) * SPEED_ONE + s->speed - 1) / s->speed;
    int rc = uv_timer_start(s->alarm, on_alarm, wait, 0);
    assert(rc == 0);
    (void)rc;
}

static void on_alarm(uv_timer_t *handle)
{
    struct sched *s = handle->data;
    arm(s);
}

/* ---- making and freeing ---- */

struct sched *sched_virtual(struct loop *loop)
{
    struct sched *s = mem_zero(sizeof *s);
    s->loop = loop;
    return s;
}

/* Gives it the wall's clock, from its `now` on. */
static void follow_wall(struct sched *s, enum pace pace, uint32_t speed)
{
    s->pace = pace;
    s->speed = speed;
    set_base(s);
    s->alarm = loop_timer_new(s->loop, s);
}

struct sched *sched_real(struct loop *loop)
{
    struct sched *s = sched_virtual(loop);
    follow_wall(s, PACE_WALL, SPEED_ONE);
    return s;
}

struct sched *sched_paced(struct loop *loop, uint32_t thousandths)
{
    assert(thousandths > 0);
    struct sched *s = sched_virtual(loop);
    follow_wall(s, PACE_SPEED, thousandths);
    return s;
}

void sched_make_real(struct sched *s)
{
    if (s->pace == PACE_JUMPS) {
        follow_wall(s, PACE_WALL, SPEED_ONE);
        arm(s);
    }
}

static void sched_destroy(struct sched *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->heap[i]);
    }
    free(s->heap);
    if (s->alarm != NULL) {
        loop_timer_free(s->alarm);
    }
    free(s);
}

void sched_skip(struct sched *s, uint64_t ms)
{
    s->now_ms += ms;
    s->base_now_ms += ms;
}

void sched_free(struct sched *s)
{
    if (s == NULL) {
        return;
    }
    switch (s->state) {
    case SCHED_RUNNING: s->state = SCHED_DOOMED; return;
    case SCHED_QUEUED: loop_undefer(s->loop, turn, s); break;
    case SCHED_IDLE: break;
    case SCHED_DOOMED: assert(!"freed twice"); return;
    }
    sched_destroy(s);
}

bool sched_is_virtual(const struct sched *s)
{
    return s->pace != PACE_WALL;
}

uint64_t sched_now(const struct sched *s)
{
    return s->now_ms;
}

/* ---- things due ---- */

static struct timer *add(struct sched *s, struct timer what)
{
    assert(what.fn != NULL);
    if (s->pace == PACE_SPEED && s->state == SCHED_IDLE && s->n == 0) {
        set_base(s); /* while there was nothing to wait for no time has passed */
    }
    struct timer *t = mem_alloc(sizeof *t);
    *t = what;
    t->seq = s->seq++;
    heap_add(s, t);
    arm(s);
    return t;
}

struct timer *sched_post(struct sched *s, uint64_t delay_ms, uint32_t order, void (*fn)(void *arg),
                         void *arg)
{
    uint64_t at = delay_ms < UINT64_MAX - s->now_ms ? s->now_ms + delay_ms : UINT64_MAX;
    return add(s, (struct timer){
                      .at_ms = at, .place = PLACE_NORMAL, .order = order, .fn = fn, .arg = arg});
}

struct timer *sched_wake(struct sched *s, uint64_t at_ms, void (*fn)(void *arg), void *arg)
{
    uint64_t at = at_ms > s->now_ms ? at_ms : s->now_ms;
    return add(s, (struct timer){.at_ms = at, .place = PLACE_LAST, .fn = fn, .arg = arg});
}

void sched_cancel(struct sched *s, struct timer *t)
{
    if (t == NULL) {
        return;
    }
    heap_remove(s, t);
    free(t);
    arm(s);
}

static void advance(struct sched *s, uint64_t to_ms)
{
    if (to_ms > s->now_ms) {
        s->now_ms = to_ms;
        s->order_max = 0;
    }
}

/* Takes the next thing that is due off the heap and brings `now` to it; false when there is none.
 */
static bool next_due(struct sched *s, struct timer *out)
{
    while (s->n > 0 && (!sched_is_virtual(s) || s->holds == 0)) {
        struct timer *t = s->heap[0];
        if (s->alarm != NULL && t->at_ms > s->now_ms && t->at_ms > real_ms(s)) {
            return false;
        }
        advance(s, t->at_ms);
        if (t->order != 0 && t->order < s->order_max) {
            t->at_ms = s->now_ms + 1;
            heap_down(s, 0);
            continue;
        }
        if (t->order != 0) {
            s->order_max = t->order;
        }
        *out = *t;
        heap_remove(s, t);
        free(t);
        return true;
    }
    return false;
}

static void turn(void *arg)
{
    struct sched *s = arg;
    s->state = SCHED_RUNNING;
    struct timer t;
    for (int i = 0; i < TURN_MAX && s->state == SCHED_RUNNING && next_due(s, &t); i++) {
        t.fn(t.arg);
    }
    if (s->state == SCHED_DOOMED) {
        sched_destroy(s);
        return;
    }
    s->state = SCHED_IDLE;
    arm(s);
}

/* ---- the world ---- */

void sched_hold(struct sched *s)
{
    s->holds++;
    arm(s);
}

void sched_release(struct sched *s)
{
    assert(s->holds > 0);
    s->holds--;
    if (s->pace == PACE_SPEED && s->holds == 0) {
        set_base(s);
    }
    arm(s);
}

void sched_touch(struct sched *s)
{
    if (sched_is_virtual(s)) {
        return;
    }
    uv_update_time(loop_uv(s->loop));
    uint64_t real = real_ms(s);
    if (s->n > 0 && s->heap[0]->at_ms < real) {
        real = s->heap[0]->at_ms;
    }
    advance(s, real);
}
