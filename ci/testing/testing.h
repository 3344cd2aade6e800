/* What every test executable shares: a registry of suites, paths, and the corpus. */
#ifndef CI_TESTING_TESTING_H
#define CI_TESTING_TESTING_H

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>

/* One test: a name that states a behaviour, and its function. */
struct test {
    const char *name;
    void (*run)(void);
};

/* Registers a suite before main. Use once a file:
 *     TESTS(json, {"json_keeps_digits_beyond_2_53", keeps_digits}, ...) */
void testing_register(const char *suite, const struct test *tests, size_t n);
#define TESTS(suite, ...)                                                                          \
    static const struct test suite##_tests[] = {__VA_ARGS__};                                      \
    __attribute__((constructor)) static void suite##_register(void)                                \
    {                                                                                              \
        testing_register(#suite, suite##_tests, sizeof suite##_tests / sizeof suite##_tests[0]);   \
    }

/* The path of a file in the corpus beside the checkout, in a static buffer of 4; NULL where there
 * is none: the caller then calls testing_skip and returns. ASSAY_CORPUS may name the folder. */
const char *testing_corpus(const char *relative);
void testing_skip(const char *why);

/* A new empty folder under the build tree, removed when the tests pass; in a static buffer of 4. */
const char *testing_dir(void);

/* Compares texts and shows both on failure. */
#define CHECK_TEXT(got, want) testing_text(__FILE__, __LINE__, (got), (want))
bool testing_text(const char *file, int line, const char *got, const char *want);
#endif
