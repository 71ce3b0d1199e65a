// Multinomial logistic regression in k = K - 1 coordinates: logits z = Q u with Q the K x k Helmert
// basis of the vectors that sum to zero. Column j of Q is (1, ..., 1, -(j + 1), 0, ..., 0) /
// sqrt((j + 1)(j + 2)), so products with Q are running sums, and adding a class adds a column.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/numbers/dense.hpp"

namespace MIXABLE_ISA {

/// Of one posterior, or of one in each lane (simd.hpp says what a Number is). Vectors have a Number
/// for each coordinate or class; rows of matrices are sk of them apart.
template <class Number>
class Softmax {
   public:
    explicit Softmax(long classes)
        : K(classes),
          k(classes - 1),
          sk(width == 1 ? pad_to(k, 8) : k),
          factor(k * sk * width),
          N(K * sk * width),
          p(numbers()),
          scale_(k),
          z_(numbers()),
          along_(numbers()),
          residual_(numbers()),
          rows_(K * sk * width),
          weighted_(K * sk * width),
          hessian_(k * sk * width),
          s_(sk * width),
          step_(sk * width),
          gradient_(sk * width) {
        for (long j = 0; j < k; ++j) scale_[j] = 1.0 / std::sqrt(double(j + 1) * double(j + 2));
        for (long c = K * width; c < numbers(); ++c)
            z_[c] = -1e300;  // a class that is never there, so that softmax works on whole vectors
    }

    static constexpr long width = lanes_of<Number>;
    const long K, k, sk;
    Buffer factor;  // upper C with G = C^T C (k x k)
    Buffer N;       // Q C^T, the logits' factor (K x k)
    Buffer p;       // softmax at the point evaluated last

    /// out_c = sum_j Q[c, j] in_j for one column of Entries, which are `stride` doubles apart.
    template <class Entry = Number>
    void expand(const double* in, double* out, long stride = width) const {
        const auto entry = [&](long i) { return at<Entry>(in + i * stride, 0); };
        Entry suffix{};
        for (long c = K - 1; c >= 0; --c) {
            if (c < k) suffix += scale_[c] * entry(c);
            put(out + c * stride, 0,
                c > 0 ? suffix - (double(c) * scale_[c - 1]) * entry(c - 1) : suffix);
        }
    }

    /// out_j = sum_c Q[c, j] in_c, likewise.
    template <class Entry = Number>
    void contract(const double* in, double* out, long stride = width) const {
        Entry prefix{};
        for (long j = 0; j < k; ++j) {
            prefix += at<Entry>(in + j * stride, 0);
            put(out + j * stride, 0,
                scale_[j] * (prefix - double(j + 1) * at<Entry>(in + (j + 1) * stride, 0)));
        }
    }

    /// Sets p = softmax(Q u).
    void evaluate(const double* u) {
        expand(u, z_);
        normalise(-1);
    }

    /// Factors G = C^T C and prepares N = Q C^T.
    void factorise(const double* G) {
        copy(G, k * sk * width, factor);
        cholesky<Number>(k, factor, sk, 0.0);
        for (long j = 0; j < k; ++j)
            for (long i = 0; i < k; ++i)
                put(rows_, j * sk + i, i <= j ? at<Number>(factor, i * sk + j) : Number{});
        for (long l = 0; l < sk * width; l += W) expand<vec>(rows_ + l, N + l, sk * width);
    }

    /// Finds u = argmin (u - m)^T G^-1 (u - m) + weight * loss(Q u, y), by damped Newton in the
    /// whitened coordinates u = m + C^T s, where the objective |s|^2 + weight * loss is strongly
    /// convex whatever G. Leaves p = softmax(Q u). Needs factorise(G).
    void solve_step(const double* m, long y, double weight) {
        Number widest{};
        for (long c = 0; c < K; ++c) {
            vec own{};
            for (long l = 0; l < sk * width; l += W) {
                const vec entry = load(N + c * sk * width + l);
                own += entry * entry;
            }
            widest = max(widest, sum_of<Number>(own));
        }
        const Number factor_of_error = 1.0 + 0.5 * weight * widest;
        set_to_zero(s_, sk * width);
        expand(m, z_);
        normalise(y);
        auto open = factor_of_error > 0.0;  // lanes that go on
        for (int iteration = 0; iteration < 100 && any(open); ++iteration) {
            newton_step(y, weight);
            Number slope{}, size{};
            for (long i = 0; i < k; ++i) {
                put(step_, i, open ? at<Number>(step_, i) : Number{});
                slope += at<Number>(step_, i) * at<Number>(gradient_, i);
            }
            times_step(along_);
            for (long c = 0; c < K; ++c) {
                const Number moved = at<Number>(along_, c);
                size = max(size, max(moved, -moved));
            }
            // A full step this small goes down: the curvature changes by less than a factor e.
            auto fails = size > 0.5;
            const bool searches = any(fails);
            Number fraction = number<Number>(1.0),
                   least = searches ? objective(y, weight) : Number{};
            const Number slack = 1e-14 * max(least, -least);
            move(fraction, y);
            while (searches) {
                const Number allowed = least + 1e-4 * fraction * slope + slack;
                fails = fails & (fraction > 1e-15) & ((objective(y, weight) <= allowed) == 0);
                if (!any(fails)) break;
                fraction *= 0.5;
                move(fails ? -fraction : Number{}, y);
            }
            open = open & (factor_of_error * size * size > 1e-13);  // convergence is quadratic
        }
    }
    /// The u that was found, from the same m.
    void solution(const double* m, double* u) const {
        for (long i = 0; i < k; ++i) {
            Number sum = at<Number>(m, i);
            for (long l = 0; l <= i; ++l) sum += at<Number>(factor, l * sk + i) * at<Number>(s_, l);
            put(u, i, sum);
        }
    }

    /// out = Q^T (p - e_y) at the point evaluated last.
    void gradient(long y, double* out) {
        subtract_label(y);
        contract(residual_, out);
    }

    /// The same where softmax was `at_point`.
    void gradient(const double* at_point, long y, double* out) {
        copy(at_point, K * width, p);
        gradient(y, out);
    }

    /// F (k x k) with F F^T = scale Q^T (diag(p) - p p^T) Q at the point evaluated last, by the
    /// closed-form factor of Tanabe and Sagae: diag(p) - p p^T = T T^T, T[j, j] = sqrt(p_j q_j /
    /// (p_j + q_j)), T[i, j] = -p_i sqrt(p_j / (q_j (p_j + q_j))) for i > j, q_j = sum of p after
    /// j.
    void curvature(Number scale, double* F) {
        Number after = at<Number>(p, k);
        for (long j = k - 1; j >= 0; --j) {
            const Number own = at<Number>(p, j), head = root(scale * own / (own + after)),
                         tail = root(after), ratio = head / tail;
            for (long i = 0; i < j; ++i) put(rows_, i * sk + j, Number{});
            put(rows_, j * sk + j, head * tail);
            for (long i = j + 1; i < K; ++i) put(rows_, i * sk + j, -at<Number>(p, i) * ratio);
            after += own;
        }
        for (long l = 0; l < sk * width; l += W) contract<vec>(rows_ + l, F + l, sk * width);
    }

    /// r <- (I + F^T G F)^-1 F^T r, which is F^T (I + G F F^T)^-1 r; F is k x k with row stride sk.
    void damp(const double* G, const double* F, double* r) {
        factor_gain<Number>(k, k, G, sk, F, sk, rows_, hessian_);
        multiply_numbers<Number>(1, k, k, {r, 0, 1}, F, sk, step_, sk);
        solve_hessian();
        copy(step_, k * width, r);
    }

   private:
    /// Doubles in a vector of K Numbers, with room for whole vectors.
    long numbers() const { return width == 1 ? pad_to(K, 8) : K * width; }

    /// p = softmax(z), and with a label y >= 0 the residual p - e_y.
    void normalise(long y) {
        top_ = at<Number>(z_, 0);
        for (long c = 1; c < K; ++c) top_ = max(top_, at<Number>(z_, c));
        for (long c = 0; c < K * width; c += W) store(p + c, exp(load(z_ + c) - top_));
        total_ = Number{};
        for (long c = 0; c < K; ++c) total_ += at<Number>(p, c);
        const Number inverse = 1.0 / total_;
        for (long c = 0; c < K; ++c) put(p, c, at<Number>(p, c) * inverse);
        if (y >= 0) subtract_label(y);
    }

    /// residual = p - e_y, without cancellation at y.
    void subtract_label(long y) {
        Number others{};
        for (long c = 0; c < K; ++c) {
            const Number own = at<Number>(p, c);
            put(residual_, c, own);
            if (c != y) others += own;
        }
        put(residual_, y, -others);
    }

    /// |s|^2 + weight * loss at z.
    Number objective(long y, double weight) const {
        Number square{};
        for (long i = 0; i < k; ++i) square += at<Number>(s_, i) * at<Number>(s_, i);
        return square + weight * (log(total_) + top_ - at<Number>(z_, y));
    }

    /// out = N step.
    void times_step(double* out) const {
        if constexpr (width == 1) return dots(k, 1, step_, sk, K, N, sk, out, K);
        for (long c = 0; c < K; ++c) {
            Number sum{};
            for (long l = 0; l < k; ++l) sum += at<Number>(N, c * sk + l) * at<Number>(step_, l);
            put(out, c, sum);
        }
    }

    void move(Number fraction, long y) {
        for (long i = 0; i < k; ++i)
            put(s_, i, at<Number>(s_, i) + fraction * at<Number>(step_, i));
        for (long c = 0; c < K; ++c)
            put(z_, c, at<Number>(z_, c) + fraction * at<Number>(along_, c));
        normalise(y);
    }

    /// gradient = 2 s + w N^T (p - e_y), Hessian = 2 I + w sum_c p_c (N_c - mean)(N_c - mean)^T,
    /// step = -Hessian^-1 gradient.
    void newton_step(long y, double weight) {
        const long row = sk * width;
        multiply_numbers<Number>(1, k, K, {residual_, 0, 1}, N, sk, gradient_, sk);
        for (long c = 0; c < K; ++c) {
            const Number share = weight * at<Number>(p, c);
            // The mean of the rows under p is N_y + N^T (p - e_y).
            for (long l = 0; l < row; l += W) {
                const vec off = load(N + c * row + l) - load(N + y * row + l) - load(gradient_ + l);
                store(rows_ + c * row + l, off);
                store(weighted_ + c * row + l, share * off);
            }
        }
        multiply_numbers<Number>(k, k, K, {weighted_, 1, sk}, rows_, sk, hessian_, sk);
        for (long i = 0; i < k; ++i) {
            put(hessian_, i * sk + i, at<Number>(hessian_, i * sk + i) + 2.0);
            put(gradient_, i, 2.0 * at<Number>(s_, i) + weight * at<Number>(gradient_, i));
            put(step_, i, -at<Number>(gradient_, i));
        }
        cholesky<Number>(k, hessian_, sk, 2.0);
        solve_hessian();
    }

    /// step <- Hessian^-1 step, by its factor.
    void solve_hessian() {
        solve_transposed<Number>(k, hessian_, sk, step_);
        solve<Number>(k, hessian_, sk, step_);
    }

    Number top_{}, total_{};  // of the point evaluated last: log of the sum of exp(z) is top + log
    Buffer scale_, z_, along_, residual_, rows_, weighted_, hessian_, s_, step_, gradient_;
};

}  // namespace MIXABLE_ISA
