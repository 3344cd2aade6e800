/* Statistics of evaluations. Pure: no clock, no I/O, no randomness but the seed that is given. The
 * same input gives the same result with every compiler: only + - * / and sqrt are used, which
 * IEEE 754 rounds exactly, and evals/ is built with -ffp-contract=off. */
#ifndef EVALS_STATS_H
#define EVALS_STATS_H

#include "kernel/base/str.h"

#include <stdint.h>

/* Normal quantiles of 97.5 %, 95 % and 80 % (scipy.stats.norm.ppf). */
#define STATS_Z_975 1.959963984540054
#define STATS_Z_95  1.6448536269514722
#define STATS_Z_80  0.8416212335729143

enum { STATS_RESAMPLES = 2000, STATS_DRAWS_MAX = 20000000, STATS_RESAMPLES_MIN = 200 };

/* A 95 % interval; known false = there is no data for one. */
struct interval {
    bool known;
    double low, high;
};

/* The trials of one task: their sum (of scores, of cost, of time) and how many they are, n ≥ 1. */
struct cluster {
    double sum;
    int64_t n;
};

/* Wilson's score interval without continuity correction of a rate; 0 ≤ passed ≤ n, n 0 = unknown.
 * Source: E. B. Wilson, JASA 22 (1927); method 3 of R. G. Newcombe, Statist. Med. 17 (1998). */
struct interval stats_wilson(int64_t passed, int64_t n);

/* The mean of all values of all clusters; 0 where there are none. */
double stats_mean(const struct cluster *c, size_t n);

/* The mean's standard error where values of one cluster hang together:
 * sqrt(G/(G-1) × Σ over clusters (Σ of deviations)²) / N; -1 with fewer than two clusters. With one
 * value a cluster it is s/√N. Source: E. Miller, "Adding Error Bars to Evals" (2024), eq. 4, with
 * the factor G/(G-1) of A. C. Cameron, D. L. Miller, J. Human Resources 50 (2015). */
double stats_clustered_error(const struct cluster *c, size_t n);

/* The interval of a rate whose trials hang together by task; sum: those that passed. Wilson's with
 * the effective sample size p(1−p) / (clustered error)², held between (Σn)² / Σn², where the trials
 * of a cluster are as one (G clusters of one size: G), and Σn, where they are independent. The
 * former where the error says nothing: all or none passed, or there is one cluster; unknown with
 * none. With one trial a cluster it is nearly stats_wilson. Sources: N. Dean, M. Pagano, J. Surv.
 * Statist. Methodol. 3 (2015); E. L. Korn, B. I. Graubard, Surv. Methodol. 24 (1998); the bounds
 * are the design effects of L. Kish, Survey Sampling (1965), for a correlation of 1 and of 0. */
struct interval stats_clustered(const struct cluster *c, size_t n);

/* Percentile bootstrap of the mean: whole clusters are drawn with replacement STATS_RESAMPLES times
 * (fewer, at least STATS_RESAMPLES_MIN, beyond STATS_DRAWS_MAX draws); the interval is the 2.5 and
 * 97.5 percentile (nearest rank) of the means. Source: B. Efron, R. Tibshirani, An Introduction to
 * the Bootstrap (1993), ch. 13. Unknown where all clusters have the same mean, or there is but
 * one: every draw is then the same, which says nothing of how far the mean may be off. */
struct interval stats_bootstrap(const struct cluster *c, size_t n, uint64_t seed);

/* The change of a rate between two runs; a cluster a task, n 1, its difference from -1 to 1. The
 * bootstrap's interval, but at least as wide as the tasks allow that were not drawn: of what none
 * of n tasks did, z²/(n + z²) may do (Wilson's bound for 0 of n), by a difference of -1 or of 1.
 * Where no task changed that is T. Tango's score interval, Statist. Med. 17 (1998). Unknown for n
 * 0. */
struct interval stats_paired(const struct cluster *c, size_t n, uint64_t seed);

/* Whether at least one, or every one, of k trials drawn from n with c passed passes: 1 − C(n−c,k) /
 * C(n,k) and C(c,k) / C(n,k). 1 ≤ k ≤ n, 0 ≤ c ≤ n. Sources: M. Chen et al., "Evaluating Large
 * Language Models Trained on Code" (2021), eq. 1; S. Yao et al., "τ-bench" (2024), eq. 1. */
double stats_pass_at(int64_t n, int64_t c, int64_t k);
double stats_pass_hat(int64_t n, int64_t c, int64_t k);

/* Exact one-sided McNemar test: how likely at least `worse` of worse + better changed pairs would
 * change for the worse if both ways were as likely (the tail of a binomial with ½). 1 where none
 * changed. Source: Q. McNemar, Psychometrika 12 (1947); A. Agresti, Categorical Data Analysis,
 * ch. 11. With several trials a pair is a task whose rate of passed trials fell or rose: the sign
 * test, which is the same with one trial. */
double stats_mcnemar(int64_t worse, int64_t better);
/* The same two-sided: twice the smaller tail, at most 1. */
double stats_mcnemar_two_sided(int64_t worse, int64_t better);

/* Fisher's exact one-sided test that the second rate (c of n_b) is lower than the first (a of n_a).
 * Source: R. A. Fisher, The Design of Experiments (1935), ch. 2. */
double stats_fisher(int64_t a, int64_t n_a, int64_t c, int64_t n_b);

/* Holm's adjusted p values: out[i] for p[i], each at most 1. out may not be p. Source: S. Holm,
 * Scand. J. Statist. 6 (1979). */
void stats_holm(const double *p, size_t n, double *out);

/* The smallest value that at least `percent` (1 to 100) of all do not exceed (nearest rank); -1 for
 * none. Source: E. Langford, J. Statist. Educ. 14 (2006), method 1 with ceilings. */
int64_t stats_percentile(const int64_t *sorted, size_t n, size_t percent);

/* How many tasks a one-sided McNemar test of 5 % needs to see a drop of the rate with a power of
 * 80 %, where `changed` of the tasks change one way or the other (taken as at least `drop`):
 * ((z95 √ψ + z80 √(ψ − δ²)) / δ)². 0 < drop ≤ 1. Source: R. J. Connor, Biometrics 43 (1987),
 * after O. S. Miettinen, Biometrics 24 (1968). */
int64_t stats_needed(double changed, double drop);

/* Appends a number with 6 decimals, rounded half away from zero, in every locale; |v| < 10^19,
 * and beyond 10^12 only the whole part. */
void stats_add(struct buf *out, double v);
/* Appends [low,high] or null. */
void interval_add(struct buf *out, struct interval v);
#endif
