#include "evals/bfcl_int.h"
enum bfcl_reading bfcl_read_text(struct bfcl_work *w, enum bfcl_language language, struct str text,
                                 struct bfcl_calls *out)
{
    (void)w;
    (void)language;
    (void)text;
    (void)out;
    return BFCL_UNREADABLE;
}
void bfcl_repr(struct bfcl_work *w, struct buf *out, const struct bfcl_value *v)
{
    (void)w;
    (void)out;
    (void)v;
}
