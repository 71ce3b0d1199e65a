// Rules on a single linear prediction: AIOLI (binary logistic loss) and the Vovk-Azoury-Warmuth
// forecaster (squared loss).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/numbers/simd.hpp"

namespace MIXABLE_ISA {

/// AIOLI (Jezequel, Gaillard, Rudi, COLT 2020): label 1 has probability sigmoid(s), s = theta^T x
/// where theta also minimises the losses of both labels.
class AioliRule {
   public:
    using Outcome = long;

    /// `scale` is 1 + B R; `virtual_weight` multiplies the two virtual losses (1 in the paper).
    AioliRule(double scale, double virtual_weight) : scale_(scale), virtual_(virtual_weight) {}

    static constexpr long outputs = 2;

    /// The root of s + virtual * (G/2) tanh(s/2) = m, increasing in s and convex or concave on each
    /// side of 0: Newton from m, kept between 0 and m.
    void begin(const double* m, const double* G, long) {
        m_ = m[0];
        G_ = G[0];
        const double h = 0.5 * virtual_ * G_;
        double s =
            m_ /
            (1 +
             0.5 * h);  // the root lies between this and m, since tanh(s/2) is between 0 and s/2
        for (int iteration = 0; iteration < 100; ++iteration) {
            const double t = std::tanh(0.5 * s),
                         step = (s + h * t - m_) / (1 + 0.5 * h * (1 - t * t));
            s -= step;
            if (std::fabs(step) <= 1e-15 * std::fabs(s)) break;
        }
        s_ = s;
    }

    void predict(double* p) const {
        p[0] = std::max(sigmoid(-s_), std::numeric_limits<double>::min());
        p[1] = std::max(sigmoid(s_), std::numeric_limits<double>::min());
    }

    /// Surrogate at s: gradient g, curvature C = sigmoid(s) sigmoid(-s) / (2 (1 + B R)); the leader
    /// moves to w with (1 + G C) (w - s) = m - s - G g / 2.
    void learn(long y, double weight, double* v, double* F) const {
        const double g = weight * (y == 1 ? -sigmoid(-s_) : sigmoid(s_)),
                     C = weight * sigmoid(s_) * sigmoid(-s_) / (2 * scale_);
        v[0] = 0.5 * g + C * (m_ - s_ - 0.5 * G_ * g) / (1 + G_ * C);
        F[0] = std::sqrt(C);
    }

   private:
    static double sigmoid(double s) {
        return s < 0 ? std::exp(s) / (1 + std::exp(s)) : 1 / (1 + std::exp(-s));
    }

    double scale_, virtual_, m_ = 0, G_ = 0, s_ = 0;
};

/// Vovk-Azoury-Warmuth: ridge regression that counts the current input, theta^T x / (1 + x^T A^-1
/// x).
class VawRule {
   public:
    using Outcome = double;

    static constexpr long outputs = 1;

    void begin(const double* m, const double* G, long) {
        m_ = m[0];
        G_ = G[0];
    }

    void predict(double* p) const { p[0] = m_ / (1 + G_); }

    /// A <- A + weight x x^T, theta the ridge solution.
    void learn(double y, double weight, double* v, double* F) const {
        if (!(std::fabs(y) <= 1e100))
            throw std::domain_error(
                "this example cannot be learned in double precision: its target must be at most "
                "1e100 in size");
        v[0] = weight * (m_ - y) / (1 + weight * G_);
        F[0] = std::sqrt(weight);
    }

   private:
    double m_ = 0, G_ = 0;
};

}  // namespace MIXABLE_ISA
