// Online gradient descent (Zinkevich 2003): a state that only keeps the mean, with the interface of
// Posterior, and its rule.
#pragma once

#include "posterior.hpp"
#include "softmax.hpp"

namespace MIXABLE_ISA {

/// Weights V (k x d) that move by V <- V - v x^T and are projected on the ball of radius `radius`
/// (0: none). There is no width: G stays 0.
class GradientState {
   public:
    GradientState(const PosteriorShape& shape, double radius)
        : k(shape.k),
          d(shape.d),
          sk(pad_to(k, 8)),
          sr(8),
          m(k),
          G(k * sk),
          dp(pad_to(d, 8)),
          radius_(radius),
          shape_(shape),
          V(k * dp),
          x(dp) {}

    const long k, d, sk, sr;
    Buffer m, G;

    const PosteriorShape& shape() const { return shape_; }
    static constexpr double largest_square() { return 1e280; }
    static constexpr double largest_weights =
        1e300;  // |V|^2: V x stays finite for every x that is not refused
    long steps() const { return steps_; }
    long room() const { return 1; }
    void prepare(const double* input, long, long, bool = true) {
        std::memcpy(x, input, std::size_t(d) * 8);
        prepared_ = true;
    }
    bool is_prepared(const double* input) const {
        return prepared_ && std::memcmp(x, input, std::size_t(d) * 8) == 0;
    }
    bool has_prepared() const { return prepared_; }
    void forget_prepared() { prepared_ = false; }
    void read(long = 0) { dots(d, 1, x, dp, k, V, dp, m, k); }

    void push(const double* v, const double*) {
        const auto moved = [&](long j, long l) {
            return load(V + j * dp + l) - v[j] * load(x + l);
        };
        double square = 0;
        for (long j = 0; j < k; ++j) {
            vec s{};
            for (long l = 0; l < dp; l += W) s += moved(j, l) * moved(j, l);
            square += sum(s);
        }
        if (!(square <= largest_weights)) refuse_example();  // NaN, too; nothing has changed yet
        for (long j = 0; j < k; ++j)
            for (long l = 0; l < dp; l += W) store(V + j * dp + l, moved(j, l));
        if (radius_ > 0 && square > radius_ * radius_)
            for (long i = 0; i < k * dp; ++i) V[i] *= radius_ / std::sqrt(square);
        ++steps_;
        prepared_ = false;
    }

    /// Takes over the weights of a smaller state; newcomers have weight 0.
    void adopt(const GradientState& other) {
        for (long j = 0; j < other.k; ++j)
            std::memcpy(V + j * dp, other.V + j * other.dp, std::size_t(other.d) * 8);
        steps_ = other.steps_;
    }

    void mean(double* out) const {
        for (long j = 0; j < k; ++j) std::memcpy(out + j * d, V + j * dp, std::size_t(d) * 8);
    }

    template <class F>
    void visit(F&& f) {
        f("steps", steps_);
        f("V", V, k, d, dp);
    }
    void clear_block() { prepared_ = false; }
    bool counters_are_valid() const { return steps_ >= 0 && steps_ <= 1L << 53; }
    /// Whether the weights, as just read from a saved state, make sense.
    bool contents_are_valid(double) const {
        double sum = 0;
        for (long i = 0; i < k * dp; ++i) sum += std::fabs(V[i]);
        return std::isfinite(sum);
    }

   private:
    long dp;
    double radius_;
    PosteriorShape shape_;
    Buffer V, x;
    bool prepared_ = false;
    long steps_ = 0;
};

/// v = step_t Q^T (p - e_y), step_t = rate / sqrt(t), or `rate` itself if it is fixed.
class OgdRule {
   public:
    using Outcome = long;

    OgdRule(long classes, double rate, bool fixed)
        : outputs(classes), rate_(rate), fixed_(fixed), softmax_(classes) {}

    const long outputs;

    void begin(const double* m, const double*, long step) {
        step_ = step;
        softmax_.evaluate(m);
    }

    void predict(double* p) { std::memcpy(p, softmax_.p, std::size_t(outputs) * 8); }

    void learn(long y, double weight, double* v, double*) {
        softmax_.gradient(y, v);
        const double rate = weight * (fixed_ ? rate_ : rate_ / std::sqrt(double(step_ + 1)));
        for (long j = 0; j < outputs - 1; ++j) v[j] *= rate;
    }

   private:
    double rate_;
    bool fixed_;
    long step_ = 0;
    Softmax softmax_;
};

}  // namespace MIXABLE_ISA
