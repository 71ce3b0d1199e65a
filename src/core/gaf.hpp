// The rule of the Gaussian Aggregating Forecaster for multinomial logistic loss (Algorithm 1 of the
// paper, in K - 1 coordinates).
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "averaged.hpp"
#include "expectation.hpp"
#include "workplace.hpp"

namespace MIXABLE_ISA {

struct GafWork {
    explicit GafWork(long classes) : softmax(classes), expectation(classes) {}
    Softmax softmax;
    Expectation expectation;
    std::uint64_t reading = 0;  // the one that was factorised last

    /// A number that no other reading has, of any thread.
    static std::uint64_t new_reading() {
        static std::atomic<std::uint64_t> threads{0};
        thread_local std::uint64_t next = ++threads << 40;
        return ++next;
    }
};

class GafRule {
   public:
    using Outcome = long;

    GafRule(long classes, double beta, double alpha, double mu,
            std::shared_ptr<const std::vector<Rung>> ladder, bool averaged = false)
        : outputs(classes),
          beta_(beta),
          alpha_(alpha),
          mu_(mu),
          ladder_(std::move(ladder)),
          work_(classes) {
        if (averaged) averaged_ = std::make_unique<Averaged>(classes);
    }

    const long outputs;

    double beta() const { return beta_; }
    double mu() const { return mu_; }
    bool is_averaged() const { return averaged_ != nullptr; }
    /// Whether it takes no points, and its surrogate is one that there is in lanes.
    bool is_in_closed_form() const {
        return (!is_averaged() || outputs == 2) && Expectation::is_in_closed_form(*ladder_);
    }

    void begin(const double* m, const double* G, long step) {
        m_ = m;
        G_ = G;
        step_ = step;
        reading_ = GafWork::new_reading();
        work();
    }

    void predict(double* p) { predict(alpha_, p); }

    /// smooth_mu(E softmax(Q (m + w))), w ~ N(0, G / (2 alpha)); at alpha = infinity,
    /// smooth_mu(softmax(Q m)).
    void predict(double alpha, double* p) {
        const auto is_zero = [](double x) { return x == 0; };
        if (step_ == 0 && std::all_of(m_, m_ + outputs - 1, is_zero)) {  // all classes are alike
            for (long c = 0; c < outputs; ++c) p[c] = 1.0 / double(outputs);
        } else if (std::isinf(alpha)) {
            Softmax& softmax = work().softmax;
            softmax.evaluate(m_);
            copy(softmax.p, outputs, p);
        } else {
            GafWork& own = work();
            own.expectation(*ladder_, own.softmax, m_, 0.5 / alpha, std::uint64_t(step_), p);
        }
        for (long c = 0; c < outputs; ++c)
            p[c] = std::max((1.0 - mu_) * p[c] + mu_ / double(outputs),
                            std::numeric_limits<double>::min());
    }

    /// theta_{t+1} by Eq. (2): v = (weight / 2) Q^T (p - e_y); surrogate curvature by Eq. (3): F
    /// F^T = (weight beta / 2) Q^T (diag(p) - p p^T) Q. Or those of averaged.hpp.
    void learn(long y, double weight, double* v, double* F) {
        if (outputs == 2 && !averaged_) return learn_two(y, weight, v, F);
        Softmax& softmax = work().softmax;
        if (averaged_) return averaged_->learn(softmax, m_, y, weight, beta_, v, F);
        softmax.solve_step(m_, y, weight);
        softmax.gradient(y, v);
        for (long j = 0; j < outputs - 1; ++j) v[j] *= 0.5 * weight;
        softmax.curvature(0.5 * weight * beta_, F);
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

    /// With the factor of the present reading.
    GafWork& work() {
        GafWork& found = *work_;
        if (found.reading != reading_) {
            found.softmax.factorise(G_);
            found.reading = reading_;
        }
        return found;
    }

    double beta_, alpha_, mu_;
    const double *m_ = nullptr, *G_ = nullptr;
    long step_ = 0;
    std::uint64_t reading_ = 0;
    std::shared_ptr<const std::vector<Rung>> ladder_;
    Workplace<GafWork> work_;
    std::unique_ptr<Averaged> averaged_;
};

}  // namespace MIXABLE_ISA
