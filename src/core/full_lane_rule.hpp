// The rule of GAF for full posteriors in lanes: gaf.hpp and softmax.hpp have the equations for one
// posterior. Here each number is one in each lane.
#pragma once

#include "lane_rule.hpp"
#include "softmax.hpp"

namespace MIXABLE_ISA {

class FullLaneRule {
   public:
    explicit FullLaneRule(const LaneRule::Settings& settings)
        : K(settings.classes),
          k(K - 1),
          v(k * W),
          f(k * k * W),
          beta(splat(1.0)),
          settings_(settings),
          softmax_(K),
          mean_(K * W),
          spread_(K * K * W),
          half_(k * K * W),
          factor_(k * k * W),
          N_(K * k * W),
          rows_(K * k * W),
          hessian_(k * k * W),
          work_((5 * K + 3 * k) * W) {}

    const long K, k;
    Buffer v, f;  // what is to be learned: v (k) and F (k x k)
    vec beta;

    long count() const { return long(settings_.alphas.size()); }
    void set(long lane, const LaneRule::Own& own) { beta[lane] = own.beta; }

    /// Reads m (k) and G (k x k).
    void begin(const double* m, const double* G) {
        G_ = G;
        softmax_.expand<vec>(m, mean_, W);
        for (long i = 0; i < k; ++i) softmax_.expand<vec>(G + i * k * W, half_ + i * K * W, W);
        for (long c = 0; c < K; ++c) softmax_.expand<vec>(half_ + c * W, spread_ + c * W, K * W);
        for (long c = 1; c < K; ++c)  // in place of the logits' covariances, below the diagonal:
            for (long i = 0; i < c; ++i) {  // (pi / 8) the variances of their differences
                double* entry = spread_ + (c * K + i) * W;
                const vec own = load(spread_ + (c * K + c) * W) + load(spread_ + (i * K + i) * W);
                store(entry, pi_by_8 * max(own - 2.0 * load(entry), vec{}));
            }
    }

    /// The forecast (K) at the j-th width: smooth_mu(E softmax(Q (m + w))), w ~ N(0, G / (2
    /// alpha)), in closed form (pairwise.hpp).
    void predict(long j, double* out) {
        const double alpha = settings_.alphas[std::size_t(j)];
        if (std::isinf(alpha)) {
            evaluate(mean_, -1, out, nullptr);
        } else {
            const double factor = 0.5 / alpha;
            pairwise_in_lanes(
                K, mean_,
                [&](long c) {
                    const double* row = spread_ + c * K * W;
                    return [=](long i) { return 1.0 + factor * load(row + i * W); };
                },
                out);
        }
        smooth_in_lanes(K, settings_.mu, out);
    }

    /// Sets v = (weight / 2) Q^T (p - e_y) at the next leader, and F with the curvature there.
    void learn(long y, double weight) {
        factorise();
        solve_step(y, weight);
        softmax_.contract<vec>(residual(), v, W);
        for (long j = 0; j < k * W; j += W) store(v + j, 0.5 * weight * load(v + j));
        curvature(0.5 * weight * beta);
    }

   private:
    double* row(long i) { return work_ + i * K * W; }
    double* probability() { return row(0); }
    double* residual() { return row(1); }

    /// G = C^T C, and N = Q C^T, the factor of the logits' covariance.
    void factorise() {
        copy(G_, k * k * W, hessian_);
        cholesky<vec>(k, hessian_, k, 0.0);
        for (long j = 0; j < k; ++j)
            for (long i = 0; i < k; ++i)
                store(factor_ + (j * k + i) * W, i <= j ? load(hessian_ + (i * k + j) * W) : vec{});
        for (long l = 0; l < k; ++l) softmax_.expand<vec>(factor_ + l * W, N_ + l * W, k * W);
    }

    /// p = softmax(z); with a label y also p - e_y, without cancellation at y. Sets top_ and
    /// total_: the logarithm of the sum of exp(z) is top_ + log(total_).
    void evaluate(const double* z, long y, double* p, double* r) {
        const long n = K * W;
        vec others{};
        top_ = load(z);
        total_ = vec{};
        for (long c = W; c < n; c += W) top_ = max(top_, load(z + c));
        for (long c = 0; c < n; c += W) {
            const vec e = exp(load(z + c) - top_);
            store(p + c, e);
            total_ += e;
            if (c != y * W) others += e;
        }
        const vec inverse = 1.0 / total_;
        for (long c = 0; c < n; c += W) store(p + c, inverse * load(p + c));
        if (y < 0) return;
        copy(p, n, r);
        store(r + y * W, -inverse * others);
    }

    /// Damped Newton in the whitened coordinates u = m + C^T s, as Softmax::solve_step, in each
    /// lane until it has converged there. Leaves p and p - e_y.
    void solve_step(long y, double weight) {
        const long n = K * W, size_of_s = k * W;
        double *p = probability(), *r = residual(), *z = row(2), *along = row(3);
        double *s = row(5), *step = s + size_of_s, *gradient = step + size_of_s;
        vec widest{};
        for (long c = 0; c < K; ++c) {
            vec own{};
            for (long l = 0; l < k; ++l) {
                const vec entry = load(N_ + (c * k + l) * W);
                own += entry * entry;
            }
            widest = max(widest, own);
        }
        const vec factor = 1.0 + 0.5 * weight * widest;
        set_to_zero(s, size_of_s);
        copy(mean_, n, z);
        const auto objective = [&] {
            vec square{};
            for (long l = 0; l < size_of_s; l += W) square += load(s + l) * load(s + l);
            return square + weight * (log(total_) + top_ - load(z + y * W));
        };
        const auto move = [&](vec fraction) {
            for (long l = 0; l < size_of_s; l += W)
                store(s + l, load(s + l) + fraction * load(step + l));
            for (long c = 0; c < n; c += W) store(z + c, load(z + c) + fraction * load(along + c));
            evaluate(z, y, p, r);
        };
        evaluate(z, y, p, r);
        ivec open = factor > 0.0;  // lanes that go on
        for (int iteration = 0; iteration < 100 && any(open); ++iteration) {
            newton_step(y, weight, s, gradient, step);
            vec slope{}, size{};
            for (long l = 0; l < size_of_s; l += W) {
                store(step + l, open ? load(step + l) : vec{});
                slope += load(step + l) * load(gradient + l);
            }
            for (long c = 0; c < K; ++c) {
                vec moved{};
                for (long l = 0; l < k; ++l)
                    moved += load(N_ + (c * k + l) * W) * load(step + l * W);
                store(along + c * W, moved);
                size = max(size, max(moved, -moved));
            }
            // A full step this small goes down: the curvature changes by less than a factor e.
            ivec fails = size > 0.5;
            const bool searches = any(fails);
            vec fraction = splat(1.0), least = searches ? objective() : vec{};
            const vec slack = 1e-14 * max(least, -least);
            move(fraction);
            while (searches) {
                const vec allowed = least + 1e-4 * fraction * slope + slack;
                fails = fails & (fraction > 1e-15) & ~(objective() <= allowed);
                if (!any(fails)) break;
                fraction *= 0.5;
                move(fails ? -fraction : vec{});
            }
            open = open & (factor * size * size > 1e-13);  // convergence is quadratic
        }
    }

    /// gradient = 2 s + w N^T (p - e_y), Hessian = 2 I + w sum_c p_c (N_c - mean)(N_c - mean)^T,
    /// step = -Hessian^-1 gradient.
    void newton_step(long y, double weight, const double* s, double* gradient, double* step) {
        const double *p = probability(), *r = residual();
        for (long l = 0; l < k; ++l) {
            vec g{};
            for (long c = 0; c < K; ++c) g += load(r + c * W) * load(N_ + (c * k + l) * W);
            // The mean of the rows under p is N_y + N^T (p - e_y).
            const vec mean = load(N_ + (y * k + l) * W) + g;
            for (long c = 0; c < K; ++c)
                store(rows_ + (c * k + l) * W, load(N_ + (c * k + l) * W) - mean);
            store(gradient + l * W, 2.0 * load(s + l * W) + weight * g);
            store(step + l * W, -load(gradient + l * W));
        }
        for (long i = 0; i < k; ++i)
            for (long l = i; l < k; ++l)
                store(hessian_ + (i * k + l) * W, splat(i == l ? 2.0 : 0.0));
        for (long c = 0; c < K; ++c) {
            const vec share = weight * load(p + c * W);
            const double* own = rows_ + c * k * W;
            for (long i = 0; i < k; ++i) {
                const vec left = share * load(own + i * W);
                double* to = hessian_ + i * k * W;
                for (long l = i; l < k; ++l)
                    store(to + l * W, load(to + l * W) + left * load(own + l * W));
            }
        }
        cholesky<vec>(k, hessian_, k, 2.0);
        solve_transposed<vec>(k, hessian_, k, step);
        solve<vec>(k, hessian_, k, step);
    }

    /// F F^T = scale Q^T (diag(p) - p p^T) Q; see Softmax::curvature.
    void curvature(vec scale) {
        const double* p = probability();
        vec after = load(p + k * W);
        for (long j = k - 1; j >= 0; --j) {
            const vec own = load(p + j * W), head = root(scale * own / (own + after)),
                      tail = root(after), ratio = head / tail;
            for (long i = 0; i < j; ++i) store(rows_ + (i * k + j) * W, vec{});
            store(rows_ + (j * k + j) * W, head * tail);
            for (long i = j + 1; i < K; ++i)
                store(rows_ + (i * k + j) * W, -load(p + i * W) * ratio);
            after += own;
        }
        for (long l = 0; l < k; ++l) softmax_.contract<vec>(rows_ + l * W, f + l * W, k * W);
    }

    LaneRule::Settings settings_;
    const Softmax softmax_;  // for its coordinates
    Buffer mean_, spread_, half_, factor_, N_, rows_, hessian_, work_;
    const double* G_ = nullptr;
    vec top_{}, total_{};
};

}  // namespace MIXABLE_ISA
