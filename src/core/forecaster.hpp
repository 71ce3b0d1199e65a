// A forecaster = a state + a rule on the small (m, G, y). One loop serves every rule and state.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "structures.hpp"

namespace MIXABLE_ISA {

/// Rule must have: Outcome, outputs, begin(m, G, step), predict(p) and learn(y, weight, v, F),
/// which refer to what begin was given; see gaf.hpp. Kind is a state of state.hpp, or State itself
/// for one that is chosen at run time.
template <class Rule, class Kind = Posterior>
class Forecaster {
   public:
    using Outcome = typename Rule::Outcome;
    static constexpr bool is_full = std::is_same_v<Kind, Posterior>, is_ensemble = false,
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

    long block() const { return block_; }
    long predictions() const { return state.k; }
    long features() const { return state.d; }
    double cost() const { return state.cost(); }
    long row_length() const { return state.d; }
    long outputs() const { return rule.outputs; }
    long steps() const { return state.steps(); }
    /// The largest |x|^2 that can be learned from.
    double largest_square() const { return state.largest_square(); }
    void mean(double* out) const { state.mean(out); }
    void covariance(double* out) const { state.covariance(out); }
    std::pair<long, long> covariance_size() const { return state.covariance_size(); }
    void feature_covariances(double* out) const { state.feature_covariances(out); }
    void adopt(const Forecaster& other) {
        state.adopt(other.state);
        forget_reading();
    }

    void visit(Visitor& visitor) { state.visit(visitor); }
    bool counters_are_valid() const { return state.counters_are_valid(); }
    void clear() { state.clear(); }
    bool contents_are_valid() const { return state.contents_are_valid(1e300); }
    static constexpr bool may_be_restored() { return true; }

    /// The forecast p (outputs) for input x (d). The reading is kept, so that learning the same x
    /// next costs no second projection.
    void predict(const double* x, double* p) {
        read_input(x);
        rule.predict(p);
    }

    /// The same for the n rows of X, all from the present state.
    void predict_many(const double* X, long n, double* out) {
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

    void learn(const double* x, Outcome y, double weight) {
        read_input(x);
        push(y, weight);
    }

    /// Row t of out (n x outputs) is predicted before y_t is learned. `weight` may be null.
    void run(const double* X, const Outcome* y, const double* weight, long n, double* out) {
        forget_reading();
        for (long t = 0; t < n;) {
            state.prepare({X + t * state.d, std::min(state.room(), n - t), state.d});
            do {  // a push may use up what was prepared before its time
                read();
                rule.predict(out + t * rule.outputs);
                push(y[t], weight ? weight[t] : 1.0);
                ++t;
            } while (state.has_prepared());
        }
    }

    /// To be called when the state has been changed from outside.
    void forget_reading() {
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

    void push(Outcome y, double weight) {
        rule.learn(y, weight, v_, F_);
        state.push(v_, F_);
        fresh_ = false;
    }

    bool fresh_ = false;  // whether the rule holds the reading of the next prepared input
    Buffer v_, F_;
    long block_;  // steps that are best learned together
};

}  // namespace MIXABLE_ISA
