// What every forecaster of dense rows can do. The bindings know it by this interface only, so that
// they are compiled once for all forecasters of labels, and once for those of targets.
#pragma once

#include <stdexcept>
#include <utility>

#include "core/visitor.hpp"

namespace MIXABLE_ISA {

template <class Outcome_>
class AnyForecaster {
   public:
    using Outcome = Outcome_;
    AnyForecaster() = default;
    AnyForecaster(const AnyForecaster&) = delete;
    AnyForecaster& operator=(const AnyForecaster&) = delete;
    virtual ~AnyForecaster() = default;

    virtual long features() const = 0;
    /// Numbers in an input.
    virtual long row_length() const = 0;
    /// Linear predictions whose weights `mean` shows.
    virtual long predictions() const = 0;
    /// Numbers in a forecast, and in a row of what `run` writes.
    virtual long outputs() const = 0;
    virtual long columns() const { return outputs(); }
    /// Steps that are best learned together.
    virtual long block() const = 0;
    /// Multiplications of a step, roughly.
    virtual double cost() const = 0;
    /// The largest |x|^2 that can be learned from.
    virtual double largest_square() const = 0;
    virtual long steps() const = 0;
    /// Threads that may share the work on a table; 0: as many as are usual.
    virtual long threads() const { return 1; }

    /// The forecast p (outputs) for input x. The reading is kept: to learn the same x next costs
    /// less.
    virtual void predict(const double* x, double* p) = 0;
    /// The same for the n rows of X, all from the present state.
    virtual void predict_many(const double* X, long n, double* out) = 0;
    virtual void learn(const double* x, Outcome y, double weight) = 0;
    /// Row t of out (n x columns) is predicted before y_t is learned. `weight` may be null.
    virtual void run(const double* X, const Outcome* y, const double* weight, long n,
                     double* out) = 0;
    /// The parts of a step, for rules that are not compiled: the mean m (k) and the width G (k x k)
    /// of the predictions, and what they are to learn, v (k) and F (k x k).
    virtual void read(const double*, double*, double*) { has_none(); }
    virtual void push(const double*, const double*, const double*, double) { has_none(); }
    /// To be called when the state has been changed from outside.
    virtual void forget_reading() = 0;

    /// The mean (predictions x features) of the weights.
    virtual void mean(double* out) const = 0;
    // The rest is only asked of forecasters that have it.
    virtual std::pair<long, long> covariance_size() const { has_none(); }
    virtual void covariance(double*) const { has_none(); }
    /// (features x predictions x predictions)
    virtual void feature_covariances(double*) const { has_none(); }
    virtual bool keeps_precision() const { has_none(); }
    virtual void precision(double*) const { has_none(); }
    virtual void set_mean(const double*) { has_none(); }

    /// Takes over what another of the same class has learned, of fewer classes or features.
    virtual void adopt(const AnyForecaster& other) = 0;
    virtual void visit(Visitor& visitor) = 0;
    virtual void clear() = 0;
    virtual bool may_be_restored() const { return true; }
    virtual bool counters_are_valid() const = 0;
    virtual bool contents_are_valid() const = 0;

   private:
    [[noreturn]] static void has_none() {
        throw std::logic_error("this forecaster does not keep that");
    }
};

/// What a mixture of posteriors is told.
struct MixtureOptions {
    double scale;  // of the mean square of an input; 0: that of the first one that is not zero
    double share;
    bool sleep;
    long threads;
};

/// What a mixture of posteriors can do besides.
template <class Outcome>
class AnyMixture : public AnyForecaster<Outcome> {
   public:
    virtual long experts() const = 0;
    /// The weight of each expert (all together 1), and whether it is active.
    virtual void weights(double* weight, double* active) const = 0;
    /// Numbers in the reading of an expert.
    virtual long reading_width() const = 0;
    /// The readings of x by the experts that are active, each `reading_width` numbers, after its
    /// weight; returns how many.
    virtual long components(const double* x, double* out) = 0;
    /// The mean square that inputs are measured by, at present.
    virtual double scale() const = 0;
    /// The log of the likelihood (of a density, without 2 pi) that the forecast gave to the outcome
    /// learned last; 0 if that was too early to say.
    virtual double score() const = 0;
    /// About how long a step takes with everyone active.
    virtual double seconds() const = 0;
};

}  // namespace MIXABLE_ISA
