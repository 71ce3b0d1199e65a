// Symmetric matrices (n x n) of which saved states consist, and whether they can be what they
// claim.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "blas.hpp"
#include "dense.hpp"

namespace MIXABLE_ISA {

/// Copies the lower triangle of rows and columns [first, end) to the upper one.
inline void mirror(double* M, long stride, long first, long end) {
    for (long i = first; i < end; ++i)
        for (long j = first; j < i; ++j) M[j * stride + i] = M[i * stride + j];
}

/// The same for a whole matrix (n x n), by squares of vectors.
inline void mirror_all(double* M, long stride, long n) {
    long i = 0;
    for (; i + W <= n; i += W) {
        for (long j = 0; j < i; j += W) {
            vec rows[W];
            for (int r = 0; r < W; ++r) rows[r] = load(M + (i + r) * stride + j);
            transpose(rows);
            for (int r = 0; r < W; ++r) store(M + (j + r) * stride + i, rows[r]);
        }
        mirror(M, stride, i, i + W);
    }
    for (; i < n; ++i)
        for (long j = 0; j < i; ++j) M[j * stride + i] = M[i * stride + j];
}

/// W rows of `times_symmetric`, or fewer at the end: those that begin at row i.
template <class Rows>
inline void times_rows(Rows rows, long i, const double* S, long ld, const double* x, double* out) {
    vec across[W] = {}, own{};
    for (long j = 0; j < i; j += W) {
        const vec along = load(x + j);
        vec down = load(out + j);
        for (int r = 0; r < rows; ++r) {
            const vec entries = load(S + (i + r) * ld + j);
            across[r] += along * entries;
            down += x[i + r] * entries;
        }
        store(out + j, down);
    }
    ivec column;
    for (int c = 0; c < W; ++c) column[c] = c;
    const vec along = load(x + i), none{};
    for (int r = 0; r < rows; ++r) {  // the square on the diagonal
        const vec entries = load(S + (i + r) * ld + i);
        across[r] += along * (column < r ? entries : none);
        own += x[i + r] * (column <= r ? entries : none);
    }
    transpose(across);
    for (int half = W / 2; half > 0; half /= 2)
        for (int r = 0; r < half; ++r) across[r] += across[r + half];
    own += across[0];
    if (rows == W) return store(out + i, own);
    for (int r = 0; r < rows; ++r) out[i + r] = own[r];  // something else may follow
}

/// out = S x for a symmetric matrix (n x n) of which only the lower triangle is read: half the
/// memory. x must be padded with zeros to whole vectors.
inline void times_symmetric(long n, const double* S, long ld, const double* x, double* out) {
    long i = 0;
    for (; i + W <= n; i += W) times_rows(std::integral_constant<int, W>{}, i, S, ld, x, out);
    if (i < n) times_rows(int(n - i), i, S, ld, x, out);
}

/// a . b, of any length.
inline double plain_dot(const double* a, const double* b, long n) {
    vec sums{};
    long l = 0;
    for (; l + W <= n; l += W) sums += load(a + l) * load(b + l);
    double s = sum(sums);
    for (; l < n; ++l) s += a[l] * b[l];
    return s;
}

/// The same by four sums that do not wait for each other, for long ones.
inline double long_dot(const double* a, const double* b, long n) {
    vec sums[4] = {};
    long l = 0;
    for (; l + 4 * W <= n; l += 4 * W)
        for (int i = 0; i < 4; ++i) sums[i] += load(a + l + i * W) * load(b + l + i * W);
    return sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + plain_dot(a + l, b + l, n - l);
}

inline double squared_norm(const double* x, long n) { return plain_dot(x, x, n); }

/// The inverse of a positive definite matrix in place, lower triangle only, rows `ld` apart; false
/// if it is not positive definite. For sizes at which LAPACK's threads cost more than the work.
inline bool invert_small(long n, double* A, long ld) {
    for (long i = 0; i < n; ++i) {  // A = L L^T
        double* row = A + i * ld;
        for (long j = 0; j < i; ++j)
            row[j] = (row[j] - plain_dot(row, A + j * ld, j)) / A[j * ld + j];
        const double pivot = row[i] - plain_dot(row, row, i);
        if (!(pivot > 0)) return false;
        row[i] = std::sqrt(pivot);
    }
    constexpr long few = 16;
    double on_stack[few * few] = {};
    Buffer on_heap;
    if (n > few) on_heap = Buffer(n * n);
    double* const M = n > few ? on_heap : on_stack;  // row j is column j of L^-1
    for (long j = 0; j < n; ++j) {
        double* column = M + j * n;
        column[j] = 1.0 / A[j * ld + j];
        for (long i = j + 1; i < n; ++i)
            column[i] = -plain_dot(A + i * ld + j, column + j, i - j) / A[i * ld + i];
    }
    for (long i = 0; i < n; ++i)
        for (long j = 0; j <= i; ++j)
            A[i * ld + j] = plain_dot(M + i * n + i, M + j * n + i, n - i);
    return true;
}

/// The inverse of a positive definite M, lower triangles only, rows `stride` apart. Should M be
/// singular to working precision, the least multiple of its diagonal that helps is added: what M
/// knows little about stays so.
inline void invert_with_jitter(const Blas& blas, long n, const double* M, double* out,
                               long stride) {
    double jitter = 0;
    for (int attempt = 0; attempt < 20 && jitter <= 1; ++attempt) {
        for (long i = 0; i < n; ++i) {
            copy(M + i * stride, i + 1, out + i * stride);
            out[i * stride + i] += jitter * M[i * stride + i];
        }
        if (n <= 96 ? invert_small(n, out, stride) : blas.invert_spd(n, out, stride)) break;
        jitter = std::max(10 * jitter, 1e-16);
    }
}

/// The inverse of all of a positive definite matrix (n x n) in place.
inline void invert(const Blas& blas, long n, double* M) {
    if (!blas.invert_spd(n, M, n))
        throw std::domain_error("the posterior is singular in double precision");
    mirror(M, n, 0, n);
}

/// Whether a matrix is symmetric up to rounding. Our own loops keep it so to the bit; BLAS may add
/// up the two halves in another order, and an entry of the diagonal may have shrunk since.
inline bool is_symmetric(const double* M, long n, long stride, bool by_blas) {
    for (long i = 0; i < n; ++i)
        for (long j = 0; j < i; ++j) {
            const double a = std::fabs(M[i * stride + i]), b = std::fabs(M[j * stride + j]);
            const double size = by_blas ? std::max(a, b) : std::min(a, b);
            if (!(std::fabs(M[i * stride + j] - M[j * stride + i]) <= 1e-6 * size)) return false;
        }
    return true;
}

/// Whether a row (n) is roughly x (d) times the rows of S from `first` on, and q x in these places.
/// Of S the lower triangle is read.
inline bool is_combination(long n, const double* S, long ld, const double* x, long first, long d,
                           double q, const double* row) {
    for (long i = 0; i < n; ++i) {
        double sum = i >= first && i < first + d ? q * x[i - first] : 0.0, size = std::fabs(sum);
        for (long l = 0; l < d; ++l) {
            const long j = first + l;
            const double term = x[l] * S[std::max(i, j) * ld + std::min(i, j)];
            sum += term;
            size += std::fabs(term);
        }
        if (!(std::fabs(row[i] - sum) <= 1e-3 * size + 1e-300)) return false;
    }
    return true;
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
    return size <= 1e300 && trace <= 1.01 * double(n) + 1e-6 * size;  // infinite if forged
}

/// Whether a matrix, which is used up, has a positive diagonal up to `largest` and, with that
/// scaled to 1, no eigenvalue below -slack: rounding may leave an honest one a little less than
/// positive definite; one that drifts has gained some of the identity in each step.
inline bool is_definite(const Blas& blas, long n, double* S, double largest, bool drifts = false) {
    const double slack = drifts ? 1e-6 : 0.1;
    std::vector<double> root(static_cast<std::size_t>(n));
    for (long i = 0; i < n; ++i) {
        if (!(S[i * n + i] > 0 && S[i * n + i] <= largest)) return false;
        root[std::size_t(i)] = std::sqrt(S[i * n + i]);
    }
    for (long i = 0; i < n; ++i) {
        for (long j = 0; j < i; ++j) {
            S[i * n + j] = S[i * n + j] / root[std::size_t(i)] / root[std::size_t(j)];
            if (!(std::fabs(S[i * n + j]) <= 1 + slack)) return false;  // or what follows overflows
        }
        S[i * n + i] = 1 + slack;
    }
    return blas.factorise_spd(n, S, n);
}

}  // namespace MIXABLE_ISA
