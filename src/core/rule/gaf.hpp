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

namespace MIXABLE_ISA {

/// sigma(z) and sigma(-z), without cancellation.
template <class Number>
struct Logistic {
    explicit Logistic(Number z) {
        const Number e = exp(z > 0.0 ? -z : z), high = 1.0 / (1.0 + e), low = e * high;
        of_lead = z > 0.0 ? high : low;
        of_other = z > 0.0 ? low : high;
        slope = low * high;
    }
    Number of_lead, of_other, slope;
};

/// What two classes learn from an example. The lead z of its label, over the other class, is all
/// there is: it has the variance g, up to a factor. With a the probability of the other class, the
/// example moves z by weight g a. So the tangent surrogate solves a = sigma(-(z + weight g a)),
/// sigma the logistic function, by Newton's method; the averaged one (averaged.hpp) does the same
/// with the average of sigma, until a step no longer matters.
///
/// a - sigma(-(z + weight g a)) rises, and it is convex in a where z + weight g a < 0 and concave
/// where that is above 0. The start of the tangent one is the point between, if both occur: from
/// there, or from 0 or 1, steps go one way and never beyond the solution.
template <class Number>
struct TwoClasses {
    using Mask = decltype(Number{} > 0.0);

    static constexpr int most = 100;  // steps

    Number a{}, t{};  // the probability of the other class, and the curvature a (1 - a)

    TwoClasses(Number z, Number g, double weight, Mask averaged) {
        const Number none{}, one = number<Number>(1.0), reach = weight * g;
        const Number part = averaged & (g > 2.0) ? number<Number>(0.7) : one;
        const Number spread = averaged ? pi_by_8 * g : none;
        const Number deviations = weight * root(g), factor = 1.0 + 0.25 * reach;
        const Number between = reach < -z ? one : -z / reach;
        a = averaged | (z >= 0.0) ? none : between;
        Number precision = one;
        Mask open = a == a;  // lanes that go on
        for (int iteration = 0; iteration < most && any(open); ++iteration) {
            const Number scale =
                any(open & averaged) ? root(precision / (precision + spread)) : one;
            const Logistic<Number> odds(scale * (z + reach * a));
            const Number other = odds.of_other, curvature = scale * odds.slope;
            const Number mixed = iteration == 0 ? curvature : part * curvature + (1.0 - part) * t;
            t = open ? mixed : t;
            precision = 1.0 + reach * t;
            const Number step = open ? part * (other - a) / precision : none;
            const Number size = max(step, -step), moved = 0.5 * reach * size;  // of a logit
            a += step;
            // The curvature where a tangent one has moved to, if it has converged.
            t = averaged ? t : t * (1.0 + (2.0 * other - 1.0) * reach * step);
            const Mask tangent_goes_on = factor * moved * moved > 1e-13;  // it converges like that
            const Mask averaged_goes_on = (deviations * size >= Averaged::enough) &
                                          (number<Number>(iteration + 1) < double(Averaged::most));
            open = open & (averaged ? averaged_goes_on : tangent_goes_on);
        }
        t = max(t, none);
    }
};

struct GafWork {
    explicit GafWork(long classes) : softmax(classes), expectation(classes) {}
    Softmax<double> softmax;
    Expectation expectation;
};

/// Of one posterior; or of one in each lane, each with its own beta and surrogate, read in closed
/// form.
template <class Number>
class GafRule {
    static constexpr bool is_single = lanes_of<Number> == 1;
    static constexpr double root_two = 1.41421356237309504880;

   public:
    using Outcome = long;
    using Mask = typename TwoClasses<Number>::Mask;

    /// Without points, in lanes, the ladder is null.
    GafRule(long classes, double beta, double alpha, double mu,
            std::shared_ptr<const std::vector<Rung>> ladder, bool averaged = false)
        : outputs(classes),
          mu(mu),
          beta(number<Number>(beta)),
          wider(number<Number>(1.0)),
          is_averaged(number<Number>(averaged) > 0.0),
          alpha_(alpha),
          ladder_(std::move(ladder)),
          work_(classes),
          mean_(is_single ? 0 : classes * W),
          half_(is_single ? 0 : (classes - 1) * classes * W),
          spread_(is_single ? 0 : classes * classes * W) {
        if (averaged && classes > 2) averaged_ = std::make_unique<Averaged>(classes);
    }

    const long outputs;
    const double mu;
    Number beta;
    Number wider;      // in lanes: G is taken this many times as wide in forecasts
    Mask is_averaged;  // whether the surrogate is that of averaged.hpp; in lanes for two classes

    /// Whether it takes no points, and its surrogate is one that there is in lanes.
    bool is_in_closed_form() const {
        return !averaged_ && Expectation::is_in_closed_form(*ladder_);
    }

    void begin(const double* m, const double* G, long step = 0) {
        m_ = m;
        G_ = G;
        step_ = step;
        if constexpr (is_single) {
            work_.softmax.factorise(G);
        } else if (outputs > 2) {
            find_logits();
        }
    }

    void predict(double* p) { predict(alpha_, p); }

    /// smooth_mu(E softmax(Q (m + w))), w ~ N(0, G / (2 alpha)); at alpha = infinity,
    /// smooth_mu(softmax(Q m)).
    void predict(double alpha, double* p) {
        const auto is_zero = [](double x) { return x == 0; };
        const bool hedges = !std::isinf(alpha);
        if (is_single && step_ == 0 && std::all_of(m_, m_ + outputs - 1, is_zero)) {
            for (long c = 0; c < outputs; ++c) p[c] = 1.0 / double(outputs);  // all are alike
        } else if (!is_single && outputs == 2) {
            const Number z = root_two * at<Number>(m_, 0), g = wider * at<Number>(G_, 0);
            const Logistic<Number> odds(hedges ? z / root(1.0 + (pi_by_8 / alpha) * g) : z);
            put(p, 0, odds.of_lead);
            put(p, 1, odds.of_other);
        } else if (!hedges) {
            Softmax<Number>& softmax = this->softmax();
            softmax.evaluate(m_);
            copy(softmax.p, outputs * lanes_of<Number>, p);
        } else if constexpr (is_single) {
            work_.expectation(*ladder_, work_.softmax, m_, 0.5 / alpha, std::uint64_t(step_), p);
        } else {
            const Number factor = 0.5 / alpha * wider;
            const auto spread = [&](long c, long j) {
                return 1.0 + factor * load(spread_ + (c * outputs + j) * W);
            };
            pairwise<Number>(outputs, mean_, spread, p);
        }
        smooth<Number>(outputs, mu, p);
    }

    /// theta_{t+1} by Eq. (2): v = (weight / 2) Q^T (p - e_y); surrogate curvature by Eq. (3): F
    /// F^T = (weight beta / 2) Q^T (diag(p) - p p^T) Q. Or those of averaged.hpp.
    void learn(long y, double weight, double* v, double* F) {
        if (outputs == 2) {
            const double sign = y == 0 ? 1.0 : -1.0;
            const TwoClasses<Number> next(sign * root_two * at<Number>(m_, 0),
                                          max(at<Number>(G_, 0), Number{}), weight, is_averaged);
            put(v, 0, (-sign * weight / root_two) * next.a);
            put(F, 0, root(weight * beta * next.t));
            return;
        }
        Softmax<Number>& softmax = this->softmax();
        if constexpr (is_single)
            if (averaged_) return averaged_->learn(softmax, m_, y, weight, beta, v, F);
        if constexpr (!is_single) softmax.factorise(G_);
        softmax.solve_step(m_, y, weight);
        softmax.gradient(y, v);
        for (long j = 0; j < outputs - 1; ++j) put(v, j, 0.5 * weight * at<Number>(v, j));
        softmax.curvature(0.5 * weight * beta, F);
    }

   private:
    Softmax<Number>& softmax() {
        if constexpr (is_single)
            return work_.softmax;
        else
            return work_;
    }

    /// The logits' means and, below the diagonal, (pi / 8) the variances of their differences.
    void find_logits() {
        const long K = outputs, k = K - 1;
        const Softmax<Number>& softmax = work_;
        softmax.expand(m_, mean_);
        for (long i = 0; i < k; ++i) softmax.expand(G_ + i * k * W, half_ + i * K * W);
        for (long c = 0; c < K; ++c) softmax.expand(half_ + c * W, spread_ + c * W, K * W);
        for (long c = 1; c < K; ++c)
            for (long i = 0; i < c; ++i) {
                double* entry = spread_ + (c * K + i) * W;
                const vec own = load(spread_ + (c * K + c) * W) + load(spread_ + (i * K + i) * W);
                store(entry, pi_by_8 * max(own - 2.0 * load(entry), vec{}));
            }
    }

    double alpha_;
    const double *m_ = nullptr, *G_ = nullptr;
    long step_ = 0;
    std::shared_ptr<const std::vector<Rung>> ladder_;
    std::conditional_t<is_single, GafWork, Softmax<Number>> work_;
    Buffer mean_, half_, spread_;  // in lanes
    std::unique_ptr<Averaged> averaged_;
};

}  // namespace MIXABLE_ISA
