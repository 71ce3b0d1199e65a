// Multinomial logistic regression in the K coordinates of the classes, for a diagonal width g: what
// softmax.hpp does for a full one, in O(K). Nothing depends on the order of the classes.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/numbers/dense.hpp"

namespace MIXABLE_ISA {

/// Of one posterior, or of one in each lane. The K Numbers of a vector are in `count` vectors: of
/// one posterior a vector has several classes, else one class in all lanes.
template <class Number>
class ClassSoftmax {
   public:
    explicit ClassSoftmax(long classes)
        : K(classes),
          count((K * width + W - 1) / W),
          p(numbers()),
          u(numbers()),
          residual(numbers()),
          mask_(numbers()),
          work_(8 * numbers()) {
        for (long c = 0; c < K * width; ++c) mask_[c] = 1.0;
    }

    static constexpr long width = lanes_of<Number>;
    const long K, count;
    Buffer p;         // softmax at the point evaluated last
    Buffer u;         // the point that was solved for
    Buffer residual;  // p - e_y there, without cancellation at y

    /// p = softmax(scale z); z has room for whole vectors.
    void evaluate(const double* z, Number scale) {
        Number top = at<Number>(z, 0);
        for (long c = 1; c < K; ++c) top = max(top, at<Number>(z, c));
        vec sums{};
        for (long c = 0; c < count * W; c += W) {
            const vec e = is_class(c) * exp(scale * (load(z + c) - top));
            store(p + c, e);
            sums += e;
        }
        const Number inverse = 1.0 / sum_of<Number>(sums);
        for (long c = 0; c < count * W; c += W) store(p + c, inverse * load(p + c));
    }

    /// u = m - (weight g / 2) (softmax(u) - e_y): the minimum of sum_c (u_c - m_c)^2 / g_c + weight
    /// * loss(u, y), by damped Newton. Leaves u, p and the residual p - e_y there.
    void solve_step(const double* m, const double* g, long y, double weight) {
        if (count == 1) return newton<1>(m, g, y, weight);
        if (count == 2) return newton<2>(m, g, y, weight);
        newton<0>(m, g, y, weight);
    }

    /// Sets the residual p - e_y at the point evaluated last.
    void subtract_label(long y) {
        copy(p, count * W, residual);
        put(residual, y, Number{});
        vec others{};
        for (long c = 0; c < count * W; c += W) others += load(residual + c);
        put(residual, y, -sum_of<Number>(others));
    }

   private:
    long numbers() const { return width == 1 ? pad_to(K, 8) : K * width; }
    /// 1 for a class, 0 behind the last.
    vec is_class(long c) const { return width == 1 ? load(mask_ + c) : splat(1.0); }

    /// With u = m - h a and h = g / 2 the objective is sum h a^2 / 2 + weight * loss. The step
    /// solves (I + weight S H) delta = weight r - a, where S = diag(p) - p p^T and r = p - e_y: a
    /// diagonal matrix and one of rank 1. Each lane goes on until it has converged. Known to be few
    /// (N > 0), the vectors stay in registers.
    template <int N>
    void newton(const double* m_, const double* g, long y, double weight) {
        const long n = N > 0 ? N : count;
        vec local[8 * (N > 0 ? N : 1)];
        vec* const all = N > 0 ? local : reinterpret_cast<vec*>(static_cast<double*>(work_));
        vec *m = all, *h = all + n, *a = all + 2 * n, *not_y = all + 3 * n, *q = all + 4 * n,
            *r = all + 5 * n, *step = all + 6 * n, *at_a = all + 7 * n;
        vec widest{};
        for (long c = 0; c < n; ++c) {
            h[c] = 0.5 * load(g + c * W);
            m[c] = is_class(c * W) != 0.0 ? load(m_ + c * W) : splat(-1e300);
            a[c] = vec{};
            for (int i = 0; i < W; ++i) not_y[c][i] = (c * W + i) / width == y ? 0.0 : 1.0;
            widest = max(widest, h[c]);
        }
        Number top{}, total{}, gone{};  // gone: 1 - p_y
        // Sets q = softmax(m - h a) and r there, without cancellation at y.
        const auto move_to_a = [&] {
            vec highest = splat(-1e300), sums{}, others{};
            for (long c = 0; c < n; ++c) {
                at_a[c] = m[c] - h[c] * a[c];
                highest = max(highest, at_a[c]);
            }
            top = largest_of<Number>(highest);
            for (long c = 0; c < n; ++c) {
                q[c] = is_class(c * W) * exp(at_a[c] - top);
                sums += q[c];
                others += q[c] * not_y[c];
            }
            total = sum_of<Number>(sums);
            const Number inverse = 1.0 / total;
            gone = sum_of<Number>(others) * inverse;
            for (long c = 0; c < n; ++c) {
                q[c] *= inverse;
                r[c] = not_y[c] != 0.0 ? q[c] : -gone - vec{};
            }
        };
        const auto objective = [&] {
            vec square{}, lead{};
            for (long c = 0; c < n; ++c) {
                square += h[c] * a[c] * a[c];
                lead += (1.0 - not_y[c]) * (at_a[c] - top);
            }
            return 0.5 * sum_of<Number>(square) + weight * (log(total) - sum_of<Number>(lead));
        };
        const Number factor = 1.0 + weight * largest_of<Number>(widest);
        move_to_a();
        auto open = factor > 0.0;  // lanes that go on
        for (int iteration = 0; iteration < 100 && any(open); ++iteration) {
            vec numerator{}, denominator{}, down{}, largest{};
            for (long c = 0; c < n; ++c) {
                const vec share = q[c] / (1.0 + weight * q[c] * h[c]);
                numerator += share * h[c] * (weight * r[c] - a[c]);
                denominator += share;
            }
            const Number tau = weight * sum_of<Number>(numerator) / sum_of<Number>(denominator);
            for (long c = 0; c < n; ++c) {
                const vec force = weight * r[c] - a[c];
                const vec full = (force + q[c] * tau) / (1.0 + weight * q[c] * h[c]);
                step[c] = open ? full : vec{};
                const vec moved = h[c] * step[c];
                down += moved * force;
                largest = max(largest, max(moved, -moved));
            }
            const Number size = largest_of<Number>(largest);
            // A full step this small goes down: the curvature changes by less than a factor e.
            auto fails = size > 0.5;
            const bool searches = any(fails);
            Number fraction = number<Number>(1.0), least = searches ? objective() : Number{};
            const Number slack = 1e-14 * max(least, -least), slope = sum_of<Number>(down);
            for (long c = 0; c < n; ++c) a[c] += step[c];
            move_to_a();
            while (searches) {
                const Number allowed = least - 1e-4 * fraction * slope + slack;
                fails = fails & (fraction > 1e-15) & ((objective() <= allowed) == 0);
                if (!any(fails)) break;
                fraction *= 0.5;
                const Number back = fails ? fraction : Number{};
                for (long c = 0; c < n; ++c) a[c] -= back * step[c];
                move_to_a();
            }
            open = open & (factor * size * size > 1e-13);  // convergence is quadratic
        }
        for (long c = 0; c < n; ++c) {
            store(u + c * W, at_a[c]);
            store(p + c * W, q[c]);
            store(residual + c * W, is_class(c * W) * r[c]);
        }
    }

    Buffer mask_, work_;
};

}  // namespace MIXABLE_ISA
