// The rule of the Gaussian Aggregating Forecaster for multinomial logistic loss (Algorithm 1 of the paper, in K - 1 coordinates).
#pragma once

#include <cmath>
#include <utility>

#include "expectation.hpp"

namespace MIXABLE_ISA {

class GafRule {
   public:
    GafRule(long classes, double beta, double alpha, double mu, std::vector<Rung> ladder)
        : K(classes), beta_(beta), alpha_(alpha), mu_(mu), softmax_(classes), expectation_(classes, std::move(ladder)) {}

    const long K;

    void begin(const double*, const double* G) { softmax_.factorise(G); }

    /// smooth_mu(E softmax(Q (m + w))), w ~ N(0, G / (2 alpha)); at alpha = infinity, smooth_mu(softmax(Q m)).
    void predict(const double* m, long step, double* p) {
        if (std::isinf(alpha_)) {
            softmax_.evaluate(m);
            std::memcpy(p, softmax_.p, std::size_t(K) * 8);
        } else {
            expectation_(softmax_, m, 0.5 / alpha_, std::uint64_t(step), p);
        }
        for (long c = 0; c < K; ++c) p[c] = std::max((1.0 - mu_) * p[c] + mu_ / double(K), std::numeric_limits<double>::min());
    }

    /// theta_{t+1} by Eq. (2): v = (weight / 2) Q^T (p - e_y); surrogate curvature by Eq. (3): F F^T = (weight beta / 2) Q^T (diag(p) - p p^T) Q.
    void learn(const double* m, long y, double weight, double* v, double* F) {
        softmax_.solve_step(m, y, weight);
        softmax_.gradient(y, v);
        for (long j = 0; j < K - 1; ++j) v[j] *= 0.5 * weight;
        softmax_.curvature(0.5 * weight * beta_, F);
    }

   private:
    double beta_, alpha_, mu_;
    Softmax softmax_;
    Expectation expectation_;
};

}  // namespace MIXABLE_ISA
