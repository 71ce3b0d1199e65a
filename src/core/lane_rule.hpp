// The rule of GAF for posteriors in lanes: class_rules.hpp and class_softmax.hpp have the equations
// for one posterior. Here each number is one in each lane.
#pragma once

#include <vector>

#include "pairwise.hpp"
#include "shape.hpp"

namespace MIXABLE_ISA {

class LaneRule {
   public:
    /// What the rules in all lanes have in common.
    struct Settings {
        long classes;
        std::vector<double> alphas;  // the widths
        double mu;
        Structure structure = Structure::blocks;  // full: full_lane_rule.hpp
        bool operator==(const Settings& other) const {
            return structure == other.structure && classes == other.classes &&
                   alphas == other.alphas && mu == other.mu;
        }
    };
    /// What the rule of one lane has of its own.
    struct Own {
        double beta;
        bool averaged = false;  // whether its surrogate is that of averaged.hpp
        double wider = 1;       // it is read at the widths over this
    };

    explicit LaneRule(const Settings& settings)
        : K(settings.classes),
          v(K * W),
          f(K * W),
          beta(splat(1.0)),
          settings_(settings),
          work_(8 * K * W) {}

    const long K;
    Buffer v, f;  // what is to be learned
    vec beta;

    long count() const { return long(settings_.alphas.size()); }
    void set(long lane, const Own& own) { beta[lane] = own.beta; }

    /// Reads m and g (K), for what follows without them.
    void begin(const double* m, const double* g) {
        m_ = m;
        g_ = g;
    }
    void predict(long j, double* out) { predict(m_, g_, j, out); }
    void learn(long y, double weight) { learn(m_, g_, y, weight); }

    /// The forecast (K) at the j-th width: smooth_mu(E softmax(m + w)), w ~ N(0, diag(g) / (2
    /// alpha)).
    void predict(const double* m, const double* g, long j, double* out) {
        const double alpha = settings_.alphas[std::size_t(j)];
        if (std::isinf(alpha)) {
            softmax(m, splat(1.0), out);
        } else if (is_shared()) {  // one scale for all pairs
            softmax(m, 1.0 / root(1.0 + pi_by_8 / alpha * load(g)), out);
        } else {
            const double factor = pi_by_8 * 0.5 / alpha;
            pairwise_in_lanes(
                K, m,
                [&](long c) {
                    const vec own = 1.0 + factor * load(g + c * W);
                    return [=](long i) { return own + factor * load(g + i * W); };
                },
                out);
        }
        smooth_in_lanes(K, settings_.mu, out);
    }

    /// Sets v = (weight / 2) (p - e_y) at the next leader, and the curvature f there.
    void learn(const double* m, const double* g, long y, double weight) {
        solve(m, g, y, weight);
        const vec scale = 0.5 * weight * double(K) / double(K - 1) * beta;
        vec total{};
        for (long c = 0; c < K; ++c) {
            const vec r = load(residual() + c * W), p = load(probability() + c * W);
            store(v + c * W, 0.5 * weight * r);
            store(f + c * W, scale * p * (r < 0.0 ? -r : max(1.0 - r, vec{})));
            total += load(f + c * W);
        }
        if (is_shared())
            for (long c = 0; c < K; ++c) store(f + c * W, total / double(K));
    }

   private:
    bool is_shared() const { return settings_.structure == Structure::shared; }
    double* row(long i) { return work_ + i * K * W; }
    double* probability() { return row(0); }
    double* residual() { return row(1); }

    void softmax(const double* z, vec scale, double* out) const {
        vec top = load(z), total{};
        for (long c = W; c < K * W; c += W) top = max(top, load(z + c));
        for (long c = 0; c < K * W; c += W) {
            const vec e = exp(scale * (load(z + c) - top));
            store(out + c, e);
            total += e;
        }
        for (long c = 0; c < K * W; c += W) store(out + c, load(out + c) / total);
    }

    /// Damped Newton, as ClassSoftmax::newton, in each lane until it has converged there.
    void solve(const double* m, const double* g, long y, double weight) {
        double *q = probability(), *r = residual(), *a = row(2), *h = row(3), *step = row(4),
               *at = row(5), *force = row(6), *inverse = row(7);
        const long n = K * W;
        vec widest{}, top{}, total{};
        for (long c = 0; c < n; c += W) {
            store(h + c, 0.5 * load(g + c));
            store(a + c, vec{});
            widest = max(widest, load(h + c));
        }
        const auto move_to_a = [&] {
            top = splat(-1e300);
            total = vec{};
            vec others{};
            for (long c = 0; c < n; c += W) {
                const vec u = load(m + c) - load(h + c) * load(a + c);
                store(at + c, u);
                top = max(top, u);
            }
            for (long c = 0; c < n; c += W) {
                const vec e = exp(load(at + c) - top);
                store(q + c, e);
                total += e;
                if (c != y * W) others += e;
            }
            const vec scale = 1.0 / total;
            for (long c = 0; c < n; c += W) {
                store(q + c, scale * load(q + c));
                store(r + c, load(q + c));
            }
            store(r + y * W, -scale * others);
        };
        const auto objective = [&] {
            vec square{};
            for (long c = 0; c < n; c += W) square += load(h + c) * load(a + c) * load(a + c);
            return 0.5 * square + weight * (log(total) + top - load(at + y * W));
        };
        const vec factor = 1.0 + weight * widest;
        move_to_a();
        ivec open = factor > 0.0;  // lanes that go on
        for (int iteration = 0; iteration < 100 && any(open); ++iteration) {
            vec numerator{}, denominator{}, down{}, size{};
            for (long c = 0; c < n; c += W) {
                const vec p = load(q + c), one = 1.0 / (1.0 + weight * p * load(h + c));
                const vec F = weight * load(r + c) - load(a + c), share = p * one;
                store(force + c, F);
                store(inverse + c, one);
                numerator += share * load(h + c) * F;
                denominator += share;
            }
            const vec tau = weight * numerator / denominator;
            for (long c = 0; c < n; c += W) {
                const vec F = load(force + c);
                const vec move = open ? (F + load(q + c) * tau) * load(inverse + c) : vec{};
                const vec moved = load(h + c) * move;
                store(step + c, move);
                down += moved * F;
                size = max(size, max(moved, -moved));
            }
            // A full step this small goes down: the curvature changes by less than a factor e.
            ivec fails = size > 0.5;
            const bool searches = any(fails);
            vec fraction = splat(1.0), least = searches ? objective() : vec{};
            const vec slack = 1e-14 * max(least, -least);
            for (long c = 0; c < n; c += W) store(a + c, load(a + c) + load(step + c));
            move_to_a();
            while (searches) {
                const vec allowed = least - 1e-4 * fraction * down + slack;
                fails = fails & (fraction > 1e-15) & ~(objective() <= allowed);
                if (!any(fails)) break;
                fraction *= 0.5;
                const vec back = fails ? fraction : vec{};
                for (long c = 0; c < n; c += W) store(a + c, load(a + c) - back * load(step + c));
                move_to_a();
            }
            open = open & (factor * size * size > 1e-13);  // convergence is quadratic
        }
    }

    Settings settings_;
    const double *m_ = nullptr, *g_ = nullptr;
    Buffer work_;
};

}  // namespace MIXABLE_ISA
