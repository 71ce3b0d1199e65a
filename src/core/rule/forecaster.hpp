// A forecaster = a state + a rule on the small (m, G, y). One loop serves every rule and state.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "any_forecaster.hpp"
#include "core/posterior/posterior.hpp"

namespace MIXABLE_ISA {

/// The largest |x|^2 and weight of the examples that were learned: a proof about the run has limits
/// for both.
struct Met {
    static constexpr double unknown = -1;
    double square = 0, weight = 0;

    void note(double new_square, double new_weight) {
        if (square >= 0) square = std::max(square, new_square);
        if (weight >= 0) weight = std::max(weight, new_weight);
    }
    /// Whether both, as just read from a file, can be some that it had.
    bool is_valid() const {
        const auto could_be = [](double x) { return x == unknown || (x >= 0 && x <= 1e300); };
        return could_be(square) && could_be(weight);
    }
};

/// Rule must have: Outcome, outputs, begin(m, G, step), predict(p) and learn(y, weight, v, F),
/// which refer to what begin was given; see gaf.hpp. Kind is a state of state.hpp, or State itself
/// for one that is chosen at run time.
template <class Rule, class Kind = Posterior>
class Forecaster final : public AnyForecaster<typename Rule::Outcome> {
   public:
    using Outcome = typename Rule::Outcome;
    static constexpr bool is_full = std::is_same_v<Kind, Posterior>,
                          has_posterior = is_full || std::is_same_v<Kind, State>;

    template <class... RuleArguments>
    Forecaster(std::unique_ptr<Kind> start, RuleArguments&&... arguments)
        : owner_(std::move(start)),
          state(*owner_),
          rule(std::forward<RuleArguments>(arguments)...),
          v_(state.sk),
          F_(state.f),
          block_(state.room()) {}

   private:
    std::unique_ptr<Kind> owner_;

   public:
    Kind& state;
    Rule rule;

    long block() const override { return block_; }
    long predictions() const override { return state.k; }
    long features() const override { return state.d; }
    double cost() const override { return state.cost(); }
    long row_length() const override { return state.d; }
    long outputs() const override { return rule.outputs; }
    long steps() const override { return state.steps(); }
    double largest_square() const override { return state.largest_square(); }
    void mean(double* out) const override { state.mean(out); }
    void covariance(double* out) const override { state.covariance(out); }
    std::pair<long, long> covariance_size() const override { return state.covariance_size(); }
    void feature_covariances(double* out) const override { state.feature_covariances(out); }
    bool keeps_precision() const override {
        if constexpr (is_full)
            return state.keeps_precision();
        else
            return AnyForecaster<Outcome>::keeps_precision();
    }
    void precision(double* out) const override {
        if constexpr (is_full)
            state.precision(out);
        else
            AnyForecaster<Outcome>::precision(out);
    }
    void set_mean(const double* mean) override {
        if constexpr (is_full)
            state.set_mean(mean);
        else
            AnyForecaster<Outcome>::set_mean(mean);
        forget_reading();
    }
    void adopt(const AnyForecaster<Outcome>& other) override {
        const auto& smaller = static_cast<const Forecaster&>(other);
        state.adopt(smaller.state);
        met_ = smaller.met_;
        // A proof is for a number of classes that did not change.
        if (smaller.state.k != state.k && smaller.steps() > 0) met_.weight = Met::unknown;
        forget_reading();
    }

    void visit(Visitor& visitor) override {
        if constexpr (is_full) {
            visitor("largest_square_met", met_.square);
            visitor("largest_weight_met", met_.weight);
        }
        state.visit(visitor);
    }
    bool counters_are_valid() const override {
        return state.counters_are_valid() && met_.is_valid();
    }
    void clear() override { state.clear(); }
    bool contents_are_valid() const override { return state.contents_are_valid(1e300); }

    void predict(const double* x, double* p) override {
        read_input(x);
        rule.predict(p);
    }

    void predict_many(const double* X, long n, double* out) override {
        forget_reading();
        for (long t = 0; t < n;) {
            const long count = std::min(state.room(), n - t);
            state.prepare({X + t * state.d, count, state.d}, false);
            for (long i = 0; i < count; ++i, ++t) {
                read(i);
                rule.predict(out + t * rule.outputs);
            }
        }
    }

    void learn(const double* x, Outcome y, double weight) override {
        read_input(x);
        push(x, y, weight);
    }

    void read(const double* x, double* m, double* G) override {
        if constexpr (is_full) {
            read_input(x);
            copy(state.m, state.k, m);
            for (long i = 0; i < state.k; ++i)
                copy(state.G + i * state.sk, state.k, G + i * state.k);
        } else {
            AnyForecaster<Outcome>::read(x, m, G);
        }
    }
    void push(const double* x, const double* v, const double* F, double weight) override {
        if constexpr (is_full) {
            read_input(x);
            copy(v, state.k, v_);
            for (long i = 0; i < state.k; ++i) copy(F + i * state.k, state.k, F_ + i * state.sr);
            push_step(x, weight);
        } else {
            AnyForecaster<Outcome>::push(x, v, F, weight);
        }
    }

    void run(const double* X, const Outcome* y, const double* weight, long n,
             double* out) override {
        forget_reading();
        for (long t = 0; t < n;) {
            state.prepare({X + t * state.d, std::min(state.room(), n - t), state.d});
            do {  // a push may use up what was prepared before its time
                read();
                rule.predict(out + t * rule.outputs);
                push(X + t * state.d, y[t], weight ? weight[t] : 1.0);
                ++t;
            } while (state.has_prepared());
        }
    }

    void forget_reading() override {
        state.forget_prepared();
        fresh_ = false;
    }

   private:
    void read_input(const double* x) {
        if (fresh_ && state.is_prepared(x)) return;
        state.prepare(one_row(x));
        read();
        fresh_ = true;
    }

    void read(long after = 0) {
        state.read(after);
        rule.begin(state.m, state.G, state.steps());
    }

    void push(const double* x, Outcome y, double weight) {
        rule.learn(y, weight, v_, F_);
        push_step(x, weight);
    }
    void push_step(const double* x, double weight) {
        state.push(v_, F_);
        if constexpr (is_full) met_.note(squared_norm(x, state.d), weight);
        fresh_ = false;
    }

    Met met_;
    bool fresh_ = false;  // whether the rule holds the reading of the next prepared input
    Buffer v_, F_;
    long block_;  // steps that are best learned together
};

}  // namespace MIXABLE_ISA
