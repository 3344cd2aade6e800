/* The cassettes that every release wrote, replayed to the event logs of then, byte for byte. They
 * stand in cassettes/releases/VERSION; ci/record-release made them, and nothing makes them anew. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define RELEASES SOURCE_DIR "/cassettes/releases"

enum { FIRST_RELEASE_SESSIONS = 4 };

/* One session of a release: a cassette, its log and what was asked. */
static void replay_session(const char *dir, const char *system, const char *name,
                           const char *prompt)
{
    const char *trace = path_of("%s/replay.jsonl", testing_dir());
    const char *cassette = path_of("%s/%s.yaml", dir, name);
    const char *tools = path_of("%s/tools.yaml", dir);
    const struct ran *r = ASSAY("run", "--replay", cassette, "--strict", "--trace", trace,
                                "--tools", tools, "--system", system, prompt);
    CHECK_STATUS(r, 0);
    if (!same_bytes(trace, path_of("%s/%s.jsonl", dir, name))) {
        FAIL("%s replays to another log than the release's: %s", cassette, trace);
    }
}

/* sessions.tsv: a line a session, its name and its prompt. Returns how many there are. */
static size_t replay_release(const char *dir)
{
    char system[512];
    char name[64];
    char prompt[512];
    size_t n = 0;
    const char *said = read_text(path_of("%s/system.txt", dir), NULL);
    const char *sessions = read_text(path_of("%s/sessions.tsv", dir), NULL);
    CU_ASSERT_FATAL(said != NULL && sessions != NULL);
    snprintf(system, sizeof system, "%.*s", (int)strcspn(said, "\n"), said);
    for (const char *line = sessions; *line != '\0'; line += strcspn(line, "\n") + 1, n++) {
        CU_ASSERT_EQUAL_FATAL(sscanf(line, "%63[^\t]\t%511[^\n]", name, prompt), 2);
        replay_session(dir, system, name, prompt);
    }
    return n;
}

static void every_release_replays_to_its_logs(void)
{
    DIR *d = opendir(RELEASES);
    CU_ASSERT_FATAL(d != NULL);
    size_t n = 0;
    for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
        if (entry->d_name[0] != '.') {
            n += replay_release(path_of("%s/%s", RELEASES, entry->d_name));
        }
    }
    closedir(d);
    CU_ASSERT(n >= FIRST_RELEASE_SESSIONS);
}

static void no_release_holds_an_error(void)
{
    const struct ran *r = ASSAY(
        "cassette", "check", RELEASES "/0.1.0/streamed.yaml", RELEASES "/0.1.0/failing-tool.yaml",
        RELEASES "/0.1.0/retried-tool.yaml", RELEASES "/0.1.0/busy-model.yaml");
    CHECK_STATUS(r, 0);
}

TESTS(release, {"release_cassettes_replay_to_their_logs", every_release_replays_to_its_logs},
      {"release_cassettes_hold_no_errors", no_release_holds_an_error})
