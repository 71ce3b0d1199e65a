// Experts pooled by their logarithms: p proportional to exp(sum_e w_e log p_e), with weights w
// shared by the classes. That is logistic regression with Phi (N x K), Phi_ec = log p_e(c), in the
// form of Section 2 of the paper, and GAF learns w.
#pragma once

#include <array>
#include <limits>

#include "any_forecaster.hpp"
#include "rest.hpp"
#include "shared_gaf.hpp"
#include "weights.hpp"

namespace MIXABLE_ISA {

/// The judge over some experts. Its input is their forecasts (N x K); its forecast is that of two
/// pools, each read at two widths, and of the experts themselves, mixed by their losses. One of the
/// pools forgets.
class Judge final : public AnyForecaster<long> {
   public:
    Judge(long experts, long classes, double lam, double drift, double smoothing, double share,
          double least_gain, double tie)
        : N(experts),
          K(classes),
          smoothing_(smoothing),
          pools_{SharedGaf(N, lam, tie, 1.0, 0.0), SharedGaf(N, lam, tie, 1.0, drift)},
          weights_(N + readings, share),
          rest_(least_gain),
          said_(N, K),
          forecasts_((N + readings) * K),
          likelihood_(N + readings) {
        start_over();
    }

    const long N, K;

    long predictions() const override { return 2; }
    long features() const override { return N; }
    long row_length() const override { return N * K; }
    long outputs() const override { return K; }
    long steps() const override { return steps_ + rest_.alone(); }
    long block() const override { return 1; }
    double largest_square() const override { return 1e280; }
    double cost() const override { return 200.0 * double(N * N * K); }

    void predict(const double* x, double* p) override {
        read(x);
        set_to_zero(p, K);
        for (long r = 0; r < N + readings; ++r)
            for (long c = 0; c < K; ++c) p[c] += weights_.trust(r) * forecasts_[r * K + c];
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
    /// The trust in the four readings of the pools, then in the experts.
    void trust(double* out) const { weights_.all(out); }

    static constexpr bool pauses = true;  // while the others rest, the first expert is all
    long first() const { return 1; }
    /// Numbers that are kept of a forecast until its label comes.
    long kept() const { return judged() * K; }
    /// Writes them of the record that was predicted last; while the others rest, what the first
    /// expert `said`, and -1 for what is not known.
    void keep(const double* said, double* kept_) const {
        if (!rest_.is_resting()) return copy(forecasts_, kept(), kept_);
        std::fill(kept_, kept_ + kept(), -1.0);
        copy(said, K, kept_ + readings * K);
    }

    const Rest& rest() const { return rest_; }
    Rest& rest() { return rest_; }
    /// Takes over what a judge of fewer classes has learned.
    void adopt(const AnyForecaster<long>& from) override {
        const auto& other = static_cast<const Judge&>(from);
        steps_ = other.steps_;
        rest_ = other.rest_;  // of a judge with the same parameters
        weights_.adopt(other.weights_);
        for (std::size_t i = 0; i < 2; ++i) pools_[i].adopt(other.pools_[i]);
        everyone();
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        Prefixed resting(visitor, "rest.");
        rest_.visit(resting);
        weights_.visit_counters(visitor);
        weights_.visit_arrays(visitor);
        for (std::size_t i = 0; i < 2; ++i) {
            Prefixed prefixed(visitor, std::to_string(i) + ".");
            prefixed("w", pools_[i].w, 1, N, N);
            prefixed("A", pools_[i].A, N, N, pools_[i].stride);
            prefixed("S", pools_[i].S, N, N, pools_[i].stride);
        }
        everyone();
    }
    [[gnu::cold]] bool counters_are_valid() const override {
        return steps_ >= 0 && steps_ <= most_steps && rest_.sound(most_steps);
    }
    [[gnu::cold]] bool contents_are_valid() const override {
        return weights_.sound() && pools_[0].is_valid() && pools_[1].is_valid();
    }
    void start_over() {
        steps_ = 0;
        rest_.start_over();
        weights_.start_over();
        for (SharedGaf& pool : pools_) pool.start_over();
        everyone();
    }
    void clear() override {}
    void forget_reading() override {}

   private:
    static constexpr long readings = 4;
    static constexpr double alpha = 4;  // the hedge of the second reading of each pool

    void everyone() {
        std::vector<long> all(std::size_t(N + readings));
        for (std::size_t r = 0; r < all.size(); ++r) all[r] = long(r);
        weights_.set_awake(std::move(all));
    }

    /// Sets Phi, centred over the classes, and what all say.
    void read(const double* x) {
        for (long e = 0; e < N; ++e) {
            double mean = 0, *logs = said_.rows + e * pad(K);
            for (long c = 0; c < K; ++c)
                logs[c] = (1 - smoothing_) * x[e * K + c] + smoothing_ / double(K);
            for (long c = K; c < pad(K); ++c) logs[c] = 1;
            for (long c = 0; c < K; c += W) store(logs + c, log(load(logs + c)));
            for (long c = 0; c < K; ++c) mean += logs[c];
            for (long c = 0; c < K; ++c) logs[c] -= mean / double(K);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            double* two = forecasts_ + 2 * long(i) * K;
            pools_[i].predict(said_, two);
            pools_[i].predict(said_, alpha, two + K);
        }
        copy(x, N * K, forecasts_ + readings * K);
        for (long i = 0; i < (N + readings) * K; ++i)
            forecasts_[i] = std::max(forecasts_[i], std::numeric_limits<double>::min());
    }

    void push(long y, double weight) {
        if (!(weight <= 1e12)) refuse_example();
        if (weight > 0) {
            double top = 0, pooled = 0;
            for (long r = 0; r < N + readings; ++r) {
                top = std::max(top, forecasts_[r * K + y]);
                pooled += weights_.trust(r) * forecasts_[r * K + y];
            }
            for (long r = 0; r < N + readings; ++r) {
                likelihood_[r] = forecasts_[r * K + y] / top;
                if (weight != 1) likelihood_[r] = std::pow(likelihood_[r], weight);
            }
            said_.transpose();
            for (SharedGaf& pool : pools_) pool.learn(said_, y, weight);
            rest_.note(forecasts_[readings * K + y], pooled);
            weights_.learn(likelihood_);
        }
        ++steps_;
    }

    double smoothing_;
    std::array<SharedGaf, 2> pools_;
    Weights weights_;
    Rest rest_;
    long steps_ = 0;
    Said said_;
    Buffer forecasts_, likelihood_;
};

}  // namespace MIXABLE_ISA
