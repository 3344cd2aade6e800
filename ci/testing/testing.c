#include "ci/testing/testing.h"

#include <CUnit/Basic.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUITES_MAX = 64, PATH_BYTES = 4096, DIRS_MAX = 1024 };

static struct {
    const char *name;
    const struct test *tests;
    size_t n;
} suites[SUITES_MAX];
static size_t n_suites;
static char dirs[DIRS_MAX][256];
static size_t n_dirs;
static unsigned skipped;

void testing_register(const char *suite, const struct test *tests, size_t n)
{
    assert(n_suites < SUITES_MAX);
    suites[n_suites].name = suite;
    suites[n_suites].tests = tests;
    suites[n_suites++].n = n;
}

const char *testing_corpus(const char *relative)
{
    static char paths[4][PATH_BYTES];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    const char *root = getenv("ASSAY_CORPUS");
    int n = root != NULL
                ? snprintf(path, PATH_BYTES, "%s/%s", root, relative)
                : snprintf(path, PATH_BYTES, "%s/../shared/corpus/%s", SOURCE_DIR, relative);
    if (n < 0 || n >= PATH_BYTES || access(path, R_OK) != 0) {
        return NULL;
    }
    return path;
}

void testing_skip(const char *why)
{
    skipped++;
    printf(" skipped: %s ", why);
}

const char *testing_dir(void)
{
    assert(n_dirs < DIRS_MAX);
    char *dir = dirs[n_dirs];
    int n = snprintf(dir, sizeof dirs[0], "%s/tmp-XXXXXX", BUILD_DIR);
    assert(n > 0 && n < (int)sizeof dirs[0]);
    char *made = mkdtemp(dir);
    assert(made != NULL);
    n_dirs++;
    return made;
}

static void remove_dirs(void)
{
    for (size_t i = 0; i < n_dirs; i++) {
        char command[512];
        int n = snprintf(command, sizeof command, "rm -rf '%s'", dirs[i]);
        if (n > 0 && n < (int)sizeof command && system(command) != 0) {
            fprintf(stderr, "could not remove %s\n", dirs[i]);
        }
    }
}

bool testing_text(const char *file, int line, const char *got, const char *want)
{
    bool same = got != NULL && want != NULL && strcmp(got, want) == 0;
    if (!same) {
        printf("\n%s:%d:\n  got  %s\n  want %s\n", file, line, got == NULL ? "(null)" : got,
               want == NULL ? "(null)" : want);
    }
    CU_assertImplementation(same, (unsigned)line, "CHECK_TEXT", file, "", CU_FALSE);
    return same;
}

static bool chosen(const char *suite, const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], suite) == 0 || strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc < 2;
}

/* What is opened later is none of the standard streams, also where some were closed. */
static void open_streams(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Usage: MODULE_test [SUITE|TEST]... */
int main(int argc, char **argv)
{
    open_streams();
    if (CU_initialize_registry() != CUE_SUCCESS) {
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < n_suites; i++) {
        CU_pSuite suite = CU_add_suite(suites[i].name, NULL, NULL);
        for (size_t j = 0; suite != NULL && j < suites[i].n; j++) {
            const struct test *t = &suites[i].tests[j];
            if (chosen(suites[i].name, t->name, argc, argv) &&
                CU_add_test(suite, t->name, t->run) == NULL) {
                fprintf(stderr, "cannot add test %s\n", t->name);
                return EXIT_FAILURE;
            }
        }
    }
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    unsigned ran = CU_get_number_of_tests_run();
    if (skipped > 0) {
        printf("%u tests skipped\n", skipped);
    }
    CU_cleanup_registry();
    if (failed == 0) {
        remove_dirs();
    }
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
