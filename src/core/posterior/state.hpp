// The seam between rules and algebra: what a state of the weights must do. Rules and mixtures work
// on any state; a new structure of the posterior is a new class with this interface.
//
// A state keeps k linear functions of an input x in R^d: the mean V (k x d) of their weights and,
// unless it only follows the mean, how uncertain they are. A forecaster prepares inputs, reads the
// mean m = V x (k) and the width G of the k linear predictions, solves its own k-dimensional
// problem, and pushes the answer (v, F):
//     V <- V - A^-1 Phi(x) v,   A <- A + Phi(x) F F^T Phi(x)^T.
// G is k x k (rows sk apart) and F k x rank (rows sr apart). In a state with structure the
// predictions are independent of each other: G and F F^T are diagonal, and G and F are k numbers
// each, F being the diagonal of F F^T.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/numbers/dense.hpp"
#include "core/visitor.hpp"
#include "shape.hpp"

namespace MIXABLE_ISA {

/// Some inputs, one row of numbers each. All that reads an input goes through here, so that a
/// sparse row can be one later.
struct Rows {
    const double* values;
    long count, stride;  // how many rows, and how far one begins after the other

    /// Copies the first d numbers of row t.
    void copy(long t, long d, double* out) const {
        std::memcpy(out, values + t * stride, std::size_t(d) * sizeof(double));
    }
    /// Whether the first row is this one, to the bit.
    bool begins_with(const double* x, long d) const {
        return std::memcmp(values, x, std::size_t(d) * sizeof(double)) == 0;
    }
};

inline Rows one_row(const double* x) { return {x, 1, 0}; }

[[noreturn]] inline void refuse_example() {
    throw std::domain_error(
        "this example cannot be learned in double precision: its input, weight or the parameters "
        "are too large");
}

constexpr long most_steps = (1L << 53) - 1;  // that a saved state may have: one more is exact

/// What posteriors count. `pending`: steps whose update of A^-1 is delayed, and of A.
struct Counters {
    long steps = 0, pending = 0, curvature_pending = 0, since_refresh = 0;
    double regulariser = 0;  // the multiple of I that A has besides what was learned; 0: not known
};

/// What has been learned of the weights of k linear predictions of d features.
class Knowledge {
   public:
    explicit Knowledge(const PosteriorShape& shape) : k(shape.k), d(shape.d), shape_(shape) {}
    Knowledge(Knowledge&&) = default;
    virtual ~Knowledge() = default;

    const long k, d;

    virtual long steps() const = 0;
    /// The largest |x|^2 that can be learned from.
    double largest_square() const { return shape_.largest_square(); }
    /// Multiplications of a step, roughly.
    double cost() const { return shape_.cost(); }

    /// V (k x d).
    virtual void mean(double* out) const = 0;
    /// A^-1 (k d x k d); with structure, the matrices that it consists of, one below the other.
    virtual void covariance(double* out) const = 0;
    /// The rows and columns of that.
    virtual std::pair<long, long> covariance_size() const { return {k * d, k * d}; }
    /// The covariances (d x k x k) of the k weights of each feature.
    virtual void feature_covariances(double* out) const {
        const bool full = shape_.structure == Structure::full, shared = shape_.is_shared();
        const bool diagonal = shape_.structure == Structure::diagonal;
        const auto [rows, columns] = covariance_size();
        Buffer all(rows * columns);
        covariance(all);
        set_to_zero(out, d * k * k);
        for (long l = 0; l < d; ++l)
            for (long i = 0; i < k; ++i) {
                const double* row = all + (diagonal ? i : shared ? l : i * d + l) * columns;
                for (long j = 0; j < k; ++j)
                    if (full || i == j) out[(l * k + i) * k + j] = row[full ? j * d + l : l];
            }
    }
    /// The same by itself, of what is in a lane of lanes.hpp; of others nothing.
    virtual std::unique_ptr<Knowledge> apart() const { return nullptr; }
    /// Takes over what another of the same kind has learned, of at most this many predictions and
    /// features. The newcomers have mean 0 and know nothing. The parameters stay; to `exchange` the
    /// regulariser is to replace the other's lam by ours in what was learned.
    virtual void adopt(const Knowledge& other, bool exchange = false) = 0;

    /// Shows everything that was learned, in a fixed order, counters first.
    virtual void visit(Visitor& visitor) = 0;
    /// Forgets what is prepared or pending, before another state is read in.
    virtual void clear() = 0;
    /// Whether the counters, as just read from a file, make sense.
    virtual bool counters_are_valid() const = 0;
    /// Whether the arrays, as just read, can be some that learning made, and what is computed from
    /// them for any input that is not too large stays below `limit`.
    virtual bool contents_are_valid(double limit) const = 0;

   protected:
    PosteriorShape shape_;
};

/// Knowledge that is read and learned by itself. (lanes.hpp has several that go together.)
class State : public Knowledge {
   public:
    /// Keeps at most so many inputs at a time; none, if it has no mean of weights either.
    State(const PosteriorShape& shape, long inputs)
        : Knowledge(shape),
          sk(pad_to(k, 8)),
          sr(pad_to(shape.rank, 8)),
          f(shape.rank > 0 ? k * sr : sk),
          m(sk),
          G(shape.rank > 0 ? k * sk : sk),
          dp(pad_to(d, 8)),
          V(inputs > 0 ? k * dp : 0),
          X(inputs * dp) {}

    const long sk, sr;  // row strides of k x k matrices and of F
    const long f;       // numbers in F
    Buffer m, G;        // the last reading

    /// How many inputs may be prepared at once, now.
    virtual long room() const = 0;
    /// Prepares at most room() inputs. They are the next ones, each to be learned after the one
    /// before; or (in_turn = false) they are only read, all from the present state.
    virtual void prepare(const Rows& rows, bool in_turn = true) = 0;
    /// Whether the next input has been prepared, and is this one to the bit.
    virtual bool is_prepared(const double* x) const {
        return has_prepared() && one_row(x).begins_with(X + n_ * dp, d);
    }
    bool has_prepared() const { return prepared_ > n_; }
    void forget_prepared() { prepared_ = n_; }
    /// Sets m and G of the prepared input that comes `after` the next one.
    virtual void read(long after = 0) = 0;
    /// Learns from the input last read: v (k), F, with zeros behind each row. Throws, and changes
    /// nothing, if that is beyond double precision.
    virtual void push(const double* v, const double* F) = 0;

    long steps() const override { return steps_; }
    void mean(double* out) const override {
        for (long c = 0; c < k; ++c) copy(V + c * dp, d, out + c * d);
    }
    void clear() override { forget_prepared(); }
    [[gnu::cold]] bool counters_are_valid() const override {
        return steps_ >= 0 && steps_ <= most_steps;
    }

   protected:
    void keep(const Rows& rows, bool in_turn) {
        for (long t = 0; t < rows.count; ++t) rows.copy(t, d, X + (n_ + t) * dp);
        prepared_ = n_ + (in_turn ? rows.count : 0);
    }
    /// A new prediction has the mean of the first k0, in the first d0 features.
    void fill_means(long k0, long d0) {
        for (long c = k0; c < k; ++c)
            for (long l = 0; l < d0; ++l) {
                double sum = 0;
                for (long b = 0; b < k0; ++b) sum += V[b * dp + l];
                V[c * dp + l] = sum / double(k0);
            }
    }

    const long dp;                           // row stride of V and X
    Buffer V, X;                             // the mean, and inputs
    long n_ = 0, prepared_ = 0, steps_ = 0;  // where the next input is, and the end of those
};

/// A Gaussian whose updates of A^-1 are delayed by up to r steps. Now and then A^-1 is made from A
/// again, if A is kept.
class Delayed : public State {
   public:
    Delayed(const PosteriorShape& shape, long most_delay, long refresh_period)
        : State(shape, most_delay),
          r(most_delay),
          period_(refresh_period),
          regulariser_(keeps_precision() ? shape.lam : 0.0) {}

    long room() const override { return r - n_; }
    bool keeps_precision() const { return shape_.drift == 0; }
    double regulariser() const { return regulariser_; }
    Counters counters() const { return {steps_, n_, 0, since_refresh_, regulariser_}; }
    [[gnu::cold]] bool counters_are_valid() const override {
        return State::counters_are_valid() && n_ >= 0 && n_ < r && steps_ >= n_ &&
               since_refresh_ >= 0 && since_refresh_ <= steps_ + period_ + r &&
               shape_.may_have_regulariser(regulariser_);
    }

   protected:
    void set(const Counters& counters) {
        steps_ = counters.steps;
        n_ = counters.pending;
        since_refresh_ = counters.since_refresh;
        regulariser_ = counters.regulariser;
    }

    const long r, period_;
    long since_refresh_ = 0;
    double regulariser_;  // the multiple of I that A has besides what was learned; 0 if not known
};

}  // namespace MIXABLE_ISA
