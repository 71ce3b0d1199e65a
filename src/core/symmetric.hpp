// Symmetric matrices (n x n) of which saved states consist, and whether they can be what they
// claim.
#pragma once

#include <cmath>
#include <vector>

#include "blas.hpp"
#include "dense.hpp"

namespace MIXABLE_ISA {

/// Copies the lower triangle of rows and columns [first, end) to the upper one.
inline void mirror(double* M, long stride, long first, long end) {
    for (long i = first; i < end; ++i)
        for (long j = first; j < i; ++j) M[j * stride + i] = M[i * stride + j];
}

inline double squared_norm(const double* x, long n) {
    double s = 0;
    for (long i = 0; i < n; ++i) s += x[i] * x[i];
    return s;
}

/// Whether positive definite matrices can be each other's inverse, up to rounding and to what a
/// refresh may have added: each product of their diagonals is then at least 1, and the trace of
/// their product n.
inline bool can_be_inverse(long n, const double* M, const double* S) {
    double trace = 0, size = 0;
    for (long i = 0; i < n; ++i)
        if (!(M[i * n + i] * S[i * n + i] >= 0.1)) return false;
    for (long i = 0; i < n * n; ++i) {
        trace += M[i] * S[i];
        size += std::fabs(M[i] * S[i]);
    }
    return trace <= 1.1 * double(n) + 1e-6 * size;
}

/// Whether a matrix, which is used up, has a positive diagonal up to `largest` and, with that
/// scaled to 1, no eigenvalue below -1/10: rounding may leave an honest one a little less than
/// positive definite.
inline bool is_definite(const Blas& blas, long n, double* S, double largest) {
    std::vector<double> root(static_cast<std::size_t>(n));
    for (long i = 0; i < n; ++i) {
        if (!(S[i * n + i] > 0 && S[i * n + i] <= largest)) return false;
        root[std::size_t(i)] = std::sqrt(S[i * n + i]);
    }
    for (long i = 0; i < n; ++i) {
        for (long j = 0; j < i; ++j)
            S[i * n + j] = S[i * n + j] / root[std::size_t(i)] / root[std::size_t(j)];
        S[i * n + i] = 1.1;
    }
    return blas.factorise_spd(n, S, n);
}

}  // namespace MIXABLE_ISA
