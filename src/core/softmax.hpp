// Multinomial logistic regression in k = K - 1 coordinates: logits z = Q u with Q the K x k Helmert
// basis of the vectors that sum to zero. Column j of Q is (1, ..., 1, -(j + 1), 0, ..., 0) /
// sqrt((j + 1)(j + 2)), so products with Q are running sums, and adding a class adds a column.
#pragma once

#include <algorithm>
#include <cmath>

#include "dense.hpp"

namespace MIXABLE_ISA {

class Softmax {
   public:
    explicit Softmax(long classes)
        : K(classes),
          k(classes - 1),
          sk(pad_to(k, 8)),
          factor(k * sk),
          N(K * sk),
          p(pad_to(K, 8)),
          z_(pad_to(K, 8)),
          z_mean_(pad_to(K, 8)),
          residual_(pad_to(K, 8)),
          scale_(k),
          rows_(K * sk),
          hessian_(k * sk),
          s_(sk),
          trial_(sk),
          step_(sk),
          gradient_(sk),
          u_(sk) {
        for (long j = 0; j < k; ++j) scale_[j] = 1.0 / std::sqrt(double(j + 1) * double(j + 2));
        for (long c = K; c < pad_to(K, 8); ++c)
            z_[c] = -1e300;  // a class that is never there, so that softmax works on whole vectors
    }

    const long K, k, sk;  // sk: row stride of k-vectors
    Buffer factor;        // upper C with G = C^T C (k x k)
    Buffer N;             // Q C^T, the logits' factor (K x k)
    Buffer p;             // softmax at the point evaluated last

    /// out_c = sum_j Q[c, j] in_j for one column, or for W columns at once with Entry = vec; rows
    /// are `stride` apart.
    template <class Entry>
    void expand(const double* in, double* out, long stride) const {
        Entry suffix{};
        for (long c = K - 1; c >= 0; --c) {
            if (c < k) suffix += scale_[c] * entry<Entry>(in + c * stride);
            put(out + c * stride,
                c > 0 ? suffix - (double(c) * scale_[c - 1]) * entry<Entry>(in + (c - 1) * stride)
                      : suffix);
        }
    }

    /// out_j = sum_c Q[c, j] in_c, likewise.
    template <class Entry>
    void contract(const double* in, double* out, long stride) const {
        Entry prefix{};
        for (long j = 0; j < k; ++j) {
            prefix += entry<Entry>(in + j * stride);
            put(out + j * stride,
                scale_[j] * (prefix - double(j + 1) * entry<Entry>(in + (j + 1) * stride)));
        }
    }

    /// Sets p = softmax(Q u).
    void evaluate(const double* u) {
        expand<double>(u, z_, 1);
        normalise();
    }

    /// Factors G = C^T C and prepares N = Q C^T.
    void factorise(const double* G) {
        copy(G, k * sk, factor);
        spread_ = 0;
        for (long j = 0; j < k; ++j) spread_ += G[j * sk + j];
        spread_ = std::sqrt(spread_);
        cholesky(k, factor, sk, 0.0);
        for (long j = 0; j < k; ++j)
            for (long i = 0; i < k; ++i) rows_[j * sk + i] = i <= j ? factor[i * sk + j] : 0.0;
        for (long l = 0; l < sk; l += W) expand<vec>(rows_ + l, N + l, sk);
    }

    /// u = argmin (u - m)^T G^-1 (u - m) + weight * loss(Q u, y), by damped Newton in the whitened
    /// coordinates u = m + C^T s, where the objective |s|^2 + weight * loss is strongly convex
    /// whatever G. Leaves p = softmax(Q u). Needs factorise(G).
    const double* solve_step(const double* m, long y, double weight) {
        expand<double>(m, z_mean_, 1);
        set_to_zero(s_, sk);
        double value = objective(s_, y, weight);
        for (int iteration = 0; iteration < 100; ++iteration) {
            newton_step(y, weight);
            double slope = 0, size = 0, reach = 0;
            for (long i = 0; i < k; ++i) {
                slope += gradient_[i] * step_[i];
                size = std::max(size, std::fabs(step_[i]));
            }
            double fraction = 1.0, next = value;
            for (int halving = 0; halving < 50; ++halving, fraction *= 0.5) {
                for (long i = 0; i < k; ++i) trial_[i] = s_[i] + fraction * step_[i];
                next = objective(trial_, y, weight);
                if (next <= value + 1e-4 * fraction * slope + 1e-14 * std::fabs(value)) break;
            }
            std::swap(s_, trial_);
            value = next;
            for (long i = 0; i < k; ++i) reach = std::max(reach, std::fabs(s_[i]));
            if (spread_ * size * size <= 1e-15 * reach)
                break;  // convergence is quadratic: what such a step leaves is below rounding
        }
        for (long i = 0; i < k; ++i) {
            double u = m[i];
            for (long l = 0; l <= i; ++l) u += factor[l * sk + i] * s_[l];
            u_[i] = u;
        }
        evaluate(u_);
        return u_;
    }

    /// out = Q^T (p - e_y) at the point evaluated last.
    void gradient(long y, double* out) {
        residual(y);
        contract<double>(residual_, out, 1);
    }

    /// The same where softmax was `at`.
    void gradient(const double* at, long y, double* out) {
        copy(at, K, p);
        gradient(y, out);
    }

    /// F (k x k, row stride sk) with F F^T = scale Q^T (diag(p) - p p^T) Q at the point evaluated
    /// last, by the closed-form factor of Tanabe and Sagae: diag(p) - p p^T = T T^T, T[j, j] =
    /// sqrt(p_j q_j / (p_j + q_j)), T[i, j] = -p_i sqrt(p_j / (q_j (p_j + q_j))) for i > j, q_j =
    /// sum of p after j.
    void curvature(double scale, double* F) {
        double after = p[k];
        for (long j = k - 1; j >= 0; --j) {
            const double root = std::sqrt(scale * p[j] / (p[j] + after)), tail = std::sqrt(after);
            for (long i = 0; i < j; ++i) rows_[i * sk + j] = 0;
            rows_[j * sk + j] = root * tail;
            for (long i = j + 1; i < K; ++i) rows_[i * sk + j] = -p[i] * (root / tail);
            after += p[j];
        }
        for (long l = 0; l < sk; l += W) contract<vec>(rows_ + l, F + l, sk);
    }

    /// r <- (I + F^T G F)^-1 F^T r, which is F^T (I + G F F^T)^-1 r; F is k x k with row stride sk.
    void damp(const double* G, const double* F, double* r) {
        combine(k, k, k, 1.0, {G, sk, 1}, F, sk, rows_, sk, false);
        combine(k, k, k, 1.0, {F, 1, sk}, rows_, sk, hessian_, sk, false);
        for (long i = 0; i < k; ++i) hessian_[i * sk + i] += 1.0;
        combine(1, k, k, 1.0, {r, 0, 1}, F, sk, step_, sk, false);
        cholesky(k, hessian_, sk, 1.0);
        solve_transposed(k, hessian_, sk, step_);
        solve(k, hessian_, sk, step_);
        copy(step_, k, r);
    }

   private:
    template <class Entry>
    static Entry entry(const double* p) {
        if constexpr (sizeof(Entry) == sizeof(double))
            return *p;
        else
            return load(p);
    }
    static void put(double* p, double x) { *p = x; }
    static void put(double* p, vec x) { store(p, x); }

    void normalise() {
        double top = z_[0];
        for (long c = 1; c < K; ++c) top = std::max(top, z_[c]);
        for (long c = 0; c < K; c += W) store(p + c, exp(load(z_ + c) - top));
        double total = 0;
        for (long c = 0; c < K; ++c) total += p[c];
        log_total_ = top + std::log(total);
        const double inverse = 1.0 / total;
        for (long c = 0; c < K; ++c) p[c] *= inverse;
    }

    /// residual = p - e_y, without cancellation at y; returns the loss -log p_y as exactly, also
    /// where p_y is too small for a double.
    double residual(long y) {
        double others = 0;
        for (long c = 0; c < K; ++c) {
            residual_[c] = p[c];
            if (c != y) others += p[c];
        }
        residual_[y] = -others;
        return p[y] > 0.5 ? -std::log1p(-others) : log_total_ - z_[y];
    }

    /// |s|^2 + weight * loss(Q m + N s, y); sets p and the residual there.
    double objective(const double* s, long y, double weight) {
        dots(k, 1, s, sk, K, N, sk, z_, K);
        double square = 0;
        for (long c = 0; c < K; ++c) z_[c] += z_mean_[c];
        for (long i = 0; i < k; ++i) square += s[i] * s[i];
        normalise();
        return square + weight * residual(y);
    }

    /// gradient = 2 s + w N^T (p - e_y), Hessian = 2 I + w sum_c p_c (N_c - mean)(N_c - mean)^T,
    /// step = -Hessian^-1 gradient.
    void newton_step(long y, double weight) {
        combine(1, k, K, 1.0, {residual_, 0, 1}, N, sk, gradient_, sk, false);
        for (long c = 0; c < K; ++c) {
            const double root = std::sqrt(weight * p[c]);
            // The mean of the rows under p is N_y + N^T (p - e_y).
            for (long i = 0; i < sk; i += W)
                store(rows_ + c * sk + i,
                      root * (load(N + c * sk + i) - load(N + y * sk + i) - load(gradient_ + i)));
        }
        combine(k, k, K, 1.0, {rows_, 1, sk}, rows_, sk, hessian_, sk, false);
        for (long i = 0; i < k; ++i) {
            hessian_[i * sk + i] += 2.0;
            gradient_[i] = 2.0 * s_[i] + weight * gradient_[i];
            step_[i] = -gradient_[i];
        }
        cholesky(k, hessian_, sk, 2.0);
        solve_transposed(k, hessian_, sk, step_);
        solve(k, hessian_, sk, step_);
    }

    double spread_ = 0;     // sqrt(tr G)
    double log_total_ = 0;  // of the point evaluated last: the logarithm of the sum of exp(z)
    Buffer z_, z_mean_, residual_, scale_, rows_, hessian_, s_, trial_, step_, gradient_, u_;
};

}  // namespace MIXABLE_ISA
