#include "kernel/base/sink.h"

static void hand_on(struct sink *s, size_t n)
{
    struct str piece = {s->text.p, n};
    if (s->code == 0 && s->text.truncated) {
        s->code = err_set(&s->error, ERR_LIMIT, "a piece of the text is larger than 1 GiB");
    }
    if (s->code == 0 && n > 0) {
        s->code = s->write(s->ctx, piece, &s->error);
    }
}

bool sink_ease(struct sink *s)
{
    if (s->write != NULL && s->text.n > SINK_BYTES) {
        char last = s->text.p[s->text.n - 1];
        hand_on(s, s->text.n - 1);
        buf_clear(&s->text);
        buf_char(&s->text, last);
    }
    return s->code == 0;
}

int sink_end(struct sink *s, struct err *e)
{
    if (s->write != NULL) {
        hand_on(s, s->text.n);
    }
    buf_free(&s->text);
    if (s->code != 0 && e != NULL) {
        *e = s->error;
    }
    return s->code;
}
