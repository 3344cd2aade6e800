/* Scripts that are played by many trials: each is loaded once, and the last ones stay loaded. */
#include "evals/plan_int.h"
#include "fakellm/fake.h"
#include "kernel/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, SPARE_MAX = 64 };

struct shared_script {
    struct fake_script *script;
    char *path;
    size_t users;
    struct shared_script *next;            /* in its bucket */
    struct shared_script *older, *younger; /* among those without users */
};

struct scripts {
    struct shared_script *buckets[BUCKETS];
    struct shared_script *oldest, *youngest; /* without users */
    size_t spare;                            /* how many these are */
};

struct scripts *scripts_new(void)
{
    return mem_zero(sizeof(struct scripts));
}

static struct shared_script **bucket_of(struct scripts *all, const char *path)
{
    return &all->buckets[hash64(0, str_of(path)) % BUCKETS];
}

static void unlink_spare(struct scripts *all, struct shared_script *s)
{
    *(s->older == NULL ? &all->oldest : &s->older->younger) = s->younger;
    *(s->younger == NULL ? &all->youngest : &s->younger->older) = s->older;
    s->older = s->younger = NULL;
    all->spare--;
}

static void drop(struct scripts *all, struct shared_script *s)
{
    struct shared_script **at = bucket_of(all, s->path);
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    unlink_spare(all, s);
    fake_free(s->script);
    free(s->path);
    free(s);
}

void scripts_free(struct scripts *all)
{
    while (all != NULL && all->oldest != NULL) {
        drop(all, all->oldest);
    }
    free(all);
}

int scripts_get(struct scripts *all, const char *path, struct shared_script **out, struct err *e)
{
    struct shared_script **bucket = bucket_of(all, path);
    struct shared_script *s = *bucket;
    while (s != NULL && strcmp(s->path, path) != 0) {
        s = s->next;
    }
    if (s == NULL) {
        struct fake_script *script = NULL;
        int rc = fake_load(path, &script, e);
        if (rc != 0) {
            return rc;
        }
        s = mem_zero(sizeof *s);
        s->script = script;
        s->path = mem_alloc(strlen(path) + 1);
        memcpy(s->path, path, strlen(path) + 1);
        s->next = *bucket;
        *bucket = s;
    } else if (s->users == 0) {
        unlink_spare(all, s);
    }
    s->users++;
    *out = s;
    return 0;
}

void scripts_put(struct scripts *all, struct shared_script *s)
{
    if (s == NULL || --s->users > 0) {
        return;
    }
    s->older = all->youngest;
    *(all->youngest == NULL ? &all->oldest : &all->youngest->younger) = s;
    all->youngest = s;
    all->spare++;
    if (all->spare > SPARE_MAX) {
        drop(all, all->oldest);
    }
}

const struct fake_script *scripts_script(const struct shared_script *s)
{
    return s->script;
}
