// E softmax(z), z ~ N(m, V), in closed form:
//     p_c proportional to 1 / sum_j exp((m_j - m_c) / sqrt(1 + (pi/8) v_cj)),
// v_cj the variance of z_j - z_c. For two classes it is MacKay's approximation (1992). It takes no
// points, and treats all classes alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "dense.hpp"

namespace MIXABLE_ISA {

constexpr double pi_by_8 = 0.39269908169872415481;

/// p (K) from m; `variance(c, j)` is the vector of v_cj, v_c(j+1), ... Behind the K numbers of m
/// there is room for whole vectors. What a pair says of its two classes are inverses.
template <class Variance>
void pairwise(long K, const double* m, Variance&& variance, double* p) {
    double total = 0;
    for (long c = 0; c < K; ++c) p[c] = 1;
    for (long c = 1; c < K; ++c) {
        vec sums{};
        const double mine = m[c];
        for (long j = 0; j < c; j += W) {
            const vec scale = root(1.0 + pi_by_8 * variance(c, j));
            const vec e = exp((load(m + j) - mine) / scale), inverse = 1.0 / e;
            if (j + W <= c) {
                sums += e;
                store(p + j, load(p + j) + inverse);
                continue;
            }
            for (long i = j; i < c; ++i) {
                sums[0] += e[i - j];
                p[i] += inverse[i - j];
            }
        }
        p[c] += sum(sums);
    }
    for (long c = 0; c < K; ++c) total += p[c] = 1.0 / p[c];
    for (long c = 0; c < K; ++c) p[c] /= total;
}

/// The same with a number in each lane (K vectors of m and p): spread(c)(i) = 1 + (pi/8) v_ci.
template <class Spread>
void pairwise_in_lanes(long K, const double* m, Spread&& spread, double* p) {
    for (long c = 0; c < K * W; c += W) store(p + c, splat(1.0));
    for (long c = 1; c < K; ++c) {
        const auto with = spread(c);
        const vec mine = load(m + c * W);
        vec sum = load(p + c * W);
        for (long i = 0; i < c; ++i) {
            const vec e = exp((load(m + i * W) - mine) / root(with(i)));
            sum += e;
            store(p + i * W, load(p + i * W) + 1.0 / e);
        }
        store(p + c * W, sum);
    }
    vec total{};
    for (long c = 0; c < K * W; c += W) {
        store(p + c, 1.0 / load(p + c));
        total += load(p + c);
    }
    for (long c = 0; c < K * W; c += W) store(p + c, load(p + c) / total);
}

/// p = (1 - mu) p + mu / K in each lane, and above 0.
inline void smooth_in_lanes(long K, double mu, double* p) {
    const vec least = splat(std::numeric_limits<double>::min());
    for (long c = 0; c < K * W; c += W)
        store(p + c, max((1 - mu) * load(p + c) + mu / double(K), least));
}

/// p as above, and off the diagonal of `slope` (K x K) the rates dp_a / dm_b, made symmetric and at
/// most 0. By Stein's identity they stand for the means of -p_a p_b. Rows are `ld` apart; `work`
/// has room for K + 1 of them.
template <class Variance>
void pairwise_with_slopes(long K, const double* m, const double* mask, Variance&& variance,
                          double* work, long ld, double* p, double* slope) {
    double total = 0;
    for (long c = 0; c < K; ++c) {  // row c: -d log t_c / dm_j, t_c the p_c before they sum to 1
        double* row = work + c * ld;
        vec sums{};
        for (long j = 0; j < K; j += W) {
            const vec scale = 1.0 / root(1.0 + pi_by_8 * variance(c, j));
            const vec z = (load(m + j) - m[c]) * scale;
            const vec e = load(mask + j) * exp(z < splat(600.0) ? z : splat(600.0));
            sums += e;
            store(row + j, e * scale);
        }
        total += p[c] = 1.0 / sum(sums);
        row[c] = 0;
        for (long j = 0; j < K; j += W) store(row + j, p[c] * load(row + j));
    }
    double* common = work + K * ld;  // -d log(total) / dm_j
    for (long j = 0; j < K; j += W) store(common + j, vec{});
    for (long c = 0; c < K; ++c) {
        p[c] /= total;
        double own = 0;
        for (long j = 0; j < K; j += W) {
            const vec rate = load(work + c * ld + j);
            store(common + j, load(common + j) + p[c] * rate);
            own += sum(rate);
        }
        common[c] -= p[c] * own;
    }
    for (long a = 0; a < K; ++a)
        for (long b = 0; b < a; ++b) {
            const double t = 0.5 * (p[a] * (work[a * ld + b] - common[b]) +
                                    p[b] * (work[b * ld + a] - common[a]));
            slope[a * ld + b] = slope[b * ld + a] = std::min(-t, 0.0);
        }
}

}  // namespace MIXABLE_ISA
