// Experts pooled by their logarithms: p proportional to exp(sum_e w_e log p_e), with weights w
// shared by the classes. That is logistic regression with Phi (N x K), Phi_ec = log p_e(c), in the
// form of Section 2 of the paper, and GAF learns w.
#pragma once

#include <array>
#include <limits>

#include "activity.hpp"
#include "core/mixture/weights.hpp"
#include "core/rule/any_forecaster.hpp"
#include "core/sparse/sparse_row.hpp"
#include "shared_gaf.hpp"

namespace MIXABLE_ISA {

/// The judge over some experts. Its input is their forecasts (N x K); its forecast is that of two
/// pools, each read at two widths, and of the experts themselves, mixed by their losses. One of the
/// pools forgets, and may learn more quickly: it has `quick` in place of lam. The pools begin with
/// 1/N as each weight, or with the weights `first`. The tie is in units of lam.
class Judge final : public AnyForecaster<long> {
   public:
    Judge(long experts, long classes, double lam, double drift, double smoothing, double share,
          double least_gain, double tie, double quick, const std::vector<double>& first)
        : N(experts),
          K(classes),
          smoothing_(smoothing),
          pools_{SharedGaf(N, lam, tie * lam, 1.0, 0.0, first),
                 SharedGaf(N, quick, tie * quick, 1.0, drift, first)},
          weights_(N + readings, share),
          activity_(N, 1, least_gain, 256),
          said_(N, K),
          forecasts_((N + readings) * K),
          likelihood_(N + readings),
          cost_(N) {
        start_over();
    }

    const long N, K;

    long predictions() const override { return 2; }
    long features() const override { return N; }
    long row_length() const override { return N * K; }
    long outputs() const override { return K; }
    long steps() const override { return steps_ + activity_.alone(); }
    long block() const override { return 1; }
    double largest_square() const override { return 1e280; }
    double cost() const override { return 200.0 * double(N * N * K); }

    void predict(const double* x, double* p) override {
        read(x);
        set_to_zero(p, K);
        for (const long r : weights_.active())
            for (long c = 0; c < K; ++c) p[c] += weights_.expert_weights(r) * forecasts_[r * K + c];
    }
    void predict_many(const double* X, long n, double* out) override {
        for (long t = 0; t < n; ++t) predict(X + t * N * K, out + t * K);
    }
    void learn(const double* x, long y, double weight) override {
        read(x);
        push(y, weight);
    }
    /// The same of an example whose label comes late. Pools and experts are weighed by what they
    /// said when it was forecast, `then` (judged() x K, -1 where that is not known): who has since
    /// learned from examples of the same age may know the label by that.
    void learn(const double* x, long y, double weight, const double* then) {
        read(x);
        for (long i = 0; i < judged() * K; ++i)
            if (then[i] >= 0) forecasts_[i] = std::max(then[i], std::numeric_limits<double>::min());
        push(y, weight);
    }
    void run(const double* X, const long* y, const double* weight, long n, double* out) override {
        for (long t = 0; t < n; ++t) {
            predict(X + t * N * K, out + t * K);
            push(y[t], weight ? weight[t] : 1.0);
        }
    }

    /// The weights of the two pools (2 x N).
    void mean(double* out) const override {
        for (std::size_t i = 0; i < 2; ++i) copy(pools_[i].w, N, out + long(i) * N);
    }
    long judged() const { return N + readings; }
    /// The weight of the four readings of the pools, then in the experts.
    void expert_weights(double* out) const { weights_.all(out); }

    static constexpr bool pauses = true;  // while the others are inactive, the first is all
    /// Numbers that are kept of a forecast until its label comes.
    long kept() const { return judged() * K; }
    /// Writes them of the record that was predicted last, -1 for what is not known; while the first
    /// expert is alone, what it `said`.
    void keep(const double* said, double* kept_) const {
        std::fill(kept_, kept_ + kept(), -1.0);
        if (activity_.is_alone()) return copy(said, K, kept_ + readings * K);
        for (const long r : weights_.active()) copy(forecasts_ + r * K, K, kept_ + r * K);
    }

    const Activity& activity() const { return activity_; }
    Activity& activity() { return activity_; }
    /// Decides who is active; to be called when that is due.
    void review() {
        activity_.review([&](const auto& experts) { return pools_[0].ranked(experts); },
                         [&](long e) {
                             for (SharedGaf& pool : pools_) pool.set_apart(e);
                         });
        note_active();
    }
    void set_active(long e, bool active) {
        activity_.set_active(e, active);
        for (SharedGaf& pool : pools_) pool.set_apart(e);
        note_active();
    }
    /// Takes over what a judge of fewer classes has learned.
    void adopt(const AnyForecaster<long>& from) override {
        const auto& other = static_cast<const Judge&>(from);
        steps_ = other.steps_;
        activity_.adopt(other.activity_);
        weights_.adopt(other.weights_);
        for (std::size_t i = 0; i < 2; ++i) pools_[i].adopt(other.pools_[i]);
        note_active();
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        Prefixed activity(visitor, "activity.");
        activity_.visit(activity);
        weights_.visit_counters(visitor);
        weights_.visit_arrays(visitor);
        for (std::size_t i = 0; i < 2; ++i) {
            Prefixed prefixed(visitor, std::to_string(i) + ".");
            prefixed("w", pools_[i].w, 1, N, N);
            prefixed("A", pools_[i].A, N, N, pools_[i].stride);
            prefixed("S", pools_[i].S, N, N, pools_[i].stride);
        }
        note_active();
    }
    [[gnu::cold]] bool counters_are_valid() const override {
        return steps_ >= 0 && steps_ <= most_steps;
    }
    [[gnu::cold]] bool contents_are_valid() const override {
        return activity_.is_valid(most_steps) && weights_.sound() && pools_[0].is_valid() &&
               pools_[1].is_valid();
    }
    void start_over() {
        steps_ = 0;
        activity_.start_over();
        weights_.start_over();
        for (SharedGaf& pool : pools_) pool.start_over();
        note_active();
    }
    void clear() override {}
    void forget_reading() override {}

   private:
    static constexpr long readings = 4;
    static constexpr double alpha = 4;  // the hedge of the second reading of each pool

    /// Pools, and experts that are active, are mixed.
    void note_active() {
        std::vector<long> those;
        for (long r = 0; r < readings; ++r) those.push_back(r);
        for (const long e : activity_.active()) those.push_back(readings + e);
        weights_.set_active(std::move(those));
    }

    /// Sets Phi, centred over the classes, and what all say. Rows of inactive experts are 0: their
    /// weight is 0 as well.
    void read(const double* x) {
        for (long e = 0; e < N; ++e) {
            double mean = 0, *logs = said_.rows + e * pad(K);
            if (!activity_.is_active(e)) {
                set_to_zero(logs, pad(K));
                set_to_zero(forecasts_ + (readings + e) * K, K);
                continue;
            }
            for (long c = 0; c < K; ++c)
                logs[c] = (1 - smoothing_) * x[e * K + c] + smoothing_ / double(K);
            for (long c = K; c < pad(K); ++c) logs[c] = 1;
            for (long c = 0; c < K; c += W) store(logs + c, log(load(logs + c)));
            for (long c = 0; c < K; ++c) mean += logs[c];
            for (long c = 0; c < K; ++c) logs[c] -= mean / double(K);
            copy(x + e * K, K, forecasts_ + (readings + e) * K);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            double* two = forecasts_ + 2 * long(i) * K;
            pools_[i].predict(said_, two);
            pools_[i].predict(said_, alpha, two + K);
        }
        for (long i = 0; i < (N + readings) * K; ++i)
            forecasts_[i] = std::max(forecasts_[i], std::numeric_limits<double>::min());
    }

    void push(long y, double weight) {
        if (!(weight <= 1e12)) refuse_example();
        if (weight > 0) {
            double top = 0;
            for (const long r : weights_.active()) top = std::max(top, forecasts_[r * K + y]);
            for (const long r : weights_.active()) {
                likelihood_[r] = forecasts_[r * K + y] / top;
                if (weight != 1) likelihood_[r] = std::pow(likelihood_[r], weight);
            }
            said_.transpose();
            note_costs(y);
            for (SharedGaf& pool : pools_) pool.learn(said_, y, weight);
            weights_.learn(likelihood_);
        }
        ++steps_;
    }

    /// What the pool that forgets nothing, whose weights have less noise, would lose without the
    /// least useful experts. Without all but the first, that one is by itself.
    void note_costs(long y) {
        const double loss = -std::log(forecasts_[readings * K + y]);
        const long n = long(activity_.order().size());
        if (n == 0) return activity_.note(loss);
        const double own = std::log(forecasts_[y]);  // of all
        pools_[0].without(said_, y, activity_.order(), cost_);
        cost_[n - 1] = -loss;
        for (long j = 0; j < n; ++j) cost_[j] = bounded(own - cost_[j], 1000);
        activity_.note(cost_, loss, loss);
    }

    double smoothing_;
    std::array<SharedGaf, 2> pools_;
    Weights weights_;
    Activity activity_;
    long steps_ = 0;
    Said said_;
    Buffer forecasts_, likelihood_, cost_;
};

}  // namespace MIXABLE_ISA
