#include "evals/stats.h"
#include "kernel/base/arena.h"
#include "kernel/base/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

/* ---- one rate, one mean ---- */

/* size > 0 need not be whole. */
static struct interval wilson(double p, double size)
{
    double zz = STATS_Z_975 * STATS_Z_975;
    double middle = p + zz / (2 * size);
    double half = STATS_Z_975 * sqrt(p * (1 - p) / size + zz / (4 * size * size));
    double scale = 1 + zz / size;
    double low = p <= 0 ? 0 : clamp((middle - half) / scale, 0, 1);
    double high = p >= 1 ? 1 : clamp((middle + half) / scale, 0, 1);
    return (struct interval){true, low, high};
}

struct interval stats_wilson(int64_t passed, int64_t n)
{
    assert(passed >= 0 && passed <= n);
    return n == 0 ? (struct interval){false, 0, 0} : wilson((double)passed / (double)n, (double)n);
}

double stats_mean(const struct cluster *c, size_t n)
{
    double sum = 0;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        sum += c[i].sum;
        count += c[i].n;
    }
    return count == 0 ? 0 : sum / (double)count;
}

double stats_clustered_error(const struct cluster *c, size_t n)
{
    double mean = stats_mean(c, n), squares = 0;
    int64_t count = 0;
    if (n < 2) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        double deviation = c[i].sum - (double)c[i].n * mean;
        squares += deviation * deviation;
        count += c[i].n;
    }
    return sqrt(squares * (double)n / (double)(n - 1)) / (double)count;
}

struct interval stats_clustered(const struct cluster *c, size_t n)
{
    double p = stats_mean(c, n), error = stats_clustered_error(c, n);
    double all = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        all += (double)c[i].n;
        squares += (double)c[i].n * (double)c[i].n;
    }
    if (n == 0) {
        return (struct interval){false, 0, 0};
    }
    double least = all * all / squares; /* each cluster counts as one value */
    bool told = error >= 0 && p > 0 && p < 1;
    double size = !told ? least : error > 0 ? p * (1 - p) / (error * error) : all;
    return wilson(p, clamp(size, least, all));
}

/* ---- bootstrap ---- */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double resampled_mean(const struct cluster *c, size_t n, struct rng *rng)
{
    double sum = 0;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct cluster *drawn = &c[rng_below(rng, n)];
        sum += drawn->sum;
        count += drawn->n;
    }
    return sum / (double)count;
}

/* The place of a percentile in tenths among n sorted values. */
static size_t rank_of(size_t n, size_t per_mille)
{
    return (n * per_mille + 999) / 1000 - 1;
}

/* Whether all clusters have the same mean. */
static bool all_alike(const struct cluster *c, size_t n)
{
    size_t i = 1;
    while (i < n && c[i].sum * (double)c[0].n == c[0].sum * (double)c[i].n) {
        i++;
    }
    return i >= n;
}

struct interval stats_bootstrap(const struct cluster *c, size_t n, uint64_t seed)
{
    if (all_alike(c, n)) {
        return (struct interval){false, 0, 0};
    }
    size_t times = STATS_DRAWS_MAX / n;
    times = times > STATS_RESAMPLES       ? STATS_RESAMPLES
            : times < STATS_RESAMPLES_MIN ? STATS_RESAMPLES_MIN
                                          : times;
    struct rng rng = rng_seeded(seed);
    double *means = mem_alloc(times * sizeof *means);
    for (size_t i = 0; i < times; i++) {
        means[i] = resampled_mean(c, n, &rng);
    }
    qsort(means, times, sizeof *means, by_number);
    struct interval found = {true, means[rank_of(times, 25)], means[rank_of(times, 975)]};
    free(means);
    return found;
}

struct interval stats_paired(const struct cluster *c, size_t n, uint64_t seed)
{
    if (n == 0) {
        return (struct interval){false, 0, 0};
    }
    double mean = stats_mean(c, n), unseen = wilson(0, (double)n).high;
    struct interval drawn = stats_bootstrap(c, n, seed);
    double low = mean - unseen * (mean + 1), high = mean + unseen * (1 - mean);
    return (struct interval){true, drawn.known && drawn.low < low ? drawn.low : low,
                             drawn.known && drawn.high > high ? drawn.high : high};
}

/* ---- several trials ---- */

/* The product is the chance that k drawn of n miss all `hits`. */
static double none_of(int64_t n, int64_t hits, int64_t k)
{
    assert(k >= 1 && k <= n && hits >= 0 && hits <= n);
    if (n - hits < k) {
        return 0;
    }
    double product = 1;
    for (int64_t i = n - hits + 1; i <= n; i++) {
        product *= (double)(i - k) / (double)i;
    }
    return product;
}

double stats_pass_at(int64_t n, int64_t c, int64_t k)
{
    return 1 - none_of(n, c, k);
}

double stats_pass_hat(int64_t n, int64_t c, int64_t k)
{
    return none_of(n, n - c, k);
}

/* ---- tests ---- */

/* Terms of the binomial relative to the one in the middle, so that nothing underflows: each is the
 * one before times (n − k) / (k + 1). */
double stats_mcnemar(int64_t worse, int64_t better)
{
    assert(worse >= 0 && better >= 0);
    int64_t n = worse + better;
    int64_t middle = n / 2;
    double all = 1, tail = middle >= worse ? 1 : 0, term = 1;
    for (int64_t k = middle; k < n; k++) {
        term *= (double)(n - k) / (double)(k + 1);
        all += term;
        tail += k + 1 >= worse ? term : 0;
    }
    term = 1;
    for (int64_t k = middle; k > 0; k--) {
        term *= (double)k / (double)(n - k + 1);
        all += term;
        tail += k - 1 >= worse ? term : 0;
    }
    return tail / all;
}

double stats_mcnemar_two_sided(int64_t worse, int64_t better)
{
    double tail = stats_mcnemar(worse > better ? worse : better, worse > better ? better : worse);
    return clamp(2 * tail, 0, 1);
}

/* x passed of the second group, given how many passed in all: terms of the hypergeometric relative
 * to the least one, each the one before times (K − x)(m − x) / ((x + 1)(N − K − m + x + 1)). */
double stats_fisher(int64_t a, int64_t n_a, int64_t c, int64_t n_b)
{
    assert(a >= 0 && a <= n_a && c >= 0 && c <= n_b);
    int64_t passed = a + c;
    int64_t least = passed > n_a ? passed - n_a : 0;
    int64_t most = passed < n_b ? passed : n_b;
    double term = 1, all = 0, tail = 0;
    for (int64_t x = least; x <= most; x++) {
        all += term;
        tail += x <= c ? term : 0;
        term *= (double)(passed - x) * (double)(n_b - x) /
                ((double)(x + 1) * (double)(n_a - passed + x + 1));
        if (all > 1e200) { /* what counts are ratios */
            all *= 1e-200;
            tail *= 1e-200;
            term *= 1e-200;
        }
    }
    return tail / all;
}

struct ranked {
    double p;
    size_t at;
};

static int by_p(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    int order = by_number(&x->p, &y->p);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

void stats_holm(const double *p, size_t n, double *out)
{
    struct ranked *sorted = mem_alloc((n + 1) * sizeof *sorted);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        sorted[i] = (struct ranked){p[i], i};
    }
    qsort(sorted, n, sizeof *sorted, by_p);
    for (size_t i = 0; i < n; i++) {
        double adjusted = clamp(sorted[i].p * (double)(n - i), 0, 1);
        most = adjusted > most ? adjusted : most;
        out[sorted[i].at] = most;
    }
    free(sorted);
}

int64_t stats_percentile(const int64_t *sorted, size_t n, size_t percent)
{
    assert(percent >= 1 && percent <= 100);
    return n == 0 ? -1 : sorted[(n * percent + 99) / 100 - 1];
}

int64_t stats_needed(double changed, double drop)
{
    assert(drop > 0 && drop <= 1);
    double psi = clamp(changed, drop, 1);
    double root = STATS_Z_95 * sqrt(psi) + STATS_Z_80 * sqrt(psi - drop * drop);
    double n = root * root / (drop * drop);
    return n > 1e12 ? INT64_C(1000000000000) : (int64_t)ceil(n);
}

/* ---- printing ---- */

void stats_add(struct buf *out, double v)
{
    double size = v < 0 ? -v : v;
    assert(size < 1e19);
    if (size >= 1e12) { /* a double has no such decimals then */
        buf_fmt(out, "%s%" PRIu64 ".000000", v < 0 ? "-" : "", (uint64_t)size);
        return;
    }
    uint64_t millionths = (uint64_t)(size * 1e6 + 0.5);
    buf_fmt(out, "%s%" PRIu64 ".%06" PRIu64, v < 0 && millionths > 0 ? "-" : "",
            millionths / 1000000, millionths % 1000000);
}

void interval_add(struct buf *out, struct interval v)
{
    if (!v.known) {
        buf_addz(out, "null");
        return;
    }
    buf_char(out, '[');
    stats_add(out, v.low);
    buf_char(out, ',');
    stats_add(out, v.high);
    buf_char(out, ']');
}
