/* A small HTTP endpoint on the loopback that behaves as badly as it is told. */
#ifndef CLI_TESTS_LOOPBACK_H
#define CLI_TESTS_LOOPBACK_H

#include <stddef.h>

enum loopback_end {
    LOOPBACK_CLOSE, /* closes when the bytes are out */
    LOOPBACK_HANG   /* keeps the connection open and says nothing more */
};

/* The bytes of an answer, sent as they are once the request has been read. */
struct loopback_answer {
    const char *bytes; /* NULL: none */
    size_t n;          /* 0: strlen(bytes) */
    enum loopback_end end;
};

struct loopback;

/* Starts it: the k-th connection gets the k-th answer, the last one over and over. */
struct loopback *loopback_start(const struct loopback_answer *answers, size_t n);
/* Its base URL, "http://127.0.0.1:PORT/v1". */
const char *loopback_url(const struct loopback *l);
/* Waits until a further request has been read to its end (at most 20 s). */
void loopback_wait_request(struct loopback *l);
/* Ends it; returns how many requests it read. */
size_t loopback_stop(struct loopback *l);

/* A base URL whose port nobody listens at. */
const char *loopback_refusing(void);
#endif
