// The rule of the Gaussian Aggregating Forecaster for multinomial logistic loss (Algorithm 1 of the
// paper, in K - 1 coordinates).
#pragma once

#include <cmath>
#include <optional>
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
          softmax_(classes),
          expectation_(classes, std::move(ladder)) {
        if (surrogate_ == Surrogate::averaged)
            averaged_.emplace(classes);
        else if (surrogate_ != Surrogate::tangent)
            averages_.emplace(classes, std::move(averages));
    }

    const long outputs;

    double beta() const { return beta_; }
    double mu() const { return mu_; }
    /// Whether it takes no points, and its surrogate is the tangent one.
    bool is_in_closed_form() const {
        return surrogate_ == Surrogate::tangent && expectation_.is_in_closed_form();
    }

    void begin(const double* m, const double* G, long step) {
        m_ = m;
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
            expectation_(softmax_, m_, 0.5 / alpha, std::uint64_t(step_), p);
        }
        for (long c = 0; c < outputs; ++c)
            p[c] = std::max((1.0 - mu_) * p[c] + mu_ / double(outputs),
                            std::numeric_limits<double>::min());
    }

    /// theta_{t+1} by Eq. (2): v = (weight / 2) Q^T (p - e_y); surrogate curvature by Eq. (3): F
    /// F^T = (weight beta / 2) Q^T (diag(p) - p p^T) Q. Or another surrogate's (surrogates.hpp,
    /// averaged.hpp).
    void learn(long y, double weight, double* v, double* F) {
        if (averaged_) return averaged_->learn(softmax_, m_, y, weight, beta_, v, F);
        if (averages_) return averages_->learn(softmax_, surrogate_, m_, y, weight, beta_, v, F);
        softmax_.solve_step(m_, y, weight);
        softmax_.gradient(y, v);
        for (long j = 0; j < outputs - 1; ++j) v[j] *= 0.5 * weight;
        softmax_.curvature(0.5 * weight * beta_, F);
    }

   private:
    Surrogate surrogate_;
    double beta_, alpha_, mu_;
    const double* m_ = nullptr;
    long step_ = 0;
    Softmax softmax_;
    Expectation expectation_;
    std::optional<Averages> averages_;
    std::optional<Averaged> averaged_;
};

}  // namespace MIXABLE_ISA
