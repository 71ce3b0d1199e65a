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
          work_(8 * pad_to(K, 8)) {
        for (long c = 0; c < K; ++c) mask[c] = 1.0;
    }

    const long K;
    Buffer p;         // softmax at the point evaluated last
    Buffer u;         // the point that was solved for
    Buffer residual;  // p - e_y there, without cancellation at y
    Buffer mask;      // 1 for a class, 0 behind the last

    /// p = softmax(z); z has room for whole vectors.
    void evaluate(const double* z) {
        double top = z[0];
        for (long c = 1; c < K; ++c) top = std::max(top, z[c]);
        vec sums{};
        for (long c = 0; c < K; c += W) {
            const vec e = load(mask + c) * exp(load(z + c) - top);
            store(p + c, e);
            sums += e;
        }
        const double inverse = 1.0 / sum(sums);
        for (long c = 0; c < K; c += W) store(p + c, inverse * load(p + c));
    }

    /// u = m - (weight g / 2) (softmax(u) - e_y): the minimum of sum_c (u_c - m_c)^2 / g_c + weight
    /// * loss(u, y), by damped Newton. Leaves u, p and the residual p - e_y there.
    void solve_step(const double* m, const double* g, long y, double weight) {
        const long n = (K + W - 1) / W;
        if (n == 1) return newton<1>(m, g, y, weight, n);
        if (n == 2) return newton<2>(m, g, y, weight, n);
        newton<0>(m, g, y, weight, n);
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
    /// With u = m - h a and h = g / 2 the objective is sum h a^2 / 2 + weight * loss. The step
    /// solves (I + weight S H) delta = weight r - a, where S = diag(p) - p p^T and r = p - e_y: a
    /// diagonal matrix and one of rank 1. N vectors hold the classes, `count` if N is 0; few enough
    /// stay in registers.
    template <int N>
    void newton(const double* m_, const double* g, long y, double weight, long count) {
        const long n = N > 0 ? N : count;
        vec local[8 * (N > 0 ? N : 1)];
        vec* const all = N > 0 ? local : reinterpret_cast<vec*>(static_cast<double*>(work_));
        vec *m = all, *h = all + n, *a = all + 2 * n, *is_y = all + 3 * n, *q = all + 4 * n,
            *r = all + 5 * n, *step = all + 6 * n, *at = all + 7 * n;
        vec widest{};
        for (long c = 0; c < n; ++c) {
            const vec is_class = load(mask + c * W);
            h[c] = 0.5 * load(g + c * W);
            m[c] = is_class != 0.0 ? load(m_ + c * W) : splat(-1e300);
            a[c] = vec{};
            for (int i = 0; i < W; ++i) is_y[c][i] = c * W + i == y ? 1.0 : 0.0;
            widest = max(widest, h[c]);
        }
        double top = 0, total = 1, gone = 0;  // gone: 1 - p_y
        // Sets q = softmax(m - h a) and r there, without cancellation at y.
        const auto move_to = [&](const vec* where) {
            vec highest = splat(-1e300), sums{}, others{};
            for (long c = 0; c < n; ++c) {
                at[c] = m[c] - h[c] * where[c];
                highest = max(highest, at[c]);
            }
            top = largest_of(highest);
            for (long c = 0; c < n; ++c) {
                q[c] = load(mask + c * W) * exp(at[c] - top);
                sums += q[c];
                others += q[c] * (1.0 - is_y[c]);
            }
            total = sum(sums);
            const double inverse = 1.0 / total;
            gone = sum(others) * inverse;
            for (long c = 0; c < n; ++c) {
                q[c] *= inverse;
                r[c] = q[c] * (1.0 - is_y[c]) - gone * is_y[c];
            }
        };
        const auto objective = [&](const vec* where) {
            vec square{}, own{};
            for (long c = 0; c < n; ++c) {
                square += h[c] * where[c] * where[c];
                own += is_y[c] * (at[c] - top);
            }
            const double loss = gone < 0.5 ? -std::log1p(-gone) : std::log(total) - sum(own);
            return 0.5 * sum(square) + weight * loss;
        };
        const double factor = 1 + weight * largest_of(widest);
        move_to(a);
        for (int iteration = 0; iteration < 100; ++iteration) {
            vec num{}, den{}, down{}, largest{};
            for (long c = 0; c < n; ++c) {
                const vec share = q[c] / (1.0 + weight * q[c] * h[c]);
                num += share * h[c] * (weight * r[c] - a[c]);
                den += share;
            }
            const double tau = weight * sum(num) / sum(den);
            for (long c = 0; c < n; ++c) {
                const vec F = weight * r[c] - a[c];
                step[c] = (F + q[c] * tau) / (1.0 + weight * q[c] * h[c]);
                const vec move = h[c] * step[c];
                down += move * F;
                largest = max(largest, max(move, -move));
            }
            const double size = largest_of(largest);
            // A full step this small goes down: the curvature changes by less than a factor e.
            double fraction = 1, least = size <= 0.5 ? HUGE_VAL : objective(a);
            const double slack = 1e-14 * std::fabs(least), slope = size <= 0.5 ? 0 : sum(down);
            for (long c = 0; c < n; ++c) a[c] += step[c];
            move_to(a);
            while (size > 0.5 && fraction > 1e-15 &&
                   !(objective(a) <= least - 1e-4 * fraction * slope + slack)) {
                fraction *= 0.5;
                for (long c = 0; c < n; ++c) a[c] -= fraction * step[c];
                move_to(a);
            }
            if (factor * size * size <= 1e-13) break;  // convergence is quadratic
        }
        for (long c = 0; c < n; ++c) {
            store(u + c * W, at[c]);
            store(p + c * W, q[c] * load(mask + c * W));
            store(residual + c * W, r[c] * load(mask + c * W));
        }
    }

    static double largest_of(vec x) {
        double most = x[0];
        for (int i = 1; i < W; ++i) most = std::max(most, x[i]);
        return most;
    }

    Buffer work_;
};

}  // namespace MIXABLE_ISA
