// Small dense kernels on row-major matrices, for sizes where a BLAS call costs more than the work.
#pragma once

#include <cmath>
#include <type_traits>

#include "buffer.hpp"
#include "simd.hpp"

namespace MIXABLE_ISA {

/// A strided view of scalars: element (i, j) is p[i * rows + j * cols].
struct Strided {
    const double* p;
    long rows, cols;
};

// Rows x vectors held in registers by `combine`: as many as the instruction set has registers for.
constexpr int tile_rows = W == 8 ? 6 : 4;
constexpr int tile_vectors = W == 8 ? 4 : 2;

template <int MR, int NV>
inline void combine_tile(long K, double sign, Strided A, const double* B, long ldb, double* C,
                         long ldc, bool add) {
    vec acc[MR][NV] = {};
    for (long l = 0; l < K; ++l) {
        vec b[NV];
        for (int v = 0; v < NV; ++v) b[v] = load(B + l * ldb + v * W);
        for (int i = 0; i < MR; ++i) {
            const double a = A.p[i * A.rows + l * A.cols];
            for (int v = 0; v < NV; ++v) acc[i][v] += a * b[v];
        }
    }
    for (int i = 0; i < MR; ++i)
        for (int v = 0; v < NV; ++v) {
            double* c = C + i * ldc + v * W;
            store(c, add ? load(c) + sign * acc[i][v] : sign * acc[i][v]);
        }
}

template <int NV>
inline void combine_columns(long M, long K, double sign, Strided A, const double* B, long ldb,
                            double* C, long ldc, bool add) {
    long i = 0;
    const auto at = [&](long row) { return Strided{A.p + row * A.rows, A.rows, A.cols}; };
    for (; i + tile_rows <= M; i += tile_rows)
        combine_tile<tile_rows, NV>(K, sign, at(i), B, ldb, C + i * ldc, ldc, add);
    for (; i + 2 <= M; i += 2) combine_tile<2, NV>(K, sign, at(i), B, ldb, C + i * ldc, ldc, add);
    for (; i < M; ++i) combine_tile<1, NV>(K, sign, at(i), B, ldb, C + i * ldc, ldc, add);
}

/// C (M x N) = [C +] sign A (M x K) B (K x N): each row of C is a combination of B's rows. N is
/// rounded up to whole vectors, which B and C must have room for. The order of summation over K is
/// the same for every M, so a row's bits do not depend on its neighbours.
inline void combine(long M, long N, long K, double sign, Strided A, const double* B, long ldb,
                    double* C, long ldc, bool add) {
    long j = 0;
    const long n = pad(N);
    for (; j + tile_vectors * W <= n; j += tile_vectors * W)
        combine_columns<tile_vectors>(M, K, sign, A, B + j, ldb, C + j, ldc, add);
    if constexpr (tile_vectors > 2)
        for (; j + 3 * W <= n; j += 3 * W)
            combine_columns<3>(M, K, sign, A, B + j, ldb, C + j, ldc, add);
    for (; j + 2 * W <= n; j += 2 * W)
        combine_columns<2>(M, K, sign, A, B + j, ldb, C + j, ldc, add);
    for (; j < n; j += W) combine_columns<1>(M, K, sign, A, B + j, ldb, C + j, ldc, add);
}

template <int NV>
inline void combine_row_columns(long K, const double* a, const double* B, long ldb, double* c) {
    vec sums[4][NV] = {};
    const auto add = [&](vec(&into)[NV], long l) {
        for (int v = 0; v < NV; ++v) into[v] += a[l] * load(B + l * ldb + v * W);
    };
    long l = 0;
    for (; l + 4 <= K; l += 4)
        for (int q = 0; q < 4; ++q) add(sums[q], l + q);
    for (; l < K; ++l) add(sums[0], l);
    for (int v = 0; v < NV; ++v)
        store(c + v * W, (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]));
}

/// c (N) = a (K) B (K x N), as `combine` for one row, by four sums that do not wait for each other.
inline void combine_row(long N, long K, const double* a, const double* B, long ldb, double* c) {
    constexpr int vectors = W == 8 ? 4 : 2;
    long j = 0;
    const long n = pad(N);
    for (; j + vectors * W <= n; j += vectors * W)
        combine_row_columns<vectors>(K, a, B + j, ldb, c + j);
    if constexpr (W == 8)
        for (; j + 3 * W <= n; j += 3 * W) combine_row_columns<3>(K, a, B + j, ldb, c + j);
    for (; j < n; j += W) combine_row_columns<1>(K, a, B + j, ldb, c + j);
}

/// C += sign U^T U for the blocks (a, b), b <= a, of a matrix of n x n made of d x d blocks; U has
/// K rows. Parts of blocks above may be written too.
[[gnu::flatten]] inline void add_gram(long n, long d, long K, double sign, const double* U,
                                      long ldu, double* C, long ldc) {
    constexpr long panel = tile_vectors * W, most = 128;
    alignas(64) double packed[most * panel];
    long j = 0;
    const auto columns = [&](auto vectors, const double* B, long ldb) {
        const long first = j / d * d;
        combine_columns<decltype(vectors)::value>(n - first, K, sign, {U + first, 1, ldu}, B, ldb,
                                                  C + first * ldc + j, ldc, true);
    };
    for (; j + panel <= pad(n); j += panel) {
        if (K <= most) {  // every row reads this panel of U: let it lie together
            for (long l = 0; l < K; ++l)
                std::memcpy(packed + l * panel, U + l * ldu + j, panel * sizeof(double));
            columns(std::integral_constant<int, tile_vectors>{}, packed, panel);
        } else {
            columns(std::integral_constant<int, tile_vectors>{}, U + j, ldu);
        }
    }
    if constexpr (tile_vectors > 2)
        for (; j + 3 * W <= pad(n); j += 3 * W)
            columns(std::integral_constant<int, 3>{}, U + j, ldu);
    for (; j < pad(n); j += W) columns(std::integral_constant<int, 1>{}, U + j, ldu);
}

/// out[i * ldo + j] = a_i . b_j for M rows a_i and `count` rows b_j of length n. The a_i must be
/// padded with zeros to whole vectors; what follows the b_j must be finite. The bits of each
/// product depend on its two rows alone, not on how many there are.
inline void dots(long n, long M, const double* a, long lda, long count, const double* b, long ldb,
                 double* out, long ldo) {
    long j = 0;
    for (; j + W <= count; j += W)  // W sums at a time, through a transposition
        for (long i = 0; i < M; ++i) {
            vec s[W] = {};
            for (long l = 0; l < n; l += W) {
                const vec x = load(a + i * lda + l);
                for (int r = 0; r < W; ++r) s[r] += x * load(b + (j + r) * ldb + l);
            }
            transpose(s);
            for (int half = W / 2; half > 0; half /= 2)
                for (int r = 0; r < half; ++r) s[r] += s[r + half];
            store(out + i * ldo + j, s[0]);
        }
    for (; j < count; ++j)
        for (long i = 0; i < M; ++i) {
            vec s{};
            for (long l = 0; l < n; l += W) s += load(a + i * lda + l) * load(b + j * ldb + l);
            out[i * ldo + j] = sum(s);
        }
}

/// C (M x N) = A (M x K) B (K x N) of Numbers; entry (i, j) of a matrix with rows of ld of them is
/// at (i * ld + j) times the doubles of one.
template <class Number>
inline void multiply_numbers(long M, long N, long K, Strided A, const double* B, long ldb,
                             double* C, long ldc) {
    if constexpr (std::is_same_v<Number, double>)
        return combine(M, N, K, 1.0, A, B, ldb, C, ldc, false);
    for (long i = 0; i < M; ++i)
        for (long j = 0; j < N; ++j) {
            Number sum{};
            for (long l = 0; l < K; ++l)
                sum += at<Number>(A.p, i * A.rows + l * A.cols) * at<Number>(B, l * ldb + j);
            put(C, i * ldc + j, sum);
        }
}

/// Upper factor C with G = C^T C, in place (k x k, row stride `ld`; the strictly lower part is left
/// as it is). Where G is known to be at least `floor` times the identity, no pivot is taken to be
/// less. With floor = 0, G may be semi-definite: a direction whose pivot is lost in rounding gets a
/// zero row.
template <class Number = double>
inline void cholesky(long k, double* G, long ld, double floor) {
    constexpr long width = lanes_of<Number>;
    for (long j = 0; j < k; ++j) {
        double* row = G + j * ld * width;
        const Number pivot = max(at<Number>(row, j), number<Number>(floor));
        Number diagonal = root(pivot), inverse = 1.0 / diagonal;
        if (floor == 0) {
            Number eliminated{};  // what the pivot has lost so far
            for (long l = 0; l < j; ++l) {
                const Number gone = at<Number>(G, l * ld + j);
                eliminated += gone * gone;
            }
            const auto kept = (pivot > 1e-15 * eliminated) & (pivot > 1e-290);
            diagonal = kept ? diagonal : Number{};
            inverse = kept ? inverse : Number{};
        }
        put(row, j, diagonal);
        for (long i = j + 1; i < k; ++i) put(row, i, at<Number>(row, i) * inverse);
        for (long i = j + 1; i < k; ++i) {
            const Number a = at<Number>(row, i);
            double* below = G + i * ld * width;
            for (long l = i; l < k; ++l)
                put(below, l, at<Number>(below, l) - a * at<Number>(row, l));
        }
    }
}

/// C upper triangular (r x r) with C^T C = I + F^T G F for F (k x r); returns tr(F^T G F). GF (k x
/// r) is room for work. Rows are ld Numbers apart, those of G ldg.
template <class Number = double>
inline Number factor_gain(long k, long r, const double* G, long ldg, const double* F, long ld,
                          double* GF, double* C) {
    multiply_numbers<Number>(k, r, k, {G, ldg, 1}, F, ld, GF, ld);
    multiply_numbers<Number>(r, r, k, {F, 1, ld}, GF, ld, C, ld);
    Number trace{};
    for (long i = 0; i < r; ++i) {
        const Number entry = at<Number>(C, i * ld + i);
        trace += entry;
        put(C, i * ld + i, entry + 1.0);
    }
    cholesky<Number>(r, C, ld, 1.0);
    return trace;
}

/// Solves C^T z = b in place, C upper triangular.
template <class Number = double>
inline void solve_transposed(long k, const double* C, long ld, double* z) {
    for (long j = 0; j < k; ++j) {
        const double* row = C + j * ld * lanes_of<Number>;
        const Number t = at<Number>(z, j) / at<Number>(row, j);
        put(z, j, t);
        for (long i = j + 1; i < k; ++i) put(z, i, at<Number>(z, i) - at<Number>(row, i) * t);
    }
}

/// Solves C z = b in place.
template <class Number = double>
inline void solve(long k, const double* C, long ld, double* z) {
    for (long j = k - 1; j >= 0; --j) {
        const double* row = C + j * ld * lanes_of<Number>;
        Number s = at<Number>(z, j);
        for (long i = j + 1; i < k; ++i) s -= at<Number>(row, i) * at<Number>(z, i);
        put(z, j, s / at<Number>(row, j));
    }
}

}  // namespace MIXABLE_ISA
