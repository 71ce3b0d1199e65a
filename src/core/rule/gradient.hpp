// Online gradient descent (Zinkevich 2003): a state that only keeps the mean, and its rule.
#pragma once

#include "core/numbers/symmetric.hpp"
#include "core/posterior/state.hpp"
#include "softmax.hpp"

namespace MIXABLE_ISA {

/// Weights V (k x d) that move by V <- V - v x^T and are projected on the ball of radius `radius`
/// (0: none). There is no width: G stays 0.
class GradientState final : public State {
   public:
    explicit GradientState(const PosteriorShape& shape) : State(shape, 1), radius_(shape.radius) {}

    long room() const override { return 1; }
    void prepare(const Rows& rows, bool in_turn = true) override { keep(rows, in_turn); }
    void read(long = 0) override { dots(d, 1, X, dp, k, V, dp, m, k); }

    void push(const double* v, const double*) override {
        const auto moved = [&](long j, long l) {
            return load(V + j * dp + l) - v[j] * load(X + l);
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
        forget_prepared();
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
    [[gnu::cold]] bool contents_are_valid(double) const override {
        return squared_norm(V, k * dp) <= largest_weights;
    }

   private:
    static constexpr double largest_weights = 1e300;  // |V|^2, so that V x stays finite

    double radius_;
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
