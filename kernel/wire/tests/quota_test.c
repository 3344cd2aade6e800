#include "ci/testing/testing.h"
#include "kernel/wire/quota.h"

#include <stdio.h>

/* The samples of OpenAI's guide "Rate limits", and forms that other servers send. */
static void openai_headers(void)
{
    const struct http_header headers[] = {{STR("x-ratelimit-limit-requests"), STR("60")},
                                          {STR("X-RateLimit-Limit-Tokens"), STR("150000")},
                                          {STR("x-ratelimit-remaining-requests"), STR("59")},
                                          {STR("x-ratelimit-remaining-tokens"), STR("149984")},
                                          {STR("x-ratelimit-reset-requests"), STR("1s")},
                                          {STR("x-ratelimit-reset-tokens"), STR("6m0s")}};
    struct wire_quotas q = wire_quotas_read(headers, 6);
    CU_ASSERT_EQUAL(q.requests.limit, 60);
    CU_ASSERT_EQUAL(q.requests.left, 59);
    CU_ASSERT_EQUAL(q.requests.reset_ms, 1000);
    CU_ASSERT_EQUAL(q.tokens.limit, 150000);
    CU_ASSERT_EQUAL(q.tokens.left, 149984);
    CU_ASSERT_EQUAL(q.tokens.reset_ms, 360000);
    CU_ASSERT_EQUAL(q.retry_after_ms, -1);
    q = wire_quotas_read(NULL, 0);
    CU_ASSERT_EQUAL(q.requests.left, -1);
    CU_ASSERT_EQUAL(q.tokens.reset_ms, -1);
}

static void durations(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"20ms", 20},
        {"1h2m3.5s", 3723500},
        {"2m59.56s", 179560},
        {"7.66s", 7660},
        {"30", 30000},
        {" 0s ", 0},
        {"0.5ms", 1},
        {"999h", 604800000},
        {"999999999999h", -1},
        {"", -1},
        {"s", -1},
        {"1x", -1},
        {"-1s", -1},
        {"1.s", -1},
        {".5s", -1},
        {"1s2", 3000},
        {"99999999999999999999s", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct http_header headers[] = {
            {STR("x-ratelimit-remaining-requests"), STR("0")},
            {STR("x-ratelimit-reset-requests"), str_of(cases[i].text)}};
        struct wire_quotas q = wire_quotas_read(headers, 2);
        if (q.requests.reset_ms != cases[i].ms) {
            printf("\n  %s: %lld\n", cases[i].text, (long long)q.requests.reset_ms);
            CU_FAIL("duration");
        }
    }
}

/* A reset is a time of day (RFC 3339), read against the answer's Date. */
static void anthropic_headers(void)
{
    static const struct {
        const char *reset;
        int64_t ms;
    } cases[] = {
        {"2026-11-29T18:00:12Z", 12000},      {"2026-11-29T18:00:12.75Z", 12750},
        {"2026-11-29T20:00:12+02:00", 12000}, {"2026-11-29T17:30:12-00:30", 12000},
        {"2026-11-29T17:59:00Z", 0},          {"2027-11-29T17:59:00Z", 604800000},
        {"2026-11-29 18:00:12", -1},          {"tomorrow", -1},
        {"2026-13-29T18:00:12Z", -1},         {"2026-11-29T20:00:12+0200", 12000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct http_header headers[] = {
            {STR("Date"), STR("Sun, 29 Nov 2026 18:00:00 GMT")},
            {STR("anthropic-ratelimit-requests-limit"), STR("50")},
            {STR("anthropic-ratelimit-requests-remaining"), STR("3")},
            {STR("anthropic-ratelimit-requests-reset"), str_of(cases[i].reset)},
            {STR("anthropic-ratelimit-tokens-remaining"), STR("1000")},
            {STR("Retry-After"), STR("2")}};
        struct wire_quotas q = wire_quotas_read(headers, 6);
        CU_ASSERT_EQUAL(q.requests.limit, 50);
        CU_ASSERT_EQUAL(q.requests.left, 3);
        CU_ASSERT_EQUAL(q.tokens.left, 1000);
        CU_ASSERT_EQUAL(q.tokens.reset_ms, -1);
        CU_ASSERT_EQUAL(q.retry_after_ms, 2000);
        if (q.requests.reset_ms != cases[i].ms) {
            printf("\n  %s: %lld\n", cases[i].reset, (long long)q.requests.reset_ms);
            CU_FAIL("reset");
        }
    }
}

TESTS(quota, {"quota_reads_openai_headers", openai_headers}, {"quota_reads_durations", durations},
      {"quota_reads_anthropic_headers", anthropic_headers})
