/* What people do with recordings that are there: hide what is in them, compare them, take over
 * those of other programs, drop parts, mend torn ones. */
#ifndef CASSETTES_EDIT_H
#define CASSETTES_EDIT_H

#include "cassettes/cassette.h"

/* What a redaction hides beside the credentials that it knows. */
struct hiding {
    const struct str *headers; /* names, of any case */
    size_t n_headers;
    const struct str *paths; /* user, $.metadata.keys[0], messages[*].name (cassettes/README.md) */
    size_t n_paths;
    bool *found; /* n_paths, set to true for each at which something stands; NULL = not asked */
};

/* Hides the headers' values, and every string and number at the paths or beneath them, in requests,
 * answers and the events of streams; equal ones get the same name in this file. *hidden is their
 * count. ERR_INPUT: not a path, with what was expected; ERR_LIMIT: too many different values. */
int cassette_hide(struct cassette *c, const struct hiding *h, size_t *hidden,
                  struct err *e) MUST_CHECK;

/* Takes over a recording of another program: vcrpy's in every variant, or an HTTP archive
 * (HAR 1.2), as one of ours, for cassette_write. What is left out is appended to *left_out, a line
 * each, with place and reason. Errors as cassette_load. */
int cassette_import(const char *path, struct cassette **out, struct buf *left_out,
                    struct err *e) MUST_CHECK;

/* Compares two recordings: interactions with equal requests are pairs, then those to the same
 * place, in their order. Appends what was removed, added or changed, in the request or in the
 * answer, for people or as JSON lines; returns how many that are. No credentials are shown. */
size_t cassette_compare(const struct cassette *a, const struct cassette *b, bool json,
                        struct buf *out);

/* ERR_INPUT for a recording whose torn tail would be lost, with the command that mends it. */
int cassette_whole(const struct cassette *c, struct err *e) MUST_CHECK;

/* Drops the torn tail of a recording that was killed: its bytes go to a new file beside it,
 * FILE.torn, then the file is replaced as a whole. Appends to *told what was done, or that nothing
 * was. ERR_INPUT also when the file cannot be read without its tail, ERR_IO also when a recorder
 * has it open. */
int cassette_repair(const char *path, struct buf *told, struct err *e) MUST_CHECK;

/* What to drop from a file; what several name is dropped once. */
struct pruning {
    const char *drop;  /* "3,5-7": these; NULL = not said */
    const char *keep;  /* all but these; NULL = not said */
    const char *model; /* whose request asks this model; NULL = not said */
    bool duplicates;   /* whose request and answer are as in an earlier one */
    bool failed;       /* that ended otherwise than cleanly or with a status of 400 or more */
};

/* Appends the file's text without what is pruned, the rest as it stands, byte for byte, and to
 * *told a line for each that is dropped; *dropped is their count. ERR_USAGE: no numbers, or beyond
 * the end; ERR_INPUT: a torn file, or one that is not written an interaction after the other. */
int cassette_prune(const struct cassette *c, const struct pruning *what, struct buf *out,
                   struct buf *told, size_t *dropped, struct err *e) MUST_CHECK;

/* Replaces a file that is there as a whole. ERR_NOT_FOUND, ERR_IO, also when a recorder has it
 * open; ERR_USAGE for "-", standard input. */
int cassette_replace(const char *path, struct str text, struct err *e) MUST_CHECK;
#endif
