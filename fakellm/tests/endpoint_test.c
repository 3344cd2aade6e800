#include "ci/testing/testing.h"
#include "fakellm/fake.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/files.h"
#include "kernel/drive/loop.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program, and what it printed first. */
struct program {
    pid_t pid;
    int in; /* its stdin: closing it ends it */
    char base[64];
};

static void program_start(struct program *p, const char *scripts)
{
    int in[2];
    int out[2];
    CU_ASSERT_FATAL(pipe(in) == 0 && pipe(out) == 0);
    p->pid = fork();
    CU_ASSERT_FATAL(p->pid >= 0);
    if (p->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[0]);
        close(in[1]);
        close(out[0]);
        close(out[1]);
        execl(BUILD_DIR "/fakellm/tests/fake_endpoint", "fake_endpoint", scripts, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p->in = in[1];
    size_t n = 0;
    while (n + 1 < sizeof p->base && read(out[0], p->base + n, 1) == 1 && p->base[n] != '\n') {
        n++;
    }
    p->base[n] = '\0';
    close(out[0]);
}

static int program_wait(const struct program *p)
{
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(p->pid, &status, 0), p->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What a request came to, as "status wait body END". */
static void head(void *ctx, int status, struct str reason, const struct http_header *headers,
                 size_t n)
{
    (void)reason;
    struct str wait = http_header_get(headers, n, "Retry-After");
    buf_fmt(ctx, "%d %.*s ", status, STR_FMT(wait));
}

static void body(void *ctx, struct str piece)
{
    buf_add(ctx, piece);
}

static void end(void *ctx, enum http_end how, struct str detail)
{
    (void)detail;
    buf_fmt(ctx, " %s", http_end_name(how));
}

/* Asks over HTTP; what came is left in `got`, with a NUL behind. */
static void ask(const struct program *p, const char *path, const char *text, struct buf *got)
{
    struct loop *loop = loop_new();
    struct sched *sched = sched_real(loop);
    struct transport *t = transport_curl(loop, sched, TRANSPORT_LIMITS_DEFAULT);
    struct buf url = {0};
    buf_fmt(&url, "%s%s", p->base, path);
    struct http_header type = {STR("Content-Type"), STR("application/json")};
    struct http_request rq = {STR("POST"), buf_str(&url), &type, 1, str_of(text)};
    buf_clear(got);
    t->ops->start(t, &rq, (struct http_sink){got, head, body, end});
    loop_run(loop);
    buf_char(got, '\0');
    t->ops->free(t);
    sched_free(sched);
    loop_free(loop);
    buf_free(&url);
}

static const char *const question = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
static const char *const streamed =
    "{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

static void serves_one_script_and_ends_with_its_stdin(void)
{
    struct arena *arena = arena_new();
    const char *path = path_join(arena, testing_dir(), "one.script.yaml");
    struct err e = {0};
    struct program p;
    struct buf got = {0};
    CU_ASSERT_EQUAL_FATAL(
        file_replace(path,
                     STR("version: 1\nsteps:\n- fault: {status: 429, retry_after_s: 2}\n"
                         "- reply: {text: hello, chunk: {bytes: 2}}\n"
                         "- fault: {kind: reset, after_bytes: 10}\n"
                         "- {reply: {text: hello}, fault: {kind: truncate, after_bytes: 5}}\n"),
                     &e),
        0);
    program_start(&p, path);
    CU_ASSERT_FATAL(strncmp(p.base, "http://127.0.0.1:", 17) == 0);
    ask(&p, "/v1/chat/completions", question, &got);
    CHECK_TEXT(got.p, "429 2 {\"error\":{\"message\":\"a failure that the script asked for\","
                      "\"type\":\"rate_limit_error\",\"param\":null,\"code\":null}} clean");
    ask(&p, "/v1/chat/completions", streamed, &got);
    CU_ASSERT(strstr(got.p, "\"content\":\"he\"") != NULL);
    CU_ASSERT(strstr(got.p, "data: [DONE]\n\n clean") != NULL);
    ask(&p, "/v1/chat/completions", question, &got);
    CHECK_TEXT(got.p, "200  {\"id\":\"cha reset");
    ask(&p, "/v1/chat/completions", question, &got);
    CHECK_TEXT(got.p, "200  {\"id\" clean");
    ask(&p, "/v1/chat/completions", question, &got);
    CU_ASSERT(strstr(got.p, "400 ") == got.p && strstr(got.p, "one too many") != NULL);
    close(p.in);
    CU_ASSERT_EQUAL(program_wait(&p), 0);
    buf_free(&got);
    arena_free(arena);
}

static void each_base_path_of_a_folder_is_a_session(void)
{
    struct program p;
    struct buf got = {0};
    program_start(&p, "goldens/quickstart");
    for (int i = 0; i < 2; i++) {
        ask(&p,
            i == 0 ? "/s/no-tool-needed/v1/chat/completions"
                   : "/s/no-tool-needed/again/v1/chat/completions",
            "{\"model\":\"fake-1\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}", &got);
        CU_ASSERT(strstr(got.p, "200 ") == got.p && strstr(got.p, "chatcmpl-1") != NULL &&
                  strstr(got.p, "Merci") != NULL);
    }
    ask(&p, "/s/nobody/v1/chat/completions", question, &got);
    CU_ASSERT(strstr(got.p, "404 ") == got.p);
    ask(&p, "/s/../x/v1/chat/completions", question, &got);
    CU_ASSERT(strstr(got.p, "404 ") == got.p);
    ask(&p, "/v1/chat/completions", question, &got);
    CU_ASSERT(strstr(got.p, "404 ") == got.p);
    kill(p.pid, SIGTERM);
    CU_ASSERT_EQUAL(program_wait(&p), 0);
    close(p.in);
    buf_free(&got);
}

TESTS(fake_endpoint,
      {"serves_one_script_and_ends_with_its_stdin", serves_one_script_and_ends_with_its_stdin},
      {"each_base_path_of_a_folder_is_a_session", each_base_path_of_a_folder_is_a_session})
