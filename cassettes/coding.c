/* Content codings (RFC 9110 8.4.1): gzip (RFC 1952), deflate (RFC 1950, and the bare RFC 1951 that
 * some servers send). Our own client asks for none; others' recordings hold them. */
#include "cassettes/cassette_int.h"
#include "kernel/base/text.h"

#include <limits.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

enum { PIECE_BYTES = 32768, WINDOW_GZIP = 15 + 16, WINDOW_ZLIB = 15, WINDOW_RAW = -15 };

enum coding {
    CODING_IDENTITY, /* nothing named, or a body that is plain whatever its header says */
    CODING_GZIP,
    CODING_DEFLATE,
    CODING_UNKNOWN /* br, zstd, several: such a body is left as it is */
};

static bool is_gzip(struct str body)
{
    return body.n > 2 && (unsigned char)body.p[0] == 0x1f && (unsigned char)body.p[1] == 0x8b;
}

static bool is_zlib(struct str body)
{
    if (body.n < 2) {
        return false;
    }
    unsigned first = (unsigned char)body.p[0];
    unsigned second = (unsigned char)body.p[1];
    return (first & 0x0f) == 8 && first >> 4 <= 7 && (first << 8 | second) % 31 == 0;
}

/* What `body` really is coded with, given the header's word (n 0 = no header). */
static enum coding coding_of(struct str header, struct str body)
{
    header = str_trim(header);
    if (header.n == 0 || body.n == 0 || str_is_nocase(header, "identity")) {
        return CODING_IDENTITY;
    }
    if (str_is_nocase(header, "gzip") || str_is_nocase(header, "x-gzip")) {
        return is_gzip(body) ? CODING_GZIP : CODING_IDENTITY;
    }
    bool plain = utf8_invalid_at(body) == SIZE_MAX;
    if (str_is_nocase(header, "deflate")) {
        return is_zlib(body) || !plain ? CODING_DEFLATE : CODING_IDENTITY;
    }
    /* A recorder that decodes leaves the header and stores text. */
    return plain ? CODING_IDENTITY : CODING_UNKNOWN;
}

/* Inflates one member (gzip) or stream. Returns zlib's code; *rest is what follows it. */
static int inflate_one(int window, struct str body, struct buf *out, struct str *rest)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    int rc = inflateInit2(&z, window);
    if (rc != Z_OK) {
        return rc;
    }
    char piece[PIECE_BYTES];
    size_t at = 0;
    do {
        if (z.avail_in == 0 && at < body.n) {
            size_t n = body.n - at < INT_MAX ? body.n - at : INT_MAX;
            z.next_in = (const Bytef *)body.p + at;
            z.avail_in = (uInt)n;
            at += n;
        }
        z.next_out = (Bytef *)piece;
        z.avail_out = PIECE_BYTES;
        rc = inflate(&z, Z_NO_FLUSH);
        buf_add(out, (struct str){piece, PIECE_BYTES - z.avail_out});
    } while (rc == Z_OK && !out->truncated);
    size_t left = z.avail_in + (body.n - at);
    *rest = str_slice(body, body.n - left, body.n);
    inflateEnd(&z);
    return rc;
}

/* Appends the decoded body. */
static int decode(enum coding coding, struct str body, struct buf *out, struct err *e)
{
    int window = coding == CODING_GZIP ? WINDOW_GZIP : is_zlib(body) ? WINDOW_ZLIB : WINDOW_RAW;
    out->max = CASSETTE_BODY_MAX;
    struct str rest = body;
    do {
        int rc = inflate_one(window, rest, out, &rest);
        if (out->truncated) {
            return err_set(e, ERR_LIMIT, "the body is over %d MiB when decoded",
                           CASSETTE_BODY_MAX >> 20);
        }
        if (rc != Z_STREAM_END) {
            return err_set(e, ERR_INPUT, "the %s body is damaged: %s",
                           coding == CODING_GZIP ? "gzip" : "deflate",
                           rc == Z_BUF_ERROR ? "it ends too early" : zError(rc));
        }
    } while (coding == CODING_GZIP && is_gzip(rest));
    return 0;
}

/* Removes what no longer holds of a decoded body. Returns the new count. */
static size_t drop_headers(struct http_header *headers, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!str_is_nocase(headers[i].name, "content-encoding") &&
            !str_is_nocase(headers[i].name, "transfer-encoding") &&
            !str_is_nocase(headers[i].name, "content-length")) {
            headers[kept++] = headers[i];
        }
    }
    return kept;
}

int cassette_undo_coding(struct interaction *it, struct arena *arena, struct err *e)
{
    struct str word = http_header_get(it->headers, it->n_headers, "content-encoding");
    enum coding coding = coding_of(word, it->body);
    struct buf plain = {0};
    int rc = 0;
    switch (coding) {
    case CODING_UNKNOWN: return 0;
    case CODING_IDENTITY: break;
    case CODING_GZIP:
    case CODING_DEFLATE:
        rc = decode(coding, it->body, &plain, e);
        if (rc == 0) {
            it->body = arena_str(arena, buf_str(&plain));
            it->n_chunks = 0;
        }
    }
    if (rc == 0 && word.n > 0) {
        it->n_headers = drop_headers(it->headers, it->n_headers);
    }
    buf_free(&plain);
    return rc;
}
