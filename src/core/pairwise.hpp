// E softmax(z), z ~ N(m, V), in closed form:
//     p_c proportional to 1 / sum_j exp((m_j - m_c) / sqrt(1 + (pi/8) v_cj)),
// v_cj the variance of z_j - z_c. For two classes it is MacKay's approximation (1992). It takes no
// points, and treats all classes alike.
#pragma once

#include <cmath>

#include "dense.hpp"

namespace MIXABLE_ISA {

constexpr double pi_by_8 = 0.39269908169872415481;

inline vec root(vec x) {
    for (int i = 0; i < W; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

/// p (K) from m; `variance(c, j)` is the vector of v_cj, v_c(j+1), ... Behind the K numbers of m
/// there is room for whole vectors, and `mask` is 1 for a class and 0 behind.
template <class Variance>
void pairwise(long K, const double* m, const double* mask, Variance&& variance, double* p) {
    double total = 0;
    for (long c = 0; c < K; ++c) {
        vec sums{};
        for (long j = 0; j < K; j += W) {
            const vec scale = root(1.0 + pi_by_8 * variance(c, j));
            sums += load(mask + j) * exp((load(m + j) - m[c]) / scale);
        }
        total += p[c] = 1.0 / sum(sums);
    }
    for (long c = 0; c < K; ++c) p[c] /= total;
}

}  // namespace MIXABLE_ISA
