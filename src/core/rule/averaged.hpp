// The Gaussian next to the true posterior in KL(Gaussian, posterior), with averages in closed form
// (pairwise.hpp), until a step no longer matters: about as fast as the tangent surrogate.
//
// Before the example the logits are z = Q m + N w / sqrt(2), w ~ N(0, I). After it w ~ N(s, V) with
// s = -(weight / sqrt(2)) N^T a and V^-1 = I + (weight / 2) N^T S N; wanted are a = E p - e_y and S
// = E [diag(p) - p p^T] under that Gaussian itself. A step of Newton's method for a, with S as it
// is, is a += q - (weight / 2) S N x, x = V N^T q, q = E p - e_y - a; it moves s by -(weight /
// sqrt(2)) x.
#pragma once

#include "pairwise.hpp"
#include "softmax.hpp"

namespace MIXABLE_ISA {

class Averaged {
   public:
    explicit Averaged(long classes)
        : K_(classes),
          k_(classes - 1),
          sk_(pad_to(classes - 1, 8)),
          ld_(pad_to(classes, 8)),
          mean_(ld_),
          a_(ld_),
          q_(ld_),
          centre_(ld_),
          mask_(ld_),
          own_(ld_),
          x_(sk_),
          S_(classes * ld_),
          last_(classes * ld_),
          gram_(classes * ld_),
          work_((classes + 1) * ld_),
          rows_(classes * sk_),
          SN_(classes * sk_),
          R_(k_ * sk_) {
        for (long c = 0; c < K_; ++c) mask_[c] = 1.0;
    }

    static constexpr int most = 10;         // steps
    static constexpr double enough = 0.01;  // deviations that the mean still moves

    /// v and F of State::push for the example (y, weight), as in GafRule::learn.
    void learn(const Softmax<double>& softmax, const double* m, long y, double weight, double beta,
               double* v, double* F) {
        double width = 0;
        for (long c = 0; c < K_; ++c)
            for (long j = 0; j < k_; ++j)
                width += 0.5 * softmax.N[c * sk_ + j] * softmax.N[c * sk_ + j];
        part_ = width <= 1.0 ? 1.0 : 0.7;
        start(softmax, m);
        for (int iteration = 0; iteration < most; ++iteration) {
            average();
            if (improve(softmax, y, weight, iteration == 0) < enough) break;
        }
        softmax.contract(a_, v);
        for (long j = 0; j < k_; ++j) v[j] *= 0.5 * weight;
        factor(softmax, 0.5 * weight * beta, F);
    }

   private:
    /// The Gaussian before the example, and the curvature under it.
    void start(const Softmax<double>& softmax, const double* m) {
        softmax.expand(m, centre_);
        set_to_zero(a_, ld_);
        copy(softmax.N, K_ * sk_, rows_);
    }

    /// out = mean_ - e_y, without cancellation at y.
    void residual(long y, double* out) const {
        double others = 0;
        for (long c = 0; c < K_; ++c) {
            out[c] = mean_[c];
            if (c != y) others += mean_[c];
        }
        out[y] = -others;
    }

    /// The diagonal with which rows sum to 0.
    void complete(double* S) const {
        for (long a = 0; a < K_; ++a) {
            double others = 0;
            for (long b = 0; b < K_; ++b)
                if (a != b) others -= S[a * ld_ + b];
            S[a * ld_ + a] = others;
        }
    }

    /// R^T R = V^-1, and S N.
    void precision(const Softmax<double>& softmax, double weight) {
        combine(K_, k_, K_, 1.0, {S_, ld_, 1}, softmax.N, sk_, SN_, sk_, false);
        combine(k_, k_, K_, 0.5 * weight, {softmax.N, 1, sk_}, SN_, sk_, R_, sk_, false);
        for (long i = 0; i < k_; ++i) R_[i * sk_ + i] += 1.0;
        cholesky(k_, R_, sk_, 1.0);
        copy(softmax.N, K_ * sk_, rows_);
        for (long c = 0; c < K_; ++c) solve_transposed(k_, R_, sk_, rows_ + c * sk_);
    }

    /// mean_ and, off its diagonal, last_: of the logits N(centre_, N V N^T / 2).
    void average() {
        dots(k_, K_, rows_, sk_, K_, rows_, sk_, gram_, ld_);
        for (long c = 0; c < K_; ++c) own_[c] = gram_[c * ld_ + c];
        const auto variance = [&](long c, long j) {
            const vec v = own_[c] + load(own_ + j) - 2.0 * load(gram_ + c * ld_ + j);
            return 0.5 * max(v, vec{});
        };
        pairwise_with_slopes(K_, centre_, mask_, variance, work_, ld_, mean_, last_);
        complete(last_);
    }

    /// A step, with the curvature that is new; returns how far the mean of w moves.
    double improve(const Softmax<double>& softmax, long y, double weight, bool first) {
        residual(y, q_);
        for (long c = 0; c < K_; ++c) q_[c] -= a_[c];
        const double kept = first ? 0.0 : 1.0 - part_;
        for (long i = 0; i < K_ * ld_; ++i) S_[i] = (1.0 - kept) * last_[i] + kept * S_[i];
        precision(softmax, weight);
        combine(1, k_, K_, 1.0, {q_, 0, 1}, softmax.N, sk_, x_, sk_, false);
        solve_transposed(k_, R_, sk_, x_);
        solve(k_, R_, sk_, x_);
        double moved = 0;
        for (long j = 0; j < k_; ++j) moved = std::max(moved, std::fabs(x_[j]));
        for (long c = 0; c < K_; ++c) {
            double step = q_[c], shift = 0;
            for (long j = 0; j < k_; ++j) {
                step -= 0.5 * weight * SN_[c * sk_ + j] * x_[j];
                shift += softmax.N[c * sk_ + j] * x_[j];
            }
            a_[c] += part_ * step;
            centre_[c] -= 0.5 * weight * part_ * shift;
        }
        return weight / std::sqrt(2.0) * part_ * moved;
    }

    /// F F^T = scale Q^T S Q. That is known to rounding of its largest entry only: smaller pivots
    /// would divide noise by less.
    void factor(const Softmax<double>& softmax, double scale, double* F) {
        for (long l = 0; l < ld_; l += W) softmax.contract<vec>(S_ + l, work_ + l, ld_);
        for (long c = 0; c < K_; ++c)
            for (long j = 0; j < k_; ++j) rows_[c * sk_ + j] = work_[j * ld_ + c];
        for (long l = 0; l < sk_; l += W) softmax.contract<vec>(rows_ + l, R_ + l, sk_);
        double top = 0;
        for (long i = 0; i < k_; ++i) {
            for (long j = 0; j < k_; ++j) R_[i * sk_ + j] *= scale;
            top = std::max(top, R_[i * (sk_ + 1)]);
        }
        cholesky(k_, R_, sk_, 1e-14 * top);
        for (long i = 0; i < k_; ++i)
            for (long j = 0; j < k_; ++j) F[i * sk_ + j] = j <= i ? R_[j * sk_ + i] : 0.0;
    }

    const long K_, k_, sk_, ld_;
    double part_ = 1;  // of a step: whole ones jump to and fro if G is wide
    Buffer mean_, a_, q_, centre_, mask_, own_, x_, S_, last_, gram_, work_, rows_, SN_, R_;
};

}  // namespace MIXABLE_ISA
