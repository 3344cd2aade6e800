#include "evals/bfcl_int.h"
enum bfcl_reading bfcl_read_java(struct bfcl_work *w, struct str text, struct bfcl_calls *out)
{
    (void)w;
    (void)text;
    (void)out;
    return BFCL_UNREADABLE;
}
enum bfcl_reading bfcl_read_js(struct bfcl_work *w, struct str text, struct bfcl_calls *out)
{
    (void)w;
    (void)text;
    (void)out;
    return BFCL_UNREADABLE;
}
