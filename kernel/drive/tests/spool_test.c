#include "kernel/drive/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "ci/testing/testing.h"
#include "kernel/base/arena.h"

enum { PIECES = 500, IN_MEMORY = 1000 };

/* Piece i: i bytes that tell it from its neighbours. */
static struct str piece(char *room, size_t i)
{
    memset(room, 'a' + (int)(i % 26), i);
    return (struct str){room, i};
}

static void check_pieces(struct spool *s)
{
    char room[PIECES];
    char got[2 * PIECES];
    uint64_t at[PIECES];
    struct err e = {0};
    for (size_t i = 0; i < PIECES; i++) {
        at[i] = spool_add(s, piece(room, i));
    }
    for (size_t i = PIECES; i-- > 0;) {
        CU_ASSERT_EQUAL(spool_read(s, at[i], i, got, &e), 0);
        CU_ASSERT(memcmp(got, piece(room, i).p, i) == 0);
    }
    for (size_t i = 1; i < PIECES; i++) { /* two that stand side by side, wherever they are */
        CU_ASSERT_EQUAL(spool_read(s, at[i - 1], 2 * i - 1, got, &e), 0);
        CU_ASSERT(got[0] == (i == 1 ? 'b' : 'a' + (int)((i - 1) % 26)));
        CU_ASSERT(memcmp(got + i - 1, piece(room, i).p, i) == 0);
    }
}

static void bytes_come_back_from_memory_and_file(void)
{
    static const size_t limits[] = {0, 1, IN_MEMORY, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct spool *s = spool_new(limits[i]);
        check_pieces(s);
        spool_free(s);
    }
    spool_free(NULL);
}

/* Larger than what is read at once, and small ones around it, in any order. */
static void a_large_piece_comes_back(void)
{
    enum { LARGE = 100 * 1000, SMALL = 10 };
    static char large[LARGE], got[LARGE + 2 * SMALL];
    struct spool *s = spool_new(1);
    struct err e = {0};
    memset(large, 'L', sizeof large);
    CU_ASSERT_EQUAL(spool_add(s, STR("0123456789")), 0);
    CU_ASSERT_EQUAL(spool_add(s, (struct str){large, LARGE}), SMALL);
    CU_ASSERT_EQUAL(spool_add(s, STR("abcdefghij")), SMALL + LARGE);
    CU_ASSERT_EQUAL(spool_add(s, STR("in memory")), 2 * SMALL + LARGE);
    for (unsigned turn = 0; turn < 2; turn++) {
        CU_ASSERT_EQUAL(spool_read(s, SMALL + LARGE, SMALL, got, &e), 0);
        CU_ASSERT(memcmp(got, "abcdefghij", SMALL) == 0);
        CU_ASSERT_EQUAL(spool_read(s, 0, SMALL, got, &e), 0);
        CU_ASSERT(memcmp(got, "0123456789", SMALL) == 0);
        CU_ASSERT_EQUAL(spool_read(s, 5, SMALL, got, &e), 0);
        CU_ASSERT(memcmp(got, "56789LLLLL", SMALL) == 0);
        CU_ASSERT_EQUAL(spool_read(s, 0, LARGE + 2 * SMALL, got, &e), 0);
        CU_ASSERT(memcmp(got + SMALL, large, LARGE) == 0);
        CU_ASSERT(memcmp(got + SMALL + LARGE, "abcdefghij", SMALL) == 0);
        CU_ASSERT_EQUAL(spool_add(s, STR("0123456789")), 2 * SMALL + LARGE + 9 + turn * SMALL);
    }
    spool_free(s);
}

/* As on a disk that is full. */
static void a_file_that_cannot_be_written_is_done_without(void)
{
    struct rlimit files;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &files), 0);
    struct rlimit none = {0, files.rlim_max};
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct spool *s = spool_new(IN_MEMORY);
    check_pieces(s);
    spool_free(s);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &files), 0);
}

TESTS(spool, {"bytes_come_back_from_memory_and_file", bytes_come_back_from_memory_and_file},
      {"a_large_piece_comes_back", a_large_piece_comes_back},
      {"a_file_that_cannot_be_written_is_done_without",
       a_file_that_cannot_be_written_is_done_without})
