#include "cli/tests/model_server.h"

#include "ci/testing/testing.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its first line is read from a pipe. */
void server_start(struct server *s, const char *const *words)
{
    char line[128];
    size_t n = 0;
    const char *fifo = path_of("%s/url", testing_dir());
    CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    struct program_options o = {.out = fifo};
    program_start(words, &o, &s->running);
    fcntl(fd, F_SETFL, 0);
    while (n + 1 < sizeof line && read(fd, line + n, 1) == 1 && line[n] != '\n') {
        n++;
    }
    line[n] = '\0';
    close(fd);
    CU_ASSERT_EQUAL_FATAL(strncmp(line, "http://127.0.0.1:", 17), 0);
    s->url = path_of("%s", line);
    s->more[0] = path_of("OPENAI_BASE_URL=%s/v1", line);
    s->more[1] = NULL;
}

const struct ran *server_end(struct server *s)
{
    kill(s->running.pid, SIGTERM);
    return program_wait(&s->running);
}
