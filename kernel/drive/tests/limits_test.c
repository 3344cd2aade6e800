#include "ci/testing/testing.h"
#include "kernel/drive/limits.h"

static const struct wire_quotas silent = {-1, {-1, -1, -1}, {-1, -1, -1}};

static uint64_t when(struct limits *l, int64_t tokens, uint64_t now, enum limits_why expected)
{
    enum limits_why why;
    uint64_t at = limits_when(l, tokens, now, &why);
    CU_ASSERT_EQUAL(why, expected);
    return at;
}

static struct limits_ticket start(struct limits *l, int64_t tokens, uint64_t now)
{
    CU_ASSERT_EQUAL(when(l, tokens, now, LIMITS_NOTHING), now);
    return limits_start(l, tokens, now);
}

static void requests_a_minute(void)
{
    struct limits *l = limits_new(&(struct limits_options){.rpm = 3, .in_flight = 100});
    start(l, 1, 1000);
    start(l, 1, 2000);
    start(l, 1, 2000);
    CU_ASSERT_EQUAL(when(l, 1, 3000, LIMITS_RPM), 61000);
    CU_ASSERT_EQUAL(when(l, 1, 60999, LIMITS_RPM), 61000);
    start(l, 1, 61000);
    CU_ASSERT_EQUAL(when(l, 1, 61000, LIMITS_RPM), 62000);
    start(l, 1, 62000);
    start(l, 1, 62000);
    CU_ASSERT_EQUAL(when(l, 1, 62000, LIMITS_RPM), 121000);
    limits_free(l);
}

static void tokens_a_minute(void)
{
    struct limits *l = limits_new(&(struct limits_options){.tpm = 1000, .in_flight = 100});
    start(l, 400, 0);
    struct limits_ticket second = start(l, 400, 10000);
    CU_ASSERT_EQUAL(when(l, 201, 20000, LIMITS_TPM), 60000);
    CU_ASSERT_EQUAL(when(l, 601, 20000, LIMITS_TPM), 70000);
    start(l, 200, 20000);
    limits_used(l, second, 100); /* fewer than thought */
    CU_ASSERT_EQUAL(when(l, 300, 20000, LIMITS_NOTHING), 20000);
    CU_ASSERT_EQUAL(when(l, 301, 20000, LIMITS_TPM), 60000);
    limits_used(l, second, 5000); /* more */
    CU_ASSERT_EQUAL(when(l, 1, 60000, LIMITS_TPM), 70000);
    limits_used(l, second, -1); /* not known */
    CU_ASSERT_EQUAL(when(l, 1, 60000, LIMITS_TPM), 70000);
    CU_ASSERT_EQUAL(when(l, 5000, 79999, LIMITS_TPM), 80000);
    start(l, 5000, 80000); /* larger than all, so alone */
    CU_ASSERT_EQUAL(when(l, 1, 80000, LIMITS_TPM), 140000);
    limits_used(l, second, 1); /* long gone */
    CU_ASSERT_EQUAL(when(l, 1, 80000, LIMITS_TPM), 140000);
    limits_free(l);
}

static void calls_at_once(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct limits_ticket t[8];
    for (size_t i = 0; i < 8; i++) {
        t[i] = start(l, 1, i);
    }
    CU_ASSERT_EQUAL(when(l, 1, 9, LIMITS_IN_FLIGHT), UINT64_MAX);
    CU_ASSERT_TRUE(limits_answer(l, t[0], 429, &silent, 10));
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 4);
    CU_ASSERT_FALSE(limits_answer(l, t[1], 429, &silent, 11)); /* of the same burst */
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 4);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(when(l, 1, 12, LIMITS_IN_FLIGHT), UINT64_MAX);
        limits_over(l, LIMITS_OTHER);
    }
    struct limits_ticket after = start(l, 1, 13);
    CU_ASSERT_TRUE(limits_answer(l, after, 529, &silent, 14));
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 2);
    static const int64_t grows[] = {2, 3, 3, 3, 4}; /* by one for as many good ends */
    for (size_t i = 0; i < 4; i++) {
        limits_over(l, LIMITS_GOOD);
        CU_ASSERT_EQUAL(limits_in_flight_max(l), grows[i]);
    }
    start(l, 1, 15);
    limits_over(l, LIMITS_GOOD);
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 4);
    for (int i = 0; i < 100; i++) {
        start(l, 1, 16);
        limits_over(l, LIMITS_GOOD);
    }
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 8); /* never above what was asked for */
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(limits_answer(l, start(l, 1, 17), 503, &silent, 17), i == 0);
        limits_over(l, LIMITS_OTHER);
    }
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 1); /* never below one */
    limits_free(l);
}

static void pauses(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct wire_quotas q = silent;
    q.retry_after_ms = 2000;
    limits_answer(l, start(l, 1, 0), 200, &q, 10);
    CU_ASSERT_EQUAL(when(l, 1, 10, LIMITS_NOTHING), 10); /* a good answer asks for none */
    limits_answer(l, start(l, 1, 20), 429, &q, 30);
    limits_over(l, LIMITS_OTHER);
    limits_over(l, LIMITS_OTHER);
    CU_ASSERT_EQUAL(when(l, 1, 40, LIMITS_PAUSE), 2030);
    CU_ASSERT_EQUAL(when(l, 1, 2030, LIMITS_NOTHING), 2030);
    q.retry_after_ms = 3600000;
    limits_answer(l, start(l, 1, 2030), 429, &q, 3000);
    limits_over(l, LIMITS_OTHER);
    CU_ASSERT_EQUAL(when(l, 1, 3000, LIMITS_PAUSE), 63000);
    limits_free(l);
}

/* A bucket of 60 that is full again after 60 s gives one a second. */
static void providers_limits(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct wire_quotas q = silent;
    q.requests = (struct wire_quota){60, 1, 60000};
    limits_answer(l, start(l, 1, 0), 200, &q, 1000);
    start(l, 1, 1000);
    CU_ASSERT_EQUAL(when(l, 1, 1000, LIMITS_REQUESTS), 2000);
    q.requests = (struct wire_quota){-1, 0, 5000};
    limits_answer(l, start(l, 1, 2000), 200, &q, 3000);
    CU_ASSERT_EQUAL(when(l, 1, 3000, LIMITS_REQUESTS), 8000);
    CU_ASSERT_EQUAL(when(l, 1, 8000, LIMITS_NOTHING), 8000);
    q = silent;
    q.tokens = (struct wire_quota){1000, 100, 10000};
    limits_answer(l, start(l, 1, 8000), 200, &q, 9000);
    CU_ASSERT_EQUAL(when(l, 100, 9000, LIMITS_NOTHING), 9000);
    CU_ASSERT_EQUAL(when(l, 101, 9000, LIMITS_TOKENS), 9012); /* 1/900 of 10 s, rounded up */
    CU_ASSERT_EQUAL(when(l, 5000, 9000, LIMITS_TOKENS), 19000);
    limits_free(l);
}

static void long_limits_are_tried(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct wire_quotas q = silent;
    q.requests = (struct wire_quota){-1, 0, 8 * 3600 * 1000};
    limits_answer(l, start(l, 1, 0), 200, &q, 0);
    CU_ASSERT_EQUAL(when(l, 1, 0, LIMITS_REQUESTS), 60000);
    start(l, 1, 60000);
    CU_ASSERT_EQUAL(when(l, 1, 60000, LIMITS_REQUESTS), 120000); /* one asks, the others wait */
    limits_free(l);
}

TESTS(limits, {"limits_count_requests_in_a_window_that_slides", requests_a_minute},
      {"limits_count_tokens_as_known", tokens_a_minute},
      {"limits_halve_calls_at_once_and_grow_again", calls_at_once},
      {"limits_pause_when_asked_to_but_not_for_ever", pauses},
      {"limits_heed_what_the_provider_says_is_left", providers_limits},
      {"limits_that_last_long_are_tried_once_a_minute", long_limits_are_tried})
