/* No false alarm: every request of the corpus that a provider took is good. */
#include <dirent.h>
#include <stdio.h>

#include "cassettes/cassette.h"
#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/wire/wire.h"

struct tally {
    int taken;
    int refused;
};

static void check_interaction(const struct interaction *it, struct tally *tallies, const char *file)
{
    enum wire_format f;
    struct val *body;
    struct err e;
    struct arena *arena = arena_new();
    struct wire_refusal r;
    if (it->status == 200 && wire_of_url(it->uri, &f) &&
        json_parse(arena, NULL, it->request_body, &body, &e) == 0) {
        tallies[f].taken++;
        if (!wire_check_request(f, body, true, arena, &r)) {
            tallies[f].refused++;
            printf("\n    %s: %.*s\n        (%.*s)", file, STR_FMT(r.message), STR_FMT(it->uri));
        }
    }
    arena_free(arena);
}

static void check_folder(const char *path, struct tally *tallies)
{
    DIR *dir = opendir(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char file[1024];
        struct cassette *c = NULL;
        struct err e;
        (void)snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (!str_ends(str_of(entry->d_name), ".yaml")) {
            continue;
        }
        CU_ASSERT_EQUAL_FATAL(cassette_load(file, &c, NULL, &e), 0);
        for (size_t i = 0; i < c->n; i++) {
            check_interaction(&c->items[i], tallies, entry->d_name);
        }
        cassette_free(c);
    }
    closedir(dir);
}

static void takes_what_providers_took(void)
{
    struct tally tallies[3] = {{0}};
    if (testing_corpus("cassettes/vanilla") == NULL) {
        testing_skip("no corpus");
        return;
    }
    check_folder(testing_corpus("cassettes"), tallies);
    check_folder(testing_corpus("cassettes/vanilla"), tallies);
    for (size_t f = 0; f < 3; f++) {
        printf("\n    %-9s %3d requests taken", wire_provider((enum wire_format)f),
               tallies[f].taken);
        CU_ASSERT_TRUE(tallies[f].taken >= 20);
        CU_ASSERT_EQUAL(tallies[f].refused, 0);
    }
    printf("\n");
}

TESTS(request_check_corpus,
      {"wire_takes_every_request_that_a_provider_took", takes_what_providers_took})
