// The mean of experts of numbers: that of their mixture, plus a ridge regression on how far each of
// them is from it; see number_judge.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/mixture/weights.hpp"
#include "core/numbers/dense.hpp"
#include "core/posterior/state.hpp"
#include "core/sparse/sparse_row.hpp"

namespace MIXABLE_ISA {

/// Ridge regression that counts the input which it forecasts as seen, and forgets.
class ForgettingRidge {
   public:
    ForgettingRidge(long features, double tie, double keep)
        : n(features), keep(keep), tie_(tie), A_(n * n), b_(n), factor_(n * n), w_(n) {}

    const long n;
    const double keep;  // what an example keeps of its weight at each step

    /// x . (A + x x^T + tie unit^2 I)^-1 b
    double predict(const double* x, double unit) {
        for (long i = 0; i < n; ++i) {
            const double by = x[i] / unit;
            for (long j = i; j < n; ++j)
                factor_[i * n + j] = A_[i * n + j] / unit / unit + by * (x[j] / unit);
            factor_[i * n + i] += tie_;
            w_[i] = b_[i] / unit / unit;
        }
        cholesky(n, factor_, n, tie_);
        solve_transposed(n, factor_, n, w_);
        solve(n, factor_, n, w_);
        double sum = 0;
        for (long i = 0; i < n; ++i) sum += x[i] * w_[i];
        return std::isfinite(sum) ? sum : 0.0;
    }
    void learn(const double* x, double y, double weight) {
        const double kept = std::pow(keep, weight), times = (1 - kept) / (1 - keep);
        for (long i = 0; i < n; ++i) {
            b_[i] = kept * b_[i] + times * x[i] * y;
            for (long j = i; j < n; ++j) A_[i * n + j] = kept * A_[i * n + j] + times * x[i] * x[j];
        }
    }
    /// The weights of the last forecast.
    const double* weights() const { return w_; }
    /// Their covariance (n x n), in units of the noise.
    void covariance(double* S) const {
        set_to_zero(S, n * n);
        for (long i = 0; i < n; ++i) {
            S[i * n + i] = 1;
            solve_transposed(n, factor_, n, S + i * n);
            solve(n, factor_, n, S + i * n);
        }
    }

    void visit(Visitor& visitor) {
        visitor("A", A_, n, n, n);
        visitor("b", b_, 1, n, n);
    }
    /// Whether the numbers can be sums of products.
    bool is_valid() const {
        constexpr double most = 1e290;
        for (long i = 0; i < n; ++i)
            for (long j = i; j < n; ++j) {
                const double both = std::sqrt(A_[i * n + i]) * std::sqrt(A_[j * n + j]);
                if (!(std::fabs(A_[i * n + j]) <= (1 + 1e-6) * both) || !(both <= most))
                    return false;
            }
        return std::all_of(b_ + 0, b_ + n, [](double b) { return std::fabs(b) <= most; });
    }
    void start_over() { A_.clear(), b_.clear(); }

   private:
    double tie_;
    Buffer A_, b_, factor_, w_;  // of A and the factor the upper triangle
};

/// The mean of the first experts: that of their mixture, and a regression on how far from it each
/// of them is.
class MeanPool {
   public:
    explicit MeanPool(long experts)
        : n(experts), mixed_(n), ridge_(n, 50.0, 0.998), apart_(n), u_(n), row_(n), cov_(n * n) {}

    const long n;

    /// Reads the means of those of the `active` experts that are among its own. They are at most
    /// `most` from the mixture.
    void read(const double* means, const std::vector<long>& active, const Weights& weights,
              double unit, double most) {
        double total = 0;
        count = 0;
        mixed_.clear();
        for (const long e : active)
            if (e < n) total += mixed_[e] = weights.earned(e), ++count;
        if (count == 0) return;
        // From the heaviest on: nothing is rounded if it has all the weight, or all say the same.
        const long heaviest = *std::max_element(
            active.begin(), active.end(), [&](long a, long b) { return mixed_[a] < mixed_[b]; });
        const double first = middle = means[heaviest];
        disagreement = 0;
        for (const long e : active)
            if (e < n) {
                mixed_[e] = total > 0 ? mixed_[e] / total : 1.0 / double(count);
                middle += mixed_[e] * (means[e] - first);
            }
        apart_.clear();
        for (const long e : active)
            if (e < n) {
                apart_[e] = bounded(means[e] - middle, most);
                const double ratio = unit > 0 ? apart_[e] / unit : 0.0;
                disagreement += mixed_[e] * ratio * ratio;
            }
        mean = middle;
        disagreement = std::sqrt(disagreement);
        if (count > 1 && unit > 0) mean += ridge_.predict(apart_, unit);
    }
    /// Learns the target of the example read last; it counts as at most `most` from the mixture.
    void learn(double y, double most, double weight) {
        if (count > 1) ridge_.learn(apart_, bounded(y - middle, most), weight);
    }

    /// The means of the pool without the first of some experts, without the first two, and so on:
    /// their weights are held at 0, the others follow. There is a unit, and others are `active`.
    void without(const std::vector<long>& experts, const std::vector<long>& active, double* out) {
        begin_without();
        for (const long e : experts) {
            hold_at_zero(e, active);
            *out = middle;
            for (const long j : active) *out += apart_[j] * u_[j];
            ++out;
        }
    }
    /// Some experts in the order in which the pool can do without them, as in shared_gaf.hpp.
    std::vector<long> ranked(std::vector<long> experts, const std::vector<long>& active) {
        begin_without();
        for (auto next = experts.begin(); next != experts.end(); ++next) {
            std::iter_swap(next, std::min_element(next, experts.end(), [&](long a, long b) {
                               return cost(a, active) < cost(b, active);
                           }));
            hold_at_zero(*next, active);
        }
        return experts;
    }

    /// The weights of the experts in the mean of the example read last: they sum to 1.
    void weights(const std::vector<long>& active, bool has_unit, double* out) const {
        const double *w = ridge_.weights(), by = count > 1 && has_unit ? 1.0 : 0.0;
        double sum = 0;
        copy(mixed_, n, out);
        for (const long e : active) sum += by * w[e];
        for (const long e : active) out[e] = by * w[e] + mixed_[e] * (1 - sum);
    }
    ForgettingRidge& ridge() { return ridge_; }
    const ForgettingRidge& ridge() const { return ridge_; }

    // Of the example read last: how many experts, the mixture's mean, the pool's, and the mixture's
    // standard deviation in units.
    long count = 0;
    double middle = 0, mean = 0, disagreement = 0;

   private:
    void begin_without() {
        ridge_.covariance(cov_);
        copy(ridge_.weights(), n, u_);
    }
    /// Sets row_ = cov a, where the weight of e is value + a . (u - its mean): it is
    /// u_e + mixed_e (1 - sum of u).
    void look_at(long e, const std::vector<long>& active) {
        value_ = u_[e] + mixed_[e];
        for (const long j : active) {
            value_ -= mixed_[e] * u_[j];
            row_[j] = cov_[j * n + e];
            for (const long k : active) row_[j] -= mixed_[e] * cov_[j * n + k];
        }
        width_ = row_[e];
        for (const long j : active) width_ -= mixed_[e] * row_[j];
    }
    double cost(long e, const std::vector<long>& active) {
        look_at(e, active);
        return width_ > 1e-12 ? value_ * value_ / width_ : 0.0;
    }
    void hold_at_zero(long e, const std::vector<long>& active) {
        look_at(e, active);
        if (!(width_ > 1e-12)) return;  // it is held already
        for (const long j : active) {
            u_[j] -= row_[j] * (value_ / width_);
            for (const long k : active) cov_[j * n + k] -= row_[j] * (row_[k] / width_);
        }
    }

    double value_ = 0, width_ = 0;
    Buffer mixed_;  // the weights of the mixture, without what they owe to the share alone
    ForgettingRidge ridge_;
    Buffer apart_, u_, row_, cov_;
};

}  // namespace MIXABLE_ISA
