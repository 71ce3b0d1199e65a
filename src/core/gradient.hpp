// Online gradient descent (Zinkevich 2003): a state that only keeps the mean, and its rule.
#pragma once

#include "softmax.hpp"
#include "state.hpp"
#include "symmetric.hpp"

namespace MIXABLE_ISA {

/// Weights V (k x d) that move by V <- V - v x^T and are projected on the ball of radius `radius`
/// (0: none). There is no width: G stays 0.
class GradientState final : public State {
   public:
    GradientState(long predictions, long features, double radius)
        : State(predictions, features, 1), dp(pad_to(d, 8)), radius_(radius), V(k * dp), x(dp) {}

    long steps() const override { return steps_; }
    double largest_square() const override { return 1e280; }
    double cost() const override { return 2.0 * double(k) * double(d); }
    double bytes() const override { return double(sizeof(double)) * double((k + 1) * dp); }

    long room() const override { return 1; }
    void prepare(const Rows& rows, bool = true) override {
        rows.copy(0, d, x);
        prepared_ = true;
    }
    bool is_prepared(const double* input) const override {
        return prepared_ && one_row(input).begins_with(x, d);
    }
    bool has_prepared() const override { return prepared_; }
    void forget_prepared() override { prepared_ = false; }
    void read(long = 0) override { dots(d, 1, x, dp, k, V, dp, m, k); }

    void push(const double* v, const double*) override {
        const auto moved = [&](long j, long l) {
            return load(V + j * dp + l) - v[j] * load(x + l);
        };
        double square = 0;
        for (long j = 0; j < k; ++j) {
            vec s{};
            for (long l = 0; l < dp; l += W) s += moved(j, l) * moved(j, l);
            square += sum(s);
        }
        if (!(square <= largest_weights)) refuse_example();  // NaN, too
        for (long j = 0; j < k; ++j)
            for (long l = 0; l < dp; l += W) store(V + j * dp + l, moved(j, l));
        if (radius_ > 0 && square > radius_ * radius_)
            for (long i = 0; i < k * dp; ++i) V[i] *= radius_ / std::sqrt(square);
        ++steps_;
        prepared_ = false;
    }

    void mean(double* out) const override {
        for (long j = 0; j < k; ++j) copy(V + j * dp, d, out + j * d);
    }
    void covariance(double* out) const override { set_to_zero(out, k * d * k * d); }
    void feature_covariances(double* out) const override { set_to_zero(out, d * k * k); }
    /// The other may be any state in the same coordinates.
    void adopt(const Knowledge& other, bool = false) override {
        Buffer theirs(other.k * other.d);
        other.mean(theirs);
        for (long j = 0; j < other.k; ++j) copy(theirs + j * other.d, other.d, V + j * dp);
        steps_ = other.steps();
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("V", V, k, d, dp);
    }
    void clear() override { prepared_ = false; }
    [[gnu::cold]] bool counters_are_valid() const override {
        return steps_ >= 0 && steps_ <= most_steps;
    }
    [[gnu::cold]] bool contents_are_valid(double) const override {
        return squared_norm(V, k * dp) <= largest_weights;
    }

   private:
    static constexpr double largest_weights = 1e300;  // |V|^2, so that V x stays finite

    long dp;
    double radius_;
    Buffer V, x;
    bool prepared_ = false;
    long steps_ = 0;
};

/// v = step_t Q^T (p - e_y), step_t = rate / sqrt(t), or `rate` itself if it is fixed.
class OgdRule {
   public:
    using Outcome = long;

    OgdRule(long classes, double rate, bool fixed)
        : outputs(classes), rate_(rate), fixed_(fixed), work_(classes), p_(classes) {}

    const long outputs;

    void begin(const double* m, const double*, long step) {
        step_ = step;
        work_.evaluate(m);
        copy(work_.p, outputs, p_);
    }

    void predict(double* p) { copy(p_, outputs, p); }

    void learn(long y, double weight, double* v, double*) {
        work_.gradient(p_, y, v);
        const double rate = weight * (fixed_ ? rate_ : rate_ / std::sqrt(double(step_ + 1)));
        for (long j = 0; j < outputs - 1; ++j) v[j] *= rate;
    }

   private:
    double rate_;
    bool fixed_;
    long step_ = 0;
    Softmax<double> work_;
    Buffer p_;
};

}  // namespace MIXABLE_ISA
