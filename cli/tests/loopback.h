/* A small HTTP endpoint on the loopback that behaves as badly as it is told, in a thread of its
 * own: the test waits for the program meanwhile. (kernel/drive/tests/loopback.h runs on a test's
 * loop.) */
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

/* What stands before a good answer's JSON; a chat completion with this message. */
#define LOOPBACK_JSON                                                                              \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define LOOPBACK_REPLY(message, finish)                                                            \
    LOOPBACK_JSON "{\"id\":\"1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\","    \
                  "\"choices\":[{\"index\":0,\"message\":" message ",\"finish_reason\":\"" finish  \
                  "\"}]}"

/* Some that many tests need: the text "Fine.", a call of calculator with 1+1, no answer ever. */
extern const struct loopback_answer loopback_fine, loopback_calling, loopback_hanging;

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
