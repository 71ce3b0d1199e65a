// The rule of GAF for full posteriors of two classes in lanes. The logits' difference z, that of
// the first class less the second, is all there is: softmax.hpp has the equations of the tangent
// surrogate for any number of classes, averaged.hpp those of the averaged one. Here each number is
// one in each lane, and each lane has its own surrogate.
#pragma once

#include "averaged.hpp"
#include "lane_rule.hpp"

namespace MIXABLE_ISA {

class TwoLaneRule {
   public:
    explicit TwoLaneRule(const LaneRule::Settings& settings)
        : v(W), f(W), beta_(splat(1.0)), wider_(splat(1.0)), settings_(settings) {}

    static constexpr long K = 2;
    Buffer v, f;  // what is to be learned

    long count() const { return long(settings_.alphas.size()); }
    void set(long lane, const LaneRule::Own& own) {
        beta_[lane] = own.beta;
        wider_[lane] = own.wider;
        averaged_[lane] = own.averaged ? -1 : 0;
    }

    /// Reads m and G.
    void begin(const double* m, const double* G) {
        z_ = std::sqrt(2.0) * load(m);
        g_ = load(G);
    }

    /// The forecast at the j-th width: smooth_mu(E softmax), z ~ N(., G / alpha), in closed form.
    void predict(long j, double* out) const {
        const double alpha = settings_.alphas[std::size_t(j)];
        const bool hedges = !std::isinf(alpha);
        const Odds odds(hedges ? z_ / root(1.0 + (pi_by_8 / alpha) * wider_ * g_) : z_);
        store(out, odds.of(0));
        store(out + W, odds.of(1));
        smooth_in_lanes(2, settings_.mu, out);
    }

    /// Sets v and F as GafRule::learn. With a the probability of the other class, the example moves
    /// z, towards the label, by weight G a. So a tangent lane solves a = sigma(-(z + weight G a)),
    /// sigma the logistic function, by Newton's method; an averaged one does the same with the
    /// average of sigma, by as many steps as averaged.hpp takes.
    ///
    /// a - sigma(-(z + weight G a)) rises, and it is convex in a where z + weight G a < 0 and
    /// concave where that is above 0. The start of the tangent lanes is the point between, if both
    /// occur: from there, or from 0 or 1, steps go one way and never beyond the solution.
    void learn(long y, double weight) {
        const double sign = y == 0 ? 1.0 : -1.0;
        const vec z = sign * z_, reach = weight * g_;  // how far the example can move z
        const vec part = averaged_ & (g_ > 2.0) ? splat(0.7) : splat(1.0);
        const vec spread = averaged_ ? pi_by_8 * g_ : vec{};
        const vec deviations = weight * root(g_), factor = 1.0 + 0.25 * reach;
        const vec between = reach < -z ? splat(1.0) : -z / reach;
        vec a = averaged_ | (z >= 0.0) ? vec{} : between;
        vec t{}, precision = splat(1.0);
        ivec open = a == a;  // lanes that go on
        for (int iteration = 0; iteration < most && any(open); ++iteration) {
            const vec scale =
                any(open & averaged_) ? root(precision / (precision + spread)) : splat(1.0);
            const Odds odds(scale * (z + reach * a));
            const vec other = odds.of(1), curvature = scale * odds.low * odds.high;
            const vec mixed = iteration == 0 ? curvature : part * curvature + (1.0 - part) * t;
            t = open ? mixed : t;
            precision = 1.0 + reach * t;
            const vec step = open ? part * (other - a) / precision : vec{};
            const vec size = max(step, -step), moved = 0.5 * reach * size;  // of a logit
            a += step;
            // The curvature where a tangent lane has moved to, if it has converged.
            t = averaged_ ? t : t * (1.0 + (2.0 * other - 1.0) * reach * step);
            const ivec tangent_goes_on = factor * moved * moved > 1e-13;  // it converges like that
            const ivec averaged_goes_on =
                iteration + 1 < Averaged::most ? deviations * size >= Averaged::enough : ivec{};
            open = open & (averaged_ ? averaged_goes_on : tangent_goes_on);
        }
        store(v, (-sign * weight / std::sqrt(2.0)) * a);
        store(f, root(weight * beta_ * max(t, vec{})));
    }

   private:
    static constexpr int most = 100;

    /// sigma(z) and sigma(-z), without cancellation.
    struct Odds {
        explicit Odds(vec z) : first_leads(z > 0.0) {
            const vec e = exp(first_leads ? -z : z);
            high = 1.0 / (1.0 + e);
            low = e * high;
        }
        vec of(long label) const { return (label == 0 ? first_leads : ~first_leads) ? high : low; }
        ivec first_leads;
        vec low, high;
    };

    vec beta_, wider_;
    ivec averaged_{};  // -1 in those lanes
    LaneRule::Settings settings_;
    vec z_{}, g_{};
};

}  // namespace MIXABLE_ISA
