// E softmax(z), z ~ N(m, V), in closed form:
//     p_c proportional to 1 / sum_j exp((m_j - m_c) / sqrt(1 + (pi/8) v_cj)),
// v_cj the variance of z_j - z_c. For two classes it is MacKay's approximation (1992). It takes no
// points, and treats all classes alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numbers/dense.hpp"

namespace MIXABLE_ISA {

constexpr double pi_by_8 = 0.39269908169872415481;

/// p (K Numbers) from m; `spread(c, j)` is the vector of 1 + (pi/8) v_cj: of one posterior for j, j
/// + 1, ..., else for j in each lane. Behind the numbers of m there is room for whole vectors. What
/// a pair says of its two classes are inverses.
template <class Number, class Spread>
void pairwise(long K, const double* m, Spread&& spread, double* p) {
    constexpr long width = lanes_of<Number>, together = W / width;
    for (long c = 0; c < K; ++c) put(p, c, number<Number>(1.0));
    for (long c = 1; c < K; ++c) {
        const Number mine = at<Number>(m, c);
        vec sums{};
        for (long j = 0; j < c; j += together) {
            const vec e = exp((load(m + j * width) - mine) / root(spread(c, j))), inverse = 1.0 / e;
            if (j + together <= c) {
                sums += e;
                store(p + j * width, load(p + j * width) + inverse);
                continue;
            }
            for (long i = j; i < c; ++i) {
                sums[0] += e[i - j];
                p[i] += inverse[i - j];
            }
        }
        put(p, c, at<Number>(p, c) + sum_of<Number>(sums));
    }
    Number total{};
    for (long c = 0; c < K; ++c) {
        put(p, c, 1.0 / at<Number>(p, c));
        total += at<Number>(p, c);
    }
    for (long c = 0; c < K; ++c) put(p, c, at<Number>(p, c) / total);
}

/// p = (1 - mu) p + mu / K, and above 0.
template <class Number>
void smooth(long K, double mu, double* p) {
    const Number least = number<Number>(std::numeric_limits<double>::min());
    for (long c = 0; c < K; ++c)
        put(p, c, max((1.0 - mu) * at<Number>(p, c) + mu / double(K), least));
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
