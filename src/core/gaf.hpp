// The rule of the Gaussian Aggregating Forecaster for multinomial logistic loss (Algorithm 1 of the
// paper, in K - 1 coordinates).
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "averaged.hpp"
#include "surrogates.hpp"

namespace MIXABLE_ISA {

class GafRule {
   public:
    using Outcome = long;

    GafRule(long classes, double beta, double alpha, double mu,
            std::shared_ptr<const std::vector<Rung>> ladder,
            Surrogate surrogate = Surrogate::tangent,
            std::shared_ptr<const std::vector<Rung>> averages = nullptr)
        : outputs(classes),
          surrogate_(surrogate),
          beta_(beta),
          alpha_(alpha),
          mu_(mu),
          ladder_(std::move(ladder)),
          softmax_(classes),
          expectation_(classes) {
        if (surrogate_ == Surrogate::averaged)
            averaged_ = std::make_unique<Averaged>(classes);
        else if (surrogate_ != Surrogate::tangent)
            averages_ = std::make_unique<Averages>(classes, std::move(averages));
    }

    const long outputs;

    double beta() const { return beta_; }
    double mu() const { return mu_; }
    bool is_averaged() const { return surrogate_ == Surrogate::averaged; }
    /// Whether it takes no points, and its surrogate is one that there is in lanes.
    bool is_in_closed_form() const {
        const bool suits = surrogate_ == Surrogate::tangent || (is_averaged() && outputs == 2);
        return suits && Expectation::is_in_closed_form(*ladder_);
    }

    void begin(const double* m, const double* G, long step) {
        m_ = m;
        G_ = G;
        step_ = step;
        softmax_.factorise(G);
    }

    void predict(double* p) { predict(alpha_, p); }

    /// smooth_mu(E softmax(Q (m + w))), w ~ N(0, G / (2 alpha)); at alpha = infinity,
    /// smooth_mu(softmax(Q m)).
    void predict(double alpha, double* p) {
        const auto is_zero = [](double x) { return x == 0; };
        if (step_ == 0 && std::all_of(m_, m_ + outputs - 1, is_zero)) {  // all classes are alike
            for (long c = 0; c < outputs; ++c) p[c] = 1.0 / double(outputs);
        } else if (std::isinf(alpha)) {
            softmax_.evaluate(m_);
            copy(softmax_.p, outputs, p);
        } else {
            expectation_(*ladder_, softmax_, m_, 0.5 / alpha, std::uint64_t(step_), p);
        }
        for (long c = 0; c < outputs; ++c)
            p[c] = std::max((1.0 - mu_) * p[c] + mu_ / double(outputs),
                            std::numeric_limits<double>::min());
    }

    /// theta_{t+1} by Eq. (2): v = (weight / 2) Q^T (p - e_y); surrogate curvature by Eq. (3): F
    /// F^T = (weight beta / 2) Q^T (diag(p) - p p^T) Q. Or another surrogate's (surrogates.hpp,
    /// averaged.hpp).
    void learn(long y, double weight, double* v, double* F) {
        if (outputs == 2 && surrogate_ == Surrogate::tangent) return learn_two(y, weight, v, F);
        if (averaged_) return averaged_->learn(softmax_, m_, y, weight, beta_, v, F);
        if (averages_) return averages_->learn(softmax_, surrogate_, m_, y, weight, beta_, v, F);
        softmax_.solve_step(m_, y, weight);
        softmax_.gradient(y, v);
        for (long j = 0; j < outputs - 1; ++j) v[j] *= 0.5 * weight;
        softmax_.curvature(0.5 * weight * beta_, F);
    }

   private:
    /// The same of two classes: with z the lead of the label and a the probability of the other
    /// class at the next leader, the example moves z by weight G a, so a = sigma(-(z + weight G
    /// a)). Newton's method; two_lane_rule.hpp says why it goes one way from this start.
    void learn_two(long y, double weight, double* v, double* F) const {
        const double sign = y == 0 ? 1.0 : -1.0, root = std::sqrt(2.0);
        const double z = sign * root * m_[0], reach = weight * std::max(G_[0], 0.0);
        double a = z >= 0 ? 0.0 : reach < -z ? 1.0 : -z / reach, other = 0, both = 0;
        const auto look = [&] {
            const double lead = z + reach * a, e = std::exp(-std::fabs(lead));
            const double high = 1.0 / (1.0 + e), low = e * high;
            other = lead > 0 ? low : high;
            both = low * high;
        };
        for (int iteration = 0; iteration < 100; ++iteration) {
            look();
            const double step = (other - a) / (1.0 + reach * both), moved = reach * step;
            a += step;
            if (!((1.0 + 0.25 * reach) * moved * moved > 1e-16)) break;  // it converges like that
        }
        look();
        v[0] = -sign * weight / root * other;
        F[0] = std::sqrt(weight * beta_ * both);
    }

    Surrogate surrogate_;
    double beta_, alpha_, mu_;
    const double *m_ = nullptr, *G_ = nullptr;
    long step_ = 0;
    std::shared_ptr<const std::vector<Rung>> ladder_;
    Softmax softmax_;
    Expectation expectation_;
    std::unique_ptr<Averages> averages_;
    std::unique_ptr<Averaged> averaged_;
};

}  // namespace MIXABLE_ISA
