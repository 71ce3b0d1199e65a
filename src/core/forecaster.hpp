// A forecaster = a posterior + a rule on the small (m, G, y). One loop serves every rule.
#pragma once

#include <utility>

#include "posterior.hpp"

namespace MIXABLE_ISA {

/// Rule must have: K; begin(m, G); predict(m, step, p); learn(m, y, weight, v, F), see gaf.hpp.
template <class Rule>
class Forecaster {
   public:
    template <class... Args>
    Forecaster(const PosteriorShape& shape, const Blas& blas, Args&&... args)
        : posterior(shape, blas), rule(std::forward<Args>(args)...), v_(posterior.sk), F_(posterior.k * posterior.sr) {}

    Posterior posterior;
    Rule rule;

    /// Probabilities p (K) for input x (d). The reading is kept, so that learning the same x next costs no second projection.
    void predict(const double* x, double* p) {
        look(x);
        rule.predict(posterior.m, posterior.steps(), p);
    }

    /// The same for the n rows of X, all from the present state.
    void predict_many(const double* X, long n, double* out) {
        forget_reading();
        for (long t = 0; t < n;) {
            const long count = std::min(posterior.room(), n - t);
            posterior.prepare(X + t * posterior.d, posterior.d, count, false);
            for (long i = 0; i < count; ++i, ++t) {
                posterior.read(i);
                rule.begin(posterior.m, posterior.G);
                rule.predict(posterior.m, posterior.steps(), out + t * rule.K);
            }
        }
    }

    void learn(const double* x, long y, double weight) {
        look(x);
        take(y, weight);
    }

    /// Row t of out (n x K) is predicted before y_t is learned. `weight` may be null.
    void run(const double* X, const long* y, const double* weight, long n, double* out) {
        forget_reading();
        for (long t = 0; t < n;) {
            const long count = std::min(posterior.room(), n - t);
            posterior.prepare(X + t * posterior.d, posterior.d, count);
            for (const long end = t + count; t < end; ++t) {
                read();
                rule.predict(posterior.m, posterior.steps(), out + t * rule.K);
                take(y[t], weight ? weight[t] : 1.0);
            }
        }
    }

    /// To be called when the state has been changed from outside.
    void forget_reading() {
        posterior.forget_prepared();
        fresh_ = false;
    }

   private:
    void look(const double* x) {
        if (fresh_ && posterior.is_prepared(x)) return;
        posterior.prepare(x, posterior.d, 1);
        read();
        fresh_ = true;
    }

    void read() {
        posterior.read();
        rule.begin(posterior.m, posterior.G);
    }

    void take(long y, double weight) {
        rule.learn(posterior.m, y, weight, v_, F_);
        posterior.push(v_, F_);
        fresh_ = false;
    }

    bool fresh_ = false;  // whether the rule holds the reading of the next prepared input
    Buffer v_, F_;
};

}  // namespace MIXABLE_ISA
