#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A scripted endpoint on the loopback; `url` is its first line. */
struct endpoint {
    struct program_running running;
    char url[128];
};

static void endpoint_start(struct endpoint *p, const char *script)
{
    const char *const words[] = {"serve", "--script", script, NULL};
    const char *fifo = path_of("%s/url", testing_dir());
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    const struct program_options o = {.out = fifo};
    program_start(words, &o, &p->running);
    fcntl(fd, F_SETFL, 0);
    while (n + 1 < sizeof p->url && read(fd, p->url + n, 1) == 1 && p->url[n] != '\n') {
        n++;
    }
    p->url[n] = '\0';
    close(fd);
    CU_ASSERT_FATAL(strncmp(p->url, "http://127.0.0.1:", 17) == 0);
}

static void endpoint_stop(struct endpoint *p)
{
    kill(p->running.pid, SIGTERM);
    CHECK_STATUS(program_wait(&p->running), 0);
}

/* A line as a shell in the folder runs it, with the program in PATH. */
static const struct ran *shell(const char *dir, const char *url, const char *line, size_t n)
{
    const struct program_options o = {.program = "/bin/sh"};
    const char *script =
        path_of("cd '%s' && PATH='%s':$PATH OPENAI_BASE_URL='%s/v1' OPENAI_API_KEY=k && export "
                "PATH OPENAI_BASE_URL OPENAI_API_KEY && %.*s",
                dir, BUILD_DIR, url, (int)n, line);
    return ASSAY_WITH(&o, "-c", script);
}

static const char *const files[] = {"first.golden.yaml", "first.tools.yaml", "first.script.yaml",
                                    ".github/workflows/assay.yml"};
enum { FILES = sizeof files / sizeof files[0] };

/* Each command that it names, in the order that it names them, in one shell's folder. */
static void all_that_it_tells_to_run_passes(void)
{
    const char *top = testing_dir();
    const struct program_options in_top = {.dir = top};
    const struct ran *r = ASSAY_WITH(&in_top, "init", "desk");
    CHECK_STATUS(r, 0);
    for (size_t i = 0; i < FILES; i++) {
        CHECK_OUT(r, path_of("wrote desk/%s ", files[i]));
    }
    const char *dir = path_of("%s/desk", top);
    struct endpoint endpoint;
    endpoint_start(&endpoint, path_of("%s/first.script.yaml", dir));
    size_t run = 0;
    for (const char *at = strstr(r->out, "\n  "); at != NULL; at = strstr(at, "\n  ")) {
        at += 3;
        size_t n = strcspn(at, "\n");
        bool moves = strncmp(at, "cd ", 3) == 0;
        CHECK_STATUS(shell(moves ? top : dir, endpoint.url, at, n), 0);
        run++;
    }
    endpoint_stop(&endpoint);
    CU_ASSERT_EQUAL(run, 5);
    CU_ASSERT_PTR_NOT_NULL(read_text(path_of("%s/cassettes/where-is-order.yaml", dir), NULL));
    static const char again[] = "assay eval first.golden.yaml --replay cassettes --strict";
    r = shell(dir, "http://127.0.0.1:1", again, sizeof again - 1);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "4 passed, 0 failed, 0 errors");
}

/* The job builds the version that wrote it. ci/jobs runs all of it. */
static void the_job_pins_this_version(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    CHECK_STATUS(ASSAY_WITH(&in_dir, "init"), 0);
    const char *job = read_text(path_of("%s/.github/workflows/assay.yml", dir), NULL);
    const char *version = strchr(ASSAY("--version")->out, ' ');
    CU_ASSERT_PTR_NOT_NULL_FATAL(version);
    const char *pin = path_of("  ASSAY_REF: v%.*s\n", (int)strcspn(version + 1, "\n"), version + 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(job, pin));
}

/* What the job runs once assay is built (ci/jobs runs all); a task that fails makes it fail. */
static void the_job_gates(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    CHECK_STATUS(ASSAY_WITH(&in_dir, "init"), 0);
    const char *job = read_text(path_of("%s/.github/workflows/assay.yml", dir), NULL);
    const char *script = path_of("%s/first.script.yaml", dir);
    for (int broken = 0; broken < 2; broken++) {
        size_t run = 0;
        for (const char *at = strstr(job, "\n      run: "); at != NULL;
             at = strstr(at, "\n      run: ")) {
            at += 12;
            if (*at == '|') {
                continue;
            }
            bool fails = broken && strncmp(at, "assay eval", 10) == 0;
            CHECK_STATUS(shell(dir, "", at, strcspn(at, "\n")), fails ? 1 : 0);
            run++;
        }
        CU_ASSERT_EQUAL(run, 2);
        if (broken) {
            break;
        }
        CHECK_STATUS(shell(dir, "", "rm -r runs", 10), 0);
        const char *good = read_text(script, NULL);
        const char *word = strstr(good, "has been shipped");
        CU_ASSERT_PTR_NOT_NULL_FATAL(word);
        write_text(dir, "first.script.yaml",
                   path_of("%.*sis lost%s", (int)(word - good), good, word + 16));
    }
}

static void nothing_is_overwritten(void)
{
    for (size_t i = 0; i < FILES; i++) {
        const char *dir = testing_dir();
        const struct program_options in_dir = {.dir = dir};
        if (strchr(files[i], '/') != NULL) {
            CU_ASSERT(mkdir(path_of("%s/.github", dir), 0777) == 0);
            CU_ASSERT(mkdir(path_of("%s/.github/workflows", dir), 0777) == 0);
        }
        write_text(dir, files[i], "mine\n");
        const struct ran *r = ASSAY_WITH(&in_dir, "init");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "is there already, and nothing was written");
        for (size_t j = 0; j < FILES; j++) {
            const char *text = read_text(path_of("%s/%s", dir, files[j]), NULL);
            CU_ASSERT(i == j ? text != NULL && strcmp(text, "mine\n") == 0 : text == NULL);
        }
    }
}

static void a_folder_that_cannot_be_made_is_told(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "file", "x");
    const struct ran *r = ASSAY_WITH(&in_dir, "init", "file/desk");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    r = ASSAY_WITH(&in_dir, "init", "a", "b");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    r = ASSAY_WITH(&in_dir, "init", "my desk");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\n  cd 'my desk'\n");
}

TESTS(init, {"init_all_that_it_tells_to_run_passes", all_that_it_tells_to_run_passes},
      {"init_the_job_pins_this_version", the_job_pins_this_version},
      {"init_the_job_gates", the_job_gates},
      {"init_nothing_is_overwritten", nothing_is_overwritten},
      {"init_a_folder_that_cannot_be_made_is_told", a_folder_that_cannot_be_made_is_told})
