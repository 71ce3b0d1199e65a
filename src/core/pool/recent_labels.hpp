// How often each class has come of late: by this, a pool corrects experts that follow the last
// labels too closely, or too slowly.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/numbers/dense.hpp"
#include "core/rule/any_forecaster.hpp"

namespace MIXABLE_ISA {

/// Counts of the labels, which decay: p_c = (n_c + 1/2) / (n + K/2). It sees no input.
class RecentLabels final : public AnyForecaster<long> {
   public:
    RecentLabels(long d, long K) : d_(d), K_(K), counts_(K) {}

    long features() const override { return d_; }
    long row_length() const override { return d_; }
    long predictions() const override { return K_; }
    long outputs() const override { return K_; }
    long block() const override { return 64; }
    double cost() const override { return double(K_); }
    double largest_square() const override { return 1e300; }
    long steps() const override { return steps_; }

    void predict(const double*, double* p) override {
        double total = 0;
        for (long c = 0; c < K_; ++c) total += p[c] = counts_[c] + 0.5;
        for (long c = 0; c < K_; ++c) p[c] /= total;
    }
    void predict_many(const double* X, long n, double* out) override {
        for (long t = 0; t < n; ++t) predict(X, out + t * K_);
    }
    /// An example of weight w counts as w examples.
    void learn(const double*, long y, double weight) override {
        ++steps_;
        if (!(weight > 0)) return;
        const double kept = std::pow(keep, weight);
        for (long c = 0; c < K_; ++c) counts_[c] *= kept;
        counts_[y] += (1 - kept) / (1 - keep);
    }
    void run(const double* X, const long* y, const double* weight, long n, double* out) override {
        for (long t = 0; t < n; ++t) {
            predict(X, out + t * K_);
            learn(X, y[t], weight ? weight[t] : 1.0);
        }
    }
    void forget_reading() override {}
    /// No input has a weight.
    void mean(double* out) const override { set_to_zero(out, K_ * d_); }

    void adopt(const AnyForecaster& other) override {
        const auto& smaller = static_cast<const RecentLabels&>(other);
        steps_ = smaller.steps_;
        copy(smaller.counts_, smaller.K_, counts_);
    }
    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("counts", counts_, 1, K_, K_);
    }
    /// Before the arrays are read: they are read whole.
    void clear() override {}
    bool counters_are_valid() const override { return steps_ >= 0; }
    [[gnu::cold]] bool contents_are_valid() const override {
        return std::all_of(counts_ + 0, counts_ + K_, [](double n) { return n >= 0 && n <= most; });
    }

   private:
    static constexpr double keep = 0.99;  // what counts of an example after the next one
    static constexpr double most = 1e12;  // of a count, after merging

    long d_, K_, steps_ = 0;
    Buffer counts_;
};

}  // namespace MIXABLE_ISA
