// From the K - 1 coordinates of the full posterior (softmax.hpp) to those of the classes.
#pragma once

#include "core/posterior/posterior.hpp"

namespace MIXABLE_ISA {

/// Entry (c, j) of the Helmert basis.
inline double helmert(long c, long j) {
    if (c > j + 1) return 0.0;
    const double scale = 1.0 / std::sqrt(double(j + 1) * double(j + 2));
    return c <= j ? scale : -double(j + 1) * scale;
}

/// What a posterior with structure starts from: means (k x d) and covariances (matrices of d x d).
struct ClassView {
    long k, d, matrices;
    double regulariser;
    Buffer mean, covariance;
};

/// The full posterior as blocks: those of the classes, K / (K - 1) times as wide, so that what
/// knows nothing has 1 / lam in both.
inline ClassView class_view(const Posterior& full) {
    const long k = full.k, K = k + 1, d = full.d, D = k * d;
    ClassView view{K, d, K, full.regulariser(), Buffer(K * d), Buffer(K * d * d)};
    Buffer V(D), whole(D * D);
    full.mean(V);
    full.covariance(whole);
    for (long c = 0; c < K; ++c)
        for (long a = 0; a < k; ++a) {
            for (long l = 0; l < d; ++l) view.mean[c * d + l] += helmert(c, a) * V[a * d + l];
            for (long b = 0; b < k; ++b) {
                const double part = helmert(c, a) * helmert(c, b) * double(K) / double(k);
                for (long i = 0; part != 0 && i < d; ++i)
                    for (long j = 0; j < d; ++j)
                        view.covariance[(c * d + i) * d + j] +=
                            part * whole[(a * d + i) * D + b * d + j];
            }
        }
    return view;
}

}  // namespace MIXABLE_ISA
