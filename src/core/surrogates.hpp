// Other Gaussians than the paper's for the posterior after one example, from averages over it.
//
// Before the example the k predictions are u = m + C^T w / sqrt(2), w ~ N(0, I), G = C^T C. Both
// surrogates move the mean by -(1/2) G Q^T (pbar - e_y), pbar a mean of softmax:
// - variational: the Gaussian next to the true posterior in KL(Gaussian, posterior). pbar and the
//   curvature Sbar = mean of diag(p) - p p^T are means under that Gaussian itself, by iteration.
// - moments: mean and covariance of the true posterior. By Stein's identity pbar is the mean under
//   it, and the covariance of w is I - N^T (Sbar - Cov(p)) N, N = Q C^T / sqrt(2).
// Means are over the points of a rung, placed around the Laplace approximation.
#pragma once

#include "expectation.hpp"

namespace MIXABLE_ISA {

enum class Surrogate { tangent, variational, moments, averaged };

class Averages {
   public:
    Averages(long classes, std::shared_ptr<const std::vector<Rung>> ladder)
        : ladder_(std::move(ladder)),
          K_(classes),
          k_(classes - 1),
          sk_(pad_to(classes - 1, 8)),
          mean_(classes),
          second_(classes * classes),
          r_(pad_to(classes, 8)),
          T_(k_ * sk_),
          last_(k_ * sk_),
          half_(k_ * sk_),
          R_(k_ * sk_),
          inverse_(k_ * sk_),
          factor_(classes * sk_),
          s_(sk_),
          v_(sk_),
          q_(sk_),
          b_(sk_),
          step_(sk_),
          centre_(classes),
          work_(2 * classes * W),
          totals_((classes + classes * classes + 2) * W) {}

    /// v and F of State::push for the example (y, weight), as in GafRule::learn.
    void learn(Softmax& softmax, Surrogate kind, const double* m, long y, double weight,
               double beta, double* v, double* F) {
        start(softmax, m, y, weight);
        if (kind == Surrogate::moments) {
            average<true>(softmax, m, y, weight);
            if (!tilt_is_sound(softmax, weight)) {
                start(softmax, m, y, weight);
                kind = Surrogate::variational;
            }
        }
        if (kind == Surrogate::variational) {
            for (int iteration = 0; iteration < iterations; ++iteration) {
                average<false>(softmax, m, y, weight);
                improve(softmax, y, weight);
            }
            copy(v_, k_, v);
        } else {
            residual(y);
            softmax.contract<double>(r_, v, 1);
            for (long j = 0; j < k_; ++j) v[j] *= 0.5 * weight;
        }
        // F F^T = (weight beta / 2) times what is in T_.
        for (long i = 0; i < k_; ++i)
            for (long j = 0; j < k_; ++j)
                half_[i * sk_ + j] = 0.5 * weight * beta * T_[i * sk_ + j];
        factorise(half_);
        for (long i = 0; i < k_; ++i)
            for (long j = 0; j < k_; ++j) F[i * sk_ + j] = j <= i ? half_[j * sk_ + i] : 0.0;
    }

   private:
    static constexpr double root_half = 0.70710678118654752440;
    static constexpr int iterations = 10;
    static constexpr double fraction = 0.7;  // of a step: whole ones jump to and fro if G is wide

    /// The upper factor of a mean of curvatures, in place. It is known to rounding of its largest
    /// entry only: smaller pivots would divide noise by less.
    void factorise(double* M) const {
        double most = 0;
        for (long i = 0; i < k_; ++i) most = std::max(most, M[i * (sk_ + 1)]);
        cholesky(k_, M, sk_, 1e-14 * most);
    }

    /// The Laplace approximation: s_ is its mean, R_ the factor of the precision of w.
    void start(Softmax& softmax, const double* m, long y, double weight) {
        softmax.solve_step(m, y, weight);
        for (long a = 0; a < K_; ++a) {
            mean_[a] = softmax.p[a];
            for (long b = 0; b < K_; ++b) second_[a * K_ + b] = softmax.p[a] * softmax.p[b];
        }
        residual(y);
        softmax.contract<double>(r_, v_, 1);
        for (long i = 0; i < k_; ++i) v_[i] *= 0.5 * weight;
        place(softmax);
        reduce(softmax);
        copy(T_, k_ * sk_, last_);
        precision(softmax, weight);
    }

    /// r_ = pbar - e_y, without cancellation at y.
    void residual(long y) {
        double others = 0;
        for (long c = 0; c < K_; ++c) {
            r_[c] = mean_[c];
            if (c != y) others += mean_[c];
        }
        r_[y] = -others;
    }

    /// T_ = Q^T (diag - second) Q, whose rows sum to 0: the diagonal without cancellation.
    void reduce(const Softmax& softmax) {
        for (long a = 0; a < K_; ++a) {
            double others = 0;
            for (long b = 0; b < K_; ++b)
                if (a != b) others += second_[a * K_ + b];
            for (long b = 0; b < K_; ++b)
                second_[a * K_ + b] = a == b ? others : -second_[a * K_ + b];
        }
        Buffer& rows = factor_;  // K x k: Q^T from the right, by rows
        Buffer line(K_), out(k_);
        for (long a = 0; a < K_; ++a) {
            for (long b = 0; b < K_; ++b) line[b] = second_[a * K_ + b];
            softmax.contract<double>(line, out, 1);
            for (long j = 0; j < k_; ++j) rows[a * sk_ + j] = out[j];
        }
        for (long j = 0; j < k_; ++j) {
            for (long a = 0; a < K_; ++a) line[a] = rows[a * sk_ + j];
            softmax.contract<double>(line, out, 1);
            for (long i = 0; i < k_; ++i) T_[i * sk_ + j] = out[i];
        }
    }

    /// half_ = (weight / 2) C T C^T.
    void weigh(const Softmax& softmax, double weight) {
        const double* C = softmax.factor;
        for (long i = 0; i < k_; ++i)
            for (long j = 0; j < k_; ++j) {
                double t = 0;
                for (long l = i; l < k_; ++l) t += C[i * sk_ + l] * T_[l * sk_ + j];
                inverse_[i * sk_ + j] = t;
            }
        for (long i = 0; i < k_; ++i)
            for (long j = 0; j < k_; ++j) {
                double t = 0;
                for (long l = j; l < k_; ++l) t += inverse_[i * sk_ + l] * C[j * sk_ + l];
                half_[i * sk_ + j] = 0.5 * weight * t;
            }
    }

    /// R_^T R_ = I + N^T S N weight, the precision of w.
    void precision(const Softmax& softmax, double weight) {
        weigh(softmax, weight);
        copy(half_, k_ * sk_, R_);
        for (long i = 0; i < k_; ++i) R_[i * sk_ + i] += 1.0;
        cholesky(k_, R_, sk_, 1.0);
    }

    /// A part of the way to the curvature Sbar, then to s - V (s + weight N^T (pbar - e_y)). With M
    /// = (weight / 2) Sbar that is v + (I + M G)^-1 q, q = (weight / 2) Q^T (pbar - e_y) - v, and
    /// (I + M G)^-1 q = q - M C^T V C q.
    void improve(const Softmax& softmax, long y, double weight) {
        const double* C = softmax.factor;
        residual(y);
        reduce(softmax);
        for (long i = 0; i < k_ * sk_; ++i)
            last_[i] = T_[i] = fraction * T_[i] + (1.0 - fraction) * last_[i];
        precision(softmax, weight);
        double *q = q_, *b = b_;
        softmax.contract<double>(r_, q, 1);
        for (long i = 0; i < k_; ++i) q[i] = 0.5 * weight * q[i] - v_[i];
        for (long i = 0; i < k_; ++i) {
            double t = 0;
            for (long j = i; j < k_; ++j) t += C[i * sk_ + j] * q[j];
            step_[i] = t;
        }
        solve_transposed(k_, R_, sk_, step_);
        solve(k_, R_, sk_, step_);
        for (long j = 0; j < k_; ++j) {
            b[j] = 0;
            for (long i = 0; i <= j; ++i) b[j] += C[i * sk_ + j] * step_[i];
        }
        for (long i = 0; i < k_; ++i) {
            double t = q[i];
            for (long j = 0; j < k_; ++j) t -= 0.5 * weight * T_[i * sk_ + j] * b[j];
            v_[i] += fraction * t;
        }
        place(softmax);
    }

    /// s = -sqrt(2) C v: where the step v brings the mean of w.
    void place(const Softmax& softmax) {
        for (long i = 0; i < k_; ++i) {
            double t = 0;
            for (long j = i; j < k_; ++j) t += softmax.factor[i * sk_ + j] * v_[j];
            s_[i] = -2.0 * root_half * t;
        }
    }

    /// Leaves the curvature of the true posterior in T_. False if the points are too few for it:
    /// if their weights are those of less than an eighth of them, or a width shrinks to nothing.
    bool tilt_is_sound(const Softmax& softmax, double weight) {
        if (!(spread_ <= 8.0)) return false;
        for (long a = 0; a < K_; ++a)  // Sbar - weight Cov(p), as far as off the diagonal
            for (long b = 0; b < K_; ++b)
                second_[a * K_ + b] += weight * (second_[a * K_ + b] - mean_[a] * mean_[b]);
        reduce(softmax);
        return to_curvature(softmax, weight);
    }

    /// From M = Sbar - weight Cov(p) in T_ to the curvature M (I - G M weight / 2)^-1 that a push
    /// must add for A^-1 to lose P (M / 2) P^T weight: with M = B^T B, B^T (I - (weight / 2) B G
    /// B^T)^-1 B.
    bool to_curvature(const Softmax& softmax, double weight) {
        copy(T_, k_ * sk_, inverse_);
        factorise(inverse_);
        Buffer B(k_ * k_), H(k_ * k_), X(k_ * sk_);
        for (long i = 0; i < k_; ++i)
            for (long j = i; j < k_; ++j) B[i * k_ + j] = inverse_[i * sk_ + j];
        for (long i = 0; i < k_; ++i)  // H = B C^T
            for (long l = 0; l < k_; ++l) {
                double t = 0;
                for (long j = std::max(i, l); j < k_; ++j)
                    t += B[i * k_ + j] * softmax.factor[l * sk_ + j];
                H[i * k_ + l] = t;
            }
        for (long i = 0; i < k_; ++i)
            for (long j = 0; j < k_; ++j) {
                double t = i == j ? 1.0 : 0.0;
                for (long l = 0; l < k_; ++l) t -= 0.5 * weight * H[i * k_ + l] * H[j * k_ + l];
                X[i * sk_ + j] = t;
            }
        cholesky(k_, X, sk_, 1e-6);
        for (long i = 0; i < k_; ++i)
            if (!(X[i * sk_ + i] > 0.01)) return false;
        for (long j = 0; j < k_; ++j) {  // columns of X^-T B, by X^T z = b
            for (long i = 0; i < k_; ++i) step_[i] = B[i * k_ + j];
            solve_transposed(k_, X, sk_, step_);
            for (long i = 0; i < k_; ++i) H[i * k_ + j] = step_[i];
        }
        for (long i = 0; i < k_; ++i)
            for (long j = 0; j < k_; ++j) {
                double t = 0;
                for (long l = 0; l < k_; ++l) t += H[l * k_ + i] * H[l * k_ + j];
                T_[i * sk_ + j] = t;
            }
        double trace = 0;  // the truth is at most diag(p) - p p^T on average, at most 1/2
        for (long i = 0; i < k_; ++i) trace += T_[i * sk_ + i];
        return trace <= 0.75 * double(k_);
    }

    /// mean_ and second_, the means of p and p p^T: under N(s_, (R^T R)^-1), or (Tilted) under the
    /// true posterior, whose density over that Gaussian's weighs the points.
    template <bool Tilted>
    void average(const Softmax& softmax, const double* m, long y, double weight) {
        // w = s + R^-1 z; its logits are Q m + N w.
        for (long j = 0; j < k_; ++j) {
            for (long i = 0; i < k_; ++i) step_[i] = i == j ? 1.0 : 0.0;
            solve(k_, R_, sk_, step_);
            for (long i = 0; i < k_; ++i) inverse_[i * sk_ + j] = step_[i];
        }
        softmax.expand<double>(m, centre_, 1);
        double square = 0;
        for (long c = 0; c < K_; ++c)
            for (long j = 0; j < k_; ++j) {
                double t = 0;
                for (long i = 0; i < k_; ++i) t += softmax.N[c * sk_ + i] * inverse_[i * sk_ + j];
                factor_[c * sk_ + j] = root_half * t;
                centre_[c] += root_half * softmax.N[c * sk_ + j] * s_[j];
            }
        for (long j = 0; j < k_; ++j) square += s_[j] * s_[j];
        double top = centre_[0], sum_top = 0;
        for (long c = 1; c < K_; ++c) top = std::max(top, centre_[c]);
        for (long c = 0; c < K_; ++c) sum_top += std::exp(centre_[c] - top);
        // The logarithm of a point's weight at the centre, subtracted from all.
        const double base =
            Tilted ? weight * (centre_[y] - top - std::log(sum_top)) - 0.5 * square : 0;
        const Rung& rung = pick();
        const long ld = pad(rung.m);
        set_to_zero(totals_, (K_ + K_ * K_ + 2) * W);
        for (long l = 0; l < rung.m; l += W)
            for (const double sign : {1.0, -1.0}) point<Tilted>(rung, ld, l, sign, y, weight, base);
        const double* mass = totals_ + (K_ + K_ * K_) * W;
        const double inverse = 1.0 / sum(load(mass));
        spread_ = inverse * inverse * sum(load(mass + W));
        for (long a = 0; a < K_; ++a) {
            mean_[a] = inverse * sum(load(totals_ + a * W));
            for (long b = 0; b <= a; ++b)
                second_[a * K_ + b] = second_[b * K_ + a] =
                    inverse * sum(load(totals_ + (K_ + a * K_ + b) * W));
        }
    }

    /// Adds W points, the l-th and those after it, with one sign.
    template <bool Tilted>
    void point(const Rung& rung, long ld, long l, double sign, long y, double weight, double base) {
        double* e = work_;
        vec top{};
        for (long c = 0; c < K_; ++c) {
            vec z{};
            for (long j = 0; j < k_; ++j) z += factor_[c * sk_ + j] * load(rung.w + j * ld + l);
            z = centre_[c] + sign * z;
            store(e + c * W, z);
            top = c == 0 ? z : max(top, z);
        }
        vec s{};
        for (long c = 0; c < K_; ++c) {
            const vec x = exp(load(e + c * W) - top);
            store(e + K_ * W + c * W, x);
            s += x;
        }
        vec share = load(rung.weight + l), tilt = splat(1.0);
        if (Tilted) {
            vec excess{};
            for (long i = 0; i < k_; ++i) {
                vec t{};
                for (long j = i; j < k_; ++j)
                    t += inverse_[i * sk_ + j] * load(rung.w + j * ld + l);
                t = s_[i] + sign * t;
                const vec z = load(rung.w + i * ld + l);
                excess += 0.5 * (z * z - t * t);
            }
            const vec above = excess + weight * (load(e + y * W) - top - log(s)) - base;
            tilt = exp(above < splat(300.0) ? above : splat(300.0));  // sums of squares stay finite
            share *= tilt;
        }
        double* mass = totals_ + (K_ + K_ * K_) * W;
        store(mass, load(mass) + share);
        store(mass + W, load(mass + W) + share * tilt);
        for (long a = 0; a < K_; ++a) {
            const vec p = load(e + (K_ + a) * W) / s, q = share * p;
            store(e + a * W, p);
            store(totals_ + a * W, load(totals_ + a * W) + q);
            for (long b = 0; b <= a; ++b) {
                double* to = totals_ + (K_ + a * K_ + b) * W;
                store(to, load(to) + q * load(e + b * W));
            }
        }
    }

    /// By the Frobenius norm of the covariance of the predictions: N and Q have the same.
    const Rung& pick() const {
        if (ladder_->size() == 1) return ladder_->front();
        double square = 0;
        for (long a = 0; a < K_; ++a)
            for (long b = 0; b < K_; ++b) {
                double t = 0;
                for (long j = 0; j < k_; ++j) t += factor_[a * sk_ + j] * factor_[b * sk_ + j];
                square += t * t;
            }
        for (const Rung& rung : *ladder_)
            if (std::sqrt(square) <= rung.reach) return rung;
        return ladder_->back();
    }

    std::shared_ptr<const std::vector<Rung>> ladder_;
    const long K_, k_, sk_;
    double spread_ = 1;  // of the tilted points' weights: mean square over square of the mean
    Buffer mean_, second_, r_, T_, last_, half_, R_, inverse_, factor_, s_, v_, q_, b_, step_,
        centre_, work_, totals_;
};

}  // namespace MIXABLE_ISA
