// A forecaster as a Python object: conversions, the GIL, states, and the fallback against two
// threads at once. A step of plain arguments costs little more than its arithmetic.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "core/numbers/parallel.hpp"
#include "core/numbers/sizes.hpp"
#include "core/rule/any_forecaster.hpp"
#include "saved.hpp"
#include "use.hpp"

namespace MIXABLE_ISA {

template <class Outcome>
class Model : public OneUser {
   public:
    static constexpr bool of_labels = std::is_same_v<Outcome, long>;

    /// To be used while a `Use` lives.
    AnyForecaster<Outcome>& forecaster() { return *forecaster_; }
    const AnyForecaster<Outcome>& forecaster() const { return *forecaster_; }

    Model(Model&&) = delete;  // nor copied
    explicit Model(std::unique_ptr<AnyForecaster<Outcome>> forecaster)
        : OneUser(is_disturbed_by_threads_of_blas(*forecaster)),
          forecaster_(std::move(forecaster)),
          d_(forecaster_->row_length()),
          outputs_(forecaster_->outputs()),
          long_step_(forecaster_->cost() > 2e5),
          slice_(slice_rows()),
          largest_(forecaster_->largest_square()) {}

    [[gnu::noinline]] nb::object predict(nb::handle x) {
        Use use(*this, Job::predict);
        if (const double* row = plain_row(x)) return predict_row(row);
        const nb::object clean = validated("inputs", x, d_);
        const bool one = is_plain(clean, 1);
        const double* X = one ? data(clean) : checked(clean, 2);
        const long n = one ? 1 : length(clean), K = outputs_;
        check_size(X, n, "x");
        if (one) return predict_row(X);
        nb::object out = new_array({n, K});
        double* p = data(out);
        in_slices(n, [&](long t, long count) {
            forecaster_->predict_many(X + t * d_, count, p + t * K);
        });
        check_forecasts(p, n, K);
        return out;
    }

    [[gnu::noinline]] void learn(nb::handle x, nb::handle y, nb::handle weight) {
        Use use(*this);
        nb::object clean;
        const double* row = plain_row(x);
        if (!row) {
            clean = validated("row", x, d_);
            row = checked(clean);
            check_size(row, 1, "x");
        }
        const Outcome outcome = outcome_from(y);
        double w = PyFloat_Check(weight.ptr()) ? PyFloat_AsDouble(weight.ptr()) : -1.0;
        if (!(w >= 0 && w <= std::numeric_limits<double>::max()))
            w = nb::cast<double>(validated("weight", weight));
        released([&] { forecaster_->learn(row, outcome, w); });
    }

    [[gnu::noinline]] Array<> run(Array<> X_, Array<Outcome> y_, Array<> weight_) {
        Use use(*this);
        const double *X = checked(X_, 2), *weight = weight_.is_none() ? nullptr : checked(weight_);
        const Outcome* y = checked<Outcome>(y_);
        const long n = length(X_), K = forecaster_->columns();
        if (length(X_, 1) != d_ || length(y_) != n || (weight && length(weight_) != n))
            throw nb::value_error("X, y and weight do not go together");
        if constexpr (of_labels)
            for (long t = 0; t < n; ++t)
                if (y[t] < 0 || y[t] >= K) throw nb::value_error("y has a label out of range");
        check_size(X, n, "X");
        nb::object out = new_array({n, K});
        double* p = data(out);
        const Crew crew(threads_for(n));
        in_slices(n, [&](long t, long count) {
            forecaster_->run(X + t * d_, y + t, weight ? weight + t : nullptr, count, p + t * K);
        });
        check_forecasts(p, n, K);
        return out;
    }

    Array<> mean() {
        Use use(*this);
        return filled({forecaster_->predictions(), forecaster_->features()},
                      [&](double* out) { forecaster_->mean(out); });
    }

    Array<> precision() {
        Use use(*this);
        if (!forecaster_->keeps_precision())
            throw nb::value_error("A is not accumulated when drift > 0");
        return filled({D(), D()}, [&](double* out) { forecaster_->precision(out); });
    }

    Array<> covariance() {
        Use use(*this);
        const auto [rows, columns] = forecaster_->covariance_size();
        return filled({rows, columns}, [&](double* out) { forecaster_->covariance(out); });
    }

    Array<> feature_covariances() {
        Use use(*this);
        const long k = forecaster_->predictions();
        return filled({forecaster_->features(), k, k},
                      [&](double* out) { forecaster_->feature_covariances(out); });
    }

    void set_mean(Array<> mean) {
        Use use(*this);
        const double* values = checked(mean, 2);
        if (length(mean, 0) != forecaster_->predictions() || length(mean, 1) != d_)
            throw nb::value_error("the mean has the wrong shape");
        forecaster_->set_mean(values);
    }

    /// The posterior can be read and taught by a rule in Python.
    Tuple<Array<>, Array<>> read(Array<> x) {
        Use use(*this);
        const double* row = checked_row(x);
        const long k = forecaster_->predictions();
        Array<> m = new_array({k}), G = new_array({k, k});
        forecaster_->read(row, data(m), data(G));
        return nb::make_tuple(m, G);
    }
    void push(Array<> x, Array<> v, Array<> F, double weight) {
        Use use(*this);
        const double* row = checked_row(x);
        const long k = forecaster_->predictions();
        const double *step = checked(v), *factor = checked(F, 2);
        if (length(v) != k || length(F) != k || length(F, 1) != k)
            throw nb::value_error("v and F have the wrong shape");
        forecaster_->push(row, step, factor, weight);
    }

    /// Takes over what a smaller model of the same kind has learned.
    void adopt(Model& other) {
        Use use(*this), other_use(other);
        const AnyForecaster<Outcome>&mine = *forecaster_, &theirs = *other.forecaster_;
        if (typeid(mine) != typeid(theirs)) throw nb::type_error("a model of another kind");
        forecaster_->adopt(theirs);
    }

    long steps() const { return forecaster_->steps(); }
    double largest_square() const { return largest_; }

    Saved state() {
        Use use(*this);
        return all();
    }

    /// All or nothing: when something does not fit, the model is as it was before.
    void restore(const Saved& state) {
        Use use(*this);
        if (!forecaster_->may_be_restored())
            throw nb::value_error("a state of this kind can only be restored into a new model");
        const nb::dict before = all();
        try {
            visit(LoadingCounters(state));
            if (!forecaster_->counters_are_valid())
                throw nb::value_error("the saved state's counters do not fit this model");
            visit(LoadingArrays(state, false));
            read_arrays(state);
            if (!forecaster_->contents_are_valid())
                throw nb::value_error("the saved state's contents do not fit this model");
        } catch (...) {
            visit(LoadingCounters(before));
            read_arrays(before);
            throw;
        }
    }

   protected:
    /// A row that was checked before, and is not too large.
    const double* checked_row(nb::handle x) const {
        const double* row = checked(x);
        if (length(x) != d_) throw nb::value_error("x has the wrong shape");
        check_size(row, 1, "x");
        return row;
    }

    template <class F>
    Array<> filled(std::initializer_list<long> shape, F&& fill) {
        nb::object out = new_array(shape);
        double* p = data(out);
        WithoutGil without_gil;
        fill(p);
        return out;
    }

   private:
    /// BLAS has threads for products of some size, and gains by them if they are large. A mixture
    /// shares its work in another way: its bits are not to depend on the threads of BLAS.
    static bool is_disturbed_by_threads_of_blas(const AnyForecaster<Outcome>& forecaster) {
        constexpr double some = 4e3, large = 1e7;  // multiplications of a step
        if (dynamic_cast<const AnyMixture<Outcome>*>(&forecaster)) return true;
        return forecaster.cost() > some && forecaster.cost() < large;
    }

    /// Threads that share a table of n rows. If nobody has said how many, there is one for steps
    /// that are short.
    long threads_for(long n) const {
        constexpr double enough = 5e5;  // multiplications of a step
        if (n <= forecaster_->block()) return 1;
        if (const long threads = forecaster_->threads()) return threads;
        return forecaster_->cost() > enough ? BlasThreads::usual() : 1;
    }

    nb::dict all() {
        nb::dict out;
        visit(Saving(out));
        return out;
    }
    void visit(Visitor&& visitor) { forecaster_->visit(visitor); }
    void read_arrays(const nb::dict& state) {
        forecaster_->clear();
        visit(LoadingArrays(state, true));
        forecaster_->forget_reading();
    }

    Outcome outcome_from(nb::handle y) const {
        if constexpr (!of_labels) {
            const double value = PyFloat_Check(y.ptr()) ? PyFloat_AsDouble(y.ptr())
                                                        : std::numeric_limits<double>::quiet_NaN();
            return std::isfinite(value) ? value : nb::cast<double>(validated("target", y));
        } else {
            const long K = outputs_;
            long label = -1;
            if (PyLong_CheckExact(y.ptr()) || PyArray_IsScalar(y.ptr(), Integer)) {
                label = PyNumber_AsSsize_t(y.ptr(), nullptr);
                if (label == -1) PyErr_Clear();
            }
            return label >= 0 && label < K ? label : nb::cast<long>(validated("label", y, K));
        }
    }

    const double* plain_row(nb::handle x) const {
        if (!is_plain(x, 1) || length(x) != d_) return nullptr;
        const double* row = data(x);
        return square_of(row, d_) <= largest_ ? row : nullptr;  // false for NaN, too
    }

    nb::object predict_row(const double* row) {
        nb::object out = new_array({outputs_});
        double* p = data(out);
        released([&] { forecaster_->predict(row, p); });
        check_forecasts(p, 1, outputs_);
        return out;
    }

    /// The last line of defence: parameters, inputs or a file may be so extreme that there is no
    /// forecast in double precision. Deviations may be infinite.
    void check_forecasts(const double* p, long n, long width) const {
        if (!are_finite(p, n, width, of_labels ? outputs_ : 1))
            throw std::domain_error(
                "the forecast is not a finite number in double precision: the input or what was "
                "learned is too large");
    }

    /// Refuses inputs that are finite but too large for the state.
    void check_size(const double* X, long n, const char* name) const {
        const long t = first_too_large(X, n, d_, largest_);
        if (t == n) return;
        char text[256];
        std::snprintf(text, sizeof text,
                      "%s%s%ld%s is too large: |x|^2 is %.3g, and double precision allows at most "
                      "%.3g; scale the inputs",
                      name, n > 1 ? "[" : " (row ", t, n > 1 ? "]" : ")", square_of(X + t * d_, d_),
                      largest_);
        throw nb::value_error(text);
    }

    long D() const { return forecaster_->predictions() * forecaster_->features(); }

    /// Rows between two looks for Ctrl-C: some 10 ms of work, in whole blocks.
    long slice_rows() const {
        const double rows = std::min(1024.0, 2e8 / (forecaster_->cost() + 1e4));
        return std::max(1L, long(rows) / forecaster_->block()) * forecaster_->block();
    }

    /// f(first, count) over n rows without the GIL, with a look for Ctrl-C after each slice.
    template <class F>
    void in_slices(long n, F&& f) {
        for (long t = 0; t < n; t += slice_) {
            {
                WithoutGil without_gil;
                f(t, std::min(slice_, n - t));
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
    }

    /// Runs f without the GIL where the step is long enough to be worth it.
    template <class F>
    void released(F&& f) {
        if (!long_step_) return f();
        WithoutGil without_gil;
        f();
    }

    std::unique_ptr<AnyForecaster<Outcome>> forecaster_;
    long d_;        // numbers in an input
    long outputs_;  // numbers in a forecast
    bool long_step_;
    long slice_;      // rows between two looks for Ctrl-C
    double largest_;  // of |x|^2
};

// What rows go through one by one is compiled for each level, in model.cpp. (Where it was
// compiled once, for all levels, single rows took 15% more time on v3.)
extern template nb::object Model<long>::predict(nb::handle);
extern template Array<> Model<long>::run(Array<>, Array<long>, Array<>);
extern template void Model<long>::learn(nb::handle, nb::handle, nb::handle);
extern template nb::object Model<double>::predict(nb::handle);
extern template Array<> Model<double>::run(Array<>, Array<>, Array<>);
extern template void Model<double>::learn(nb::handle, nb::handle, nb::handle);

}  // namespace MIXABLE_ISA
