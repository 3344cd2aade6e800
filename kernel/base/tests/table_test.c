/* Tables of pieces. Expected values: what a look through all the pieces finds. */
#include "kernel/base/table.h"

#include "ci/testing/testing.h"

enum { NUMBERS = 1000 };

static bool same_number(const void *key, const void *piece)
{
    return *(const int *)key == *(const int *)piece;
}

static void puts_numbers(struct table *t, int *numbers, uint64_t (*hash)(int))
{
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = 3 * i;
        struct table_slot *slot = table_find(t, hash(numbers[i]), &numbers[i], same_number);
        CU_ASSERT_PTR_NULL_FATAL(slot->piece);
        table_put(t, slot, hash(numbers[i]), &numbers[i]);
    }
}

static uint64_t spread(int number)
{
    return (uint64_t)number * UINT64_C(0x9E3779B97F4A7C15) >> 7;
}

static uint64_t crowded(int number)
{
    return (uint64_t)(number % 7) << 32; /* all begin at one slot, and many have one hash */
}

static void finds_what_was_put_and_nothing_else(void)
{
    uint64_t (*const hashes[])(int) = {spread, crowded};
    static int numbers[NUMBERS];
    for (size_t h = 0; h < 2; h++) {
        struct table t = {0};
        int wrong = 0;
        puts_numbers(&t, numbers, hashes[h]);
        CU_ASSERT_EQUAL(t.n, NUMBERS);
        for (int key = 0; key < 3 * NUMBERS; key++) {
            void *want = key % 3 == 0 ? &numbers[key / 3] : NULL;
            wrong += table_find(&t, hashes[h](key), &key, same_number)->piece != want;
        }
        CU_ASSERT_EQUAL(wrong, 0);
        table_free(&t);
    }
}

static void is_at_most_half_full(void)
{
    static int numbers[NUMBERS];
    struct table t = {0};
    puts_numbers(&t, numbers, spread);
    CU_ASSERT(2 * t.n <= t.room);
    CU_ASSERT_EQUAL(t.room & (t.room - 1), 0);
    CU_ASSERT(t.room < 8 * t.n);
    table_free(&t);
}

static void begins_anew_once_freed(void)
{
    int number = 1;
    struct table t = {0};
    table_free(&t);
    table_put(&t, table_find(&t, 1, &number, same_number), 1, &number);
    table_free(&t);
    CU_ASSERT_EQUAL(t.n, 0);
    CU_ASSERT_PTR_NULL(table_find(&t, 1, &number, same_number)->piece);
    table_free(&t);
}

TESTS(table, {"table_finds_what_was_put_and_nothing_else", finds_what_was_put_and_nothing_else},
      {"table_is_at_most_half_full", is_at_most_half_full},
      {"table_begins_anew_once_freed", begins_anew_once_freed})
