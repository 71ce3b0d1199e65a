// Multinomial logistic regression in the K coordinates of the classes, for a diagonal width g: what
// softmax.hpp does for a full one, in O(K). Nothing depends on the order of the classes.
#pragma once

#include <algorithm>
#include <cmath>

#include "dense.hpp"

namespace MIXABLE_ISA {

class ClassSoftmax {
   public:
    explicit ClassSoftmax(long classes)
        : K(classes),
          p(pad_to(K, 8)),
          u(pad_to(K, 8)),
          residual(pad_to(K, 8)),
          mask(pad_to(K, 8)),
          h_(pad_to(K, 8)),
          a_(pad_to(K, 8)),
          trial_(pad_to(K, 8)),
          step_(pad_to(K, 8)) {
        for (long c = 0; c < K; ++c) mask[c] = 1.0;
    }

    const long K;
    Buffer p, u;      // softmax, at the point evaluated last
    Buffer residual;  // p - e_y there, without cancellation at y
    Buffer mask;      // 1 for a class, 0 behind the last

    /// p = softmax(z); z has room for whole vectors.
    void evaluate(const double* z) {
        copy(z, K, u);
        normalise();
    }

    /// u = m - (weight g / 2) (softmax(u) - e_y): the minimum of sum_c (u_c - m_c)^2 / g_c + weight
    /// * loss(u, y), by damped Newton. With u = m - h a and h = g / 2 that is sum h a^2 / 2 + weight
    /// * loss. The step solves (I + weight S H) delta = weight r - a, where S = diag(p) - p p^T and
    /// r = p - e_y: a diagonal matrix and one of rank 1.
    void solve_step(const double* m, const double* g, long y, double weight) {
        vec widest{};
        for (long c = 0; c < K; c += W) {
            const vec h = 0.5 * load(g + c);
            store(h_ + c, h);
            store(a_ + c, vec{});
            widest = max(widest, h);
        }
        const double factor = 1 + weight * largest_of(widest);
        move_to(m, a_, y);
        for (int iteration = 0; iteration < 100; ++iteration) {
            vec num{}, den{};
            for (long c = 0; c < K; c += W) {
                const vec q = load(p + c), qh = q * load(h_ + c),
                          share = q / (1.0 + weight * qh),
                          F = weight * load(residual + c) - load(a_ + c);
                num += share * load(h_ + c) * F;
                den += share;
            }
            const double tau = sum(num) / sum(den);
            vec down{}, largest{};
            for (long c = 0; c < K; c += W) {
                const vec wq = weight * load(p + c), h = load(h_ + c),
                          F = weight * load(residual + c) - load(a_ + c),
                          step = (F + wq * tau) / (1.0 + wq * h), move = h * step;
                store(step_ + c, step);
                down += move * F;
                largest = max(largest, max(move, -move));
            }
            const double size = largest_of(largest);
            // A full step this small goes down: the curvature changes by less than a factor e.
            if (size <= 0.5) {
                take(1.0);
                move_to(m, trial_, y);
            } else {
                descend(m, y, weight, sum(down));
            }
            std::swap(a_, trial_);
            if (factor * size * size <= 1e-13) break;  // convergence is quadratic
        }
    }

    /// Sets the residual p - e_y at the point evaluated last; returns 1 - p_y.
    double subtract_label(long y) {
        for (long c = 0; c < K; c += W) store(residual + c, load(p + c));
        residual[y] = 0;
        vec others{};
        for (long c = 0; c < K; c += W) others += load(residual + c);
        return -(residual[y] = -sum(others));
    }

   private:
    static double largest_of(vec x) {
        double most = x[0];
        for (int i = 1; i < W; ++i) most = std::max(most, x[i]);
        return most;
    }

    /// Goes down along the step, halving it as long as the objective does not fall enough.
    void descend(const double* m, long y, double weight, double slope) {
        const double before = objective(a_, y, weight);
        for (double fraction = 1.0; fraction > 1e-15; fraction *= 0.5) {
            take(fraction);
            move_to(m, trial_, y);
            const double value = objective(trial_, y, weight);
            if (value <= before - 1e-4 * fraction * slope + 1e-14 * std::fabs(before)) break;
        }
    }

    void take(double fraction) {
        for (long c = 0; c < K; c += W)
            store(trial_ + c, load(a_ + c) + fraction * load(step_ + c));
    }

    /// Sets u = m - h a, p and the residual there.
    void move_to(const double* m, const double* a, long y) {
        for (long c = 0; c < K; c += W) store(u + c, load(m + c) - load(h_ + c) * load(a + c));
        normalise();
        subtract_label(y);
    }

    /// sum h a^2 / 2 + weight * loss(u, y), at the point moved to last.
    double objective(const double* a, long y, double weight) const {
        vec square{};
        for (long c = 0; c < K; c += W) square += load(h_ + c) * load(a + c) * load(a + c);
        const double loss =
            p[y] > 0.5 ? -std::log1p(residual[y]) : top_ + std::log(total_) - u[y];
        return 0.5 * sum(square) + weight * loss;
    }

    /// p = softmax(u).
    void normalise() {
        top_ = u[0];
        for (long c = 1; c < K; ++c) top_ = std::max(top_, u[c]);
        vec sums{};
        for (long c = 0; c < K; c += W) {
            const vec e = load(mask + c) * exp(load(u + c) - top_);
            store(p + c, e);
            sums += e;
        }
        total_ = sum(sums);
        const double inverse = 1.0 / total_;
        for (long c = 0; c < K; c += W) store(p + c, inverse * load(p + c));
    }

    double top_ = 0, total_ = 1;  // of the point evaluated last: its maximum, the sum of exp
    Buffer h_, a_, trial_, step_;
};

}  // namespace MIXABLE_ISA
