// Small matrices of which each entry is a number in each lane of a vector; dense.hpp has the same
// for one. Entry (i, j) of a matrix with rows of `ld` entries is at (i * ld + j) * W.
#pragma once

#include "dense.hpp"

namespace MIXABLE_ISA {

/// Upper factor C with G = C^T C, in place (k x k; the strictly lower part is left as it is), as
/// `cholesky` in dense.hpp.
inline void cholesky_in_lanes(long k, double* G, long ld, double floor) {
    for (long j = 0; j < k; ++j) {
        double* row = G + j * ld * W;
        vec eliminated{};  // what the pivot has lost so far
        for (long l = 0; l < j; ++l) {
            const vec gone = load(G + (l * ld + j) * W);
            eliminated += gone * gone;
        }
        const vec pivot = max(load(row + j * W), splat(floor));
        const ivec lost = ~((pivot > 1e-15 * eliminated) & (pivot > 1e-290));
        vec diagonal = root(pivot), inverse = 1.0 / diagonal;
        if (floor == 0) {
            diagonal = lost ? vec{} : diagonal;
            inverse = lost ? vec{} : inverse;
        }
        store(row + j * W, diagonal);
        for (long i = j + 1; i < k; ++i) store(row + i * W, load(row + i * W) * inverse);
        for (long i = j + 1; i < k; ++i) {
            const vec a = load(row + i * W);
            double* below = G + i * ld * W;
            for (long l = i; l < k; ++l)
                store(below + l * W, load(below + l * W) - a * load(row + l * W));
        }
    }
}

/// Solves C^T z = b in place, C upper triangular, for `count` vectors z, one behind the other.
inline void solve_transposed_in_lanes(long k, const double* C, long ld, double* z, long count = 1) {
    for (long j = 0; j < k; ++j) {
        const double* row = C + j * ld * W;
        const vec inverse = 1.0 / load(row + j * W);
        for (long c = 0; c < count; ++c) {
            double* own = z + c * k * W;
            const vec t = inverse * load(own + j * W);
            store(own + j * W, t);
            for (long i = j + 1; i < k; ++i)
                store(own + i * W, load(own + i * W) - load(row + i * W) * t);
        }
    }
}

/// Solves C z = b in place.
inline void solve_in_lanes(long k, const double* C, long ld, double* z) {
    for (long j = k - 1; j >= 0; --j) {
        const double* row = C + j * ld * W;
        vec s = load(z + j * W);
        for (long i = j + 1; i < k; ++i) s -= load(row + i * W) * load(z + i * W);
        store(z + j * W, s / load(row + j * W));
    }
}

}  // namespace MIXABLE_ISA
