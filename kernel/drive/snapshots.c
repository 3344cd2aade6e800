#include "kernel/drive/snapshots.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/core/snapshot.h"
#include "kernel/drive/files.h"

struct snapshots {
    struct arena *arena;
    const char *log;
    const char *path;
    struct snapshot_mark last;
    struct buf text;
    bool broken;
};

static const char *path_of(struct arena *arena, const char *log)
{
    return arena_printf(arena, "%s.snap", log).p;
}

/* Whether nothing is lost with the file: there is none, or an empty one, or a snapshot. */
static bool is_free(const char *path)
{
    return !path_exists(path) || (path_is_file(path) && access(path, R_OK) == 0 &&
                                  !file_begins_otherwise(path, STR(SNAPSHOT_BEGINNING)));
}

struct snapshots *snapshots_new(const char *path, bool anew)
{
    struct arena *arena = arena_new();
    const char *snapshot = path_of(arena, path);
    if (strcmp(path, "-") == 0 || !path_is_file(path) || !is_free(snapshot)) {
        arena_free(arena);
        return NULL;
    }
    if (anew) {
        unlink(snapshot);
    }
    struct snapshots *s = mem_zero(sizeof *s);
    s->arena = arena;
    s->log = arena_cstr(arena, str_of(path));
    s->path = snapshot;
    return s;
}

void snapshots_take(struct snapshots *s, const struct kernel *k)
{
    if (s == NULL || s->broken || !kernel_snapshot_due(k, &s->last)) {
        return;
    }
    buf_clear(&s->text);
    s->broken = !kernel_snapshot(k, &s->text, &s->last) ||
                file_swap(s->path, s->log, buf_str(&s->text), NULL) != 0;
}

void snapshots_free(struct snapshots *s)
{
    if (s != NULL) {
        buf_free(&s->text);
        arena_free(s->arena);
        free(s);
    }
}

struct str snapshots_read(struct arena *arena, const char *path)
{
    struct str text = {NULL, 0};
    const char *snapshot = path_of(arena, path);
    if (strcmp(path, "-") == 0 || !path_is_file(snapshot) ||
        file_read(arena, snapshot, SNAPSHOT_BYTES_MAX, &text, NULL) != 0) {
        return (struct str){NULL, 0};
    }
    return text;
}
