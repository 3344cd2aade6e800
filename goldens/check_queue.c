/* Findings put aside until those that stand before them have been told. */
#include "goldens/check_int.h"

#include <string.h>

/* In front of its message. */
struct head {
    const char *file;
    const char *code;
    uint32_t line;
    uint32_t column;
    uint32_t n; /* of the message */
    enum finding_severity severity;
};

void golden_queue_add(void *ctx, const struct finding *f)
{
    struct golden_queue *q = ctx;
    if (q->files == NULL) {
        q->files = arena_new();
    }
    if (q->file == NULL || strcmp(q->file, f->file) != 0) {
        q->file = arena_cstr(q->files, str_of(f->file));
    }
    const struct head head = {q->file,    f->code, f->line, f->column, (uint32_t)f->message.n,
                              f->severity};
    buf_add(&q->bytes, (struct str){(const char *)&head, sizeof head});
    buf_add(&q->bytes, f->message);
}

void golden_queue_tell(const struct golden_queue *q, size_t from, size_t to,
                       void (*found)(void *ctx, const struct finding *f), void *ctx)
{
    while (to - from >= sizeof(struct head)) {
        struct head head;
        memcpy(&head, q->bytes.p + from, sizeof head);
        from += sizeof head;
        struct finding f = {head.file,   head.line,
                            head.column, head.severity,
                            head.code,   str_slice(buf_str(&q->bytes), from, from + head.n)};
        from += f.message.n;
        found(ctx, &f);
    }
}

void golden_queue_free(struct golden_queue *q)
{
    buf_free(&q->bytes);
    arena_free(q->files);
}
