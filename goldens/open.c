/* Opened sets: of each task a record stays in memory; what it says is put aside and read again when
 * the task is wanted. */
#include "goldens/check_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/table.h"
#include "kernel/base/val_pack.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"
#include "kernel/drive/spool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    IN_MEMORY_MAX = 1 << 20,
    PIECES_BYTES_MIN = 16 << 20 /* a file of less is read whole, which is faster */
};

/* ---- texts that many tasks share ---- */

struct shared {
    struct str key;   /* ends with a NUL */
    struct str *tags; /* of a list of tags */
    size_t n_tags;
};

static bool has_key(const void *key, const void *piece)
{
    return str_eq(*(const struct str *)key, ((const struct shared *)piece)->key);
}

/* The one with this key; *fresh: it has just been made. */
static struct shared *share(struct table *t, struct arena *arena, struct str key, bool *fresh)
{
    uint64_t hash = hash64(0, key);
    struct table_slot *slot = table_find(t, hash, &key, has_key);
    *fresh = slot->piece == NULL;
    if (*fresh) {
        struct shared *made = arena_alloc(arena, sizeof *made);
        *made = (struct shared){.key = arena_str(arena, key)};
        table_put(t, slot, hash, made);
    }
    return slot->piece;
}

/* ---- what is kept ---- */

/* Where a task is: so many bytes of what was put aside, or a value in memory. */
struct item {
    union {
        uint64_t at;
        const struct val *v;
    };
    uint32_t n; /* 0 = v */
};

/* A file of the set. */
struct file {
    const char *path;
    const char *dir;
    struct golden_defaults def;
    struct golden_judge *judge;
};

struct record {
    struct item item;
    const char *id;
    const struct shared *tags; /* NULL = none */
    const char *fake;
    const struct toolset *tools; /* NULL = its own */
    uint32_t file;
    uint32_t line;
    uint32_t column;
    uint16_t trials;
    uint16_t n_turns : 15;
    uint16_t rubric : 1;
};

struct golden_opened {
    struct spool *aside;
    struct buf packed; /* the item that is put there */
    struct item *items;
    size_t n_items, cap_items;
    size_t first; /* item of the file that is being read */
    struct file *files;
    size_t n_files, cap_files;
    struct record *records;
    size_t n_records, cap_records;
    struct table scripts;
    struct table tags;
};

struct golden_opened *golden_opened_new(void)
{
    struct golden_opened *o = mem_zero(sizeof *o);
    o->aside = spool_new(IN_MEMORY_MAX);
    return o;
}

void golden_opened_free(struct golden_opened *o)
{
    if (o == NULL) {
        return;
    }
    spool_free(o->aside);
    buf_free(&o->packed);
    free(o->items);
    free(o->files);
    free(o->records);
    table_free(&o->scripts);
    table_free(&o->tags);
    free(o);
}

/* ---- one task ---- */

/* A task with what it owns. */
struct own_task {
    struct golden_task task; /* first: golden_task_free gets its address */
    struct arena *arena;
    struct golden_answer *answers;
    struct toolset *tools;
};

void golden_task_free(struct golden_task *t)
{
    if (t == NULL) {
        return;
    }
    struct own_task *own = (struct own_task *)t;
    golden_expect_free(&t->expect);
    golden_answers_free(own->answers);
    toolset_free(own->tools);
    arena_free(own->arena);
}

static int read_item(const struct golden_opened *o, struct item item, struct arena *arena,
                     const struct val **out, struct err *e)
{
    if (item.n == 0) {
        *out = item.v;
        return 0;
    }
    char *bytes = arena_room(arena, item.n);
    int rc = spool_read(o->aside, item.at, item.n, bytes, e);
    if (rc == 0) {
        *out = val_unpack(arena, (struct str){bytes, item.n});
        rc = *out != NULL ? 0 : err_set(e, ERR_IO, "a task that was put aside in /tmp is damaged");
    }
    return rc;
}

/* l is left as it was. */
static int load_task(struct golden_loaded *l, struct item item, const struct file *file,
                     struct own_task **out, struct err *e)
{
    struct arena *arena = arena_new();
    struct own_task *t = arena_alloc(arena, sizeof *t);
    const struct val *v = NULL;
    struct doc doc = l->doc;
    const char *dir = l->dir;
    struct golden_answer *answers = l->answers;
    struct golden_judge *judge = l->judge;
    t->arena = arena;
    l->doc = (struct doc){arena, file->path};
    l->dir = file->dir;
    l->judge = file->judge;
    l->answers = NULL;
    l->own_tools = NULL;
    int rc = read_item(l->opened, item, arena, &v, e);
    rc = rc != 0 ? rc : golden_task_read(l, v, &file->def, &t->task, e);
    t->answers = l->answers;
    t->tools = l->own_tools;
    l->doc = doc;
    l->dir = dir;
    l->answers = answers;
    l->judge = judge;
    l->own_tools = NULL;
    if (rc != 0) {
        golden_task_free(&t->task);
        return rc;
    }
    *out = t;
    return 0;
}

int golden_task_load(struct golden_set *s, size_t i, struct golden_task **out, struct err *e)
{
    struct golden_loaded *l = (struct golden_loaded *)s;
    struct own_task *t;
    assert(l->opened != NULL && i < s->n_tasks);
    const struct record *r = &l->opened->records[i];
    int rc = load_task(l, r->item, &l->opened->files[r->file], &t, e);
    if (rc == 0) {
        *out = &t->task;
    }
    return rc;
}

/* ---- opening ---- */

/* i is 0 again where the text turns out to be no JSON. */
static void put_aside(void *ctx, size_t i, const struct val *v, bool stays)
{
    struct golden_opened *o = ctx;
    struct item item = {.v = v};
    if (!stays) {
        buf_clear(&o->packed);
        val_pack(&o->packed, v);
        item.at = spool_add(o->aside, buf_str(&o->packed));
        item.n = (uint32_t)o->packed.n;
    }
    o->n_items = o->first + i;
    o->items = mem_room(o->items, o->n_items, &o->cap_items, sizeof *o->items);
    o->items[o->n_items++] = item;
}

static struct val *tasks_of(const struct val *root)
{
    for (size_t i = 0; root->kind == VAL_OBJECT && i < root->count; i++) {
        if (str_is(root->members[i].key, "tasks")) {
            return &root->members[i].value;
        }
    }
    return NULL;
}

/* What a JSON text holds besides its tasks, which are put aside, without that text. */
static struct val *copy_head(struct golden_loaded *l, struct val *root)
{
    struct buf packed = {0};
    struct val *tasks = tasks_of(root);
    size_t n = tasks == NULL || tasks->items != NULL ? 0 : tasks->count;
    if (n > 0) {
        tasks->count = 0;
    }
    val_pack(&packed, root);
    struct val *copy = val_unpack(l->set.arena, arena_str(l->set.arena, buf_str(&packed)));
    assert(copy != NULL);
    if (n > 0) {
        tasks_of(copy)->count = n;
    }
    buf_free(&packed);
    return copy;
}

int golden_opened_read(struct golden_loaded *l, struct str text, struct val **root, size_t *first,
                       struct err *e)
{
    struct golden_opened *o = l->opened;
    const struct val_items items = {"tasks", put_aside, o};
    *first = o->first = o->n_items;
    int rc = yaml_parse_items(l->set.arena, l->doc.file, text, &items, root, e);
    if (rc == 0 && (*root)->raw.n > 0) {
        *root = copy_head(l, *root);
    }
    return rc;
}

/* A file as it comes, counted and hashed. */
struct source {
    struct file_pieces *file;
    struct hasher *hasher;
    uint64_t seed; /* of the hash */
    size_t max;    /* bytes that a set may have */
    size_t left;   /* of them */
};

static bool read_piece(void *ctx, char *out, size_t n, size_t *got)
{
    struct source *s = ctx;
    if (!file_pieces_next(s->file, out, n, got) || *got > s->left) {
        return false;
    }
    s->left -= *got;
    hasher_add(s->hasher, (struct str){out, *got});
    return true;
}

/* From its start. */
static bool read_again(void *ctx)
{
    struct source *s = ctx;
    (void)hasher_end(s->hasher);
    s->hasher = hasher_new(s->seed);
    s->left = s->max;
    return file_pieces_again(s->file);
}

bool golden_opened_stream(struct golden_loaded *l, size_t max_bytes, struct val **root,
                          size_t *first)
{
    struct golden_opened *o = l->opened;
    const struct val_items items = {"tasks", put_aside, o};
    struct source s = {.file = file_pieces_open(l->doc.file, PIECES_BYTES_MIN),
                       .seed = l->set.hash,
                       .max = max_bytes,
                       .left = max_bytes};
    const struct yaml_source from = {read_piece, read_again, &s};
    if (s.file == NULL) {
        return false;
    }
    s.hasher = hasher_new(s.seed);
    *first = o->first = o->n_items;
    int rc = yaml_stream_items(l->set.arena, l->doc.file, &from, &items, root);
    uint64_t hash = hasher_end(s.hasher);
    if (rc == 0) {
        l->set.hash = hash;
    } else {
        o->n_items = o->first;
    }
    file_pieces_close(s.file);
    return rc == 0;
}

static const struct shared *share_tags(struct golden_loaded *l, const struct golden_task *t)
{
    bool fresh;
    struct buf key = {0};
    for (size_t i = 0; i < t->n_tags; i++) {
        buf_fmt(&key, "%zu:", t->tags[i].n);
        buf_add(&key, t->tags[i]);
    }
    struct shared *s = share(&l->opened->tags, l->set.arena, buf_str(&key), &fresh);
    buf_free(&key);
    if (fresh) {
        s->n_tags = t->n_tags;
        s->tags = arena_array(l->set.arena, t->n_tags, sizeof *s->tags);
        for (size_t i = 0; i < t->n_tags; i++) {
            s->tags[i] = arena_str(l->set.arena, t->tags[i]);
        }
    }
    return s;
}

static void add_record(struct golden_loaded *l, struct item item, const struct own_task *own)
{
    struct golden_opened *o = l->opened;
    const struct golden_task *t = &own->task;
    bool fresh;
    o->records = mem_room(o->records, o->n_records, &o->cap_records, sizeof *o->records);
    o->records[o->n_records++] = (struct record){
        .item = item,
        .id = arena_str(l->set.arena, t->id).p,
        .tags = t->n_tags == 0 ? NULL : share_tags(l, t),
        .fake = t->fake == NULL ? NULL
                                : share(&o->scripts, l->set.arena, str_of(t->fake), &fresh)->key.p,
        .tools = own->tools != NULL ? NULL : t->tools,
        .file = (uint32_t)(o->n_files - 1),
        .line = t->line,
        .column = t->column,
        .trials = (uint16_t)t->trials,
        .n_turns = (uint16_t)t->n_turns,
        .rubric = golden_answer_rubric(t->expect.answer) != NULL,
    };
    l->set.n_tasks++;
}

/* Tells a mistake in a task. Tools that are broken were told at the first task that names them. */
static void pass_over(struct golden_lint *lint, const struct err *e)
{
    lint->passed_over = true;
    if (e->code != ERR_STATE) {
        lint->wrong(lint->ctx, e);
    }
}

int golden_opened_add(struct golden_loaded *l, const struct val *tasks, size_t first,
                      const struct golden_defaults *def, struct err *e)
{
    struct golden_opened *o = l->opened;
    int rc = 0;
    o->files = mem_room(o->files, o->n_files, &o->cap_files, sizeof *o->files);
    o->files[o->n_files++] = (struct file){l->doc.file, l->dir, *def, l->judge};
    if (l->lint != NULL) {
        golden_lint_file(l->lint, l->doc.file);
    }
    for (size_t i = 0; i < tasks->count && rc == 0; i++) {
        struct own_task *own = NULL;
        struct item item = {.v = tasks->items == NULL ? NULL : &tasks->items[i]};
        if (tasks->items == NULL) {
            item = o->items[first + i];
        }
        rc = load_task(l, item, &o->files[o->n_files - 1], &own, e);
        if (rc == 0) {
            add_record(l, item, own);
            if (l->lint != NULL) {
                golden_lint_task(l, &own->task);
            }
            golden_task_free(&own->task);
        } else if (l->lint != NULL) {
            pass_over(l->lint, e);
            rc = 0;
        }
    }
    return rc;
}

void golden_opened_end(struct golden_opened *o)
{
    free(o->items);
    o->items = NULL;
    o->n_items = o->cap_items = 0;
    buf_free(&o->packed);
    if (o->n_records > 0) {
        o->records = mem_grow(o->records, o->n_records * sizeof *o->records);
    }
    o->cap_records = o->n_records;
}

/* ---- what is known ---- */

struct golden_entry golden_entry(const struct golden_set *s, size_t i)
{
    assert(i < s->n_tasks);
    if (s->tasks != NULL) {
        const struct golden_task *t = &s->tasks[i];
        return (struct golden_entry){
            t->id,   t->tags,   t->n_tags, t->path,
            t->line, t->column, t->trials, t->n_turns,
            t->fake, t->tools,  t->judge,  golden_answer_rubric(t->expect.answer) != NULL};
    }
    const struct golden_opened *o = ((const struct golden_loaded *)s)->opened;
    const struct record *r = &o->records[i];
    return (struct golden_entry){
        .id = str_of(r->id),
        .tags = r->tags == NULL ? NULL : r->tags->tags,
        .n_tags = r->tags == NULL ? 0 : r->tags->n_tags,
        .path = o->files[r->file].path,
        .line = r->line,
        .column = r->column,
        .trials = r->trials,
        .n_turns = r->n_turns,
        .fake = r->fake,
        .tools = r->tools,
        .judge = o->files[r->file].judge,
        .rubric = r->rubric != 0,
    };
}
