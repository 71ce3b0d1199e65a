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

#include "dense.hpp"
#include "visitor.hpp"

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
    Knowledge(long predictions, long features) : k(predictions), d(features) {}
    Knowledge(Knowledge&&) = default;
    virtual ~Knowledge() = default;

    const long k, d;

    virtual long steps() const = 0;
    /// The largest |x|^2 that can be learned from.
    virtual double largest_square() const = 0;
    /// Multiplications of a step, roughly.
    virtual double cost() const = 0;
    virtual double bytes() const = 0;

    /// V (k x d).
    virtual void mean(double* out) const = 0;
    /// A^-1 (k d x k d); with structure, the matrices that it consists of, one below the other.
    virtual void covariance(double* out) const = 0;
    /// The rows and columns of that.
    virtual std::pair<long, long> covariance_size() const { return {k * d, k * d}; }
    /// The covariances (d x k x k) of the k weights of each feature.
    virtual void feature_covariances(double* out) const = 0;
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
};

/// Knowledge that is read and learned by itself. (lanes.hpp has several that go together.)
class State : public Knowledge {
   public:
    /// A `rank` of 0 means structure.
    State(long predictions, long features, long rank)
        : Knowledge(predictions, features),
          sk(pad_to(predictions, 8)),
          sr(pad_to(rank, 8)),
          f(rank > 0 ? predictions * sr : sk),
          m(sk),
          G(rank > 0 ? predictions * sk : sk) {}

    const long sk, sr;  // row strides of k x k matrices and of F
    const long f;       // numbers in F
    Buffer m, G;        // the last reading

    /// How many inputs may be prepared at once, now.
    virtual long room() const = 0;
    /// Prepares at most room() inputs. They are the next ones, each to be learned after the one
    /// before; or (in_turn = false) they are only read, all from the present state.
    virtual void prepare(const Rows& rows, bool in_turn = true) = 0;
    /// Whether the next input has been prepared, and is this one to the bit.
    virtual bool is_prepared(const double* x) const = 0;
    virtual bool has_prepared() const = 0;
    virtual void forget_prepared() = 0;
    /// Sets m and G of the prepared input that comes `after` the next one.
    virtual void read(long after = 0) = 0;
    /// Learns from the input last read: v (k), F, with zeros behind each row. Throws, and changes
    /// nothing, if that is beyond double precision.
    virtual void push(const double* v, const double* F) = 0;
};

}  // namespace MIXABLE_ISA
