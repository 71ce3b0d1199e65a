// The forecaster of sparse rows as a Python object.
#pragma once

#include "core/sparse/sparse.hpp"
#include "slot_model.hpp"

namespace MIXABLE_ISA {

class SparseModel : public SlotModel<Sparse> {
   public:
    SparseModel(long K, const std::vector<std::tuple<double, double>>& grid,
                const std::vector<double>& alphas, double share, long most)
        : SlotModel(
              std::make_unique<Sparse>(K, settings_of<SparseSetting>(grid), alphas, share, most)) {}

    Array<> predict(Array<std::uint64_t> keys, Array<> values) {
        Use use(*this, Job::predict);
        const SparseRows rows(keys, values);
        nb::object out = new_array({core_->K});
        core_->predict(rows[0], data(out));
        return out;
    }

    Array<> predict_many(Array<long> start, Array<std::uint64_t> keys, Array<> values) {
        Use use(*this, Job::predict);
        const SparseRows rows(start, keys, values);
        return each(rows, [&](long t, double* p) { core_->predict(rows[t], p); });
    }

    void learn(Array<std::uint64_t> keys, Array<> values, long y, double weight) {
        Use use(*this);
        const SparseRows rows(keys, values);
        check(&y, &weight, 1);
        core_->learn(rows[0], y, weight);
    }

    Array<> run(Array<long> start, Array<std::uint64_t> keys, Array<> values, Array<long> y_,
                Array<> weight_) {
        Use use(*this);
        const SparseRows rows(start, keys, values);
        const long* y = checked<long>(y_);
        const double* weight = weight_.is_none() ? nullptr : checked(weight_);
        if (length(y_) != rows.n || (weight && length(weight_) != rows.n))
            throw nb::value_error("rows, y and weight do not go together");
        check(y, weight, rows.n);
        return each(rows, [&](long t, double* p) {
            core_->step(rows[t], y[t], weight ? weight[t] : 1.0, p);
        });
    }

    /// Means and standard deviations (2, n, K) of the weights of some keys.
    Array<> coefficients(Array<std::uint64_t> keys_) {
        Use use(*this);
        const auto* keys = checked<std::uint64_t>(keys_);
        const long n = length(keys_), K = core_->K;
        nb::object out = new_array({2, n, K});
        double *mean = data(out), *deviation = mean + n * K;
        for (long i = 0; i < n; ++i) core_->coefficients(keys[i], mean + i * K, deviation + i * K);
        return out;
    }
    /// The same (2, K) of the intercept.
    Array<> intercept() {
        Use use(*this);
        nb::object out = new_array({2, core_->K});
        core_->intercept(data(out), data(out) + core_->K);
        return out;
    }

    Array<> expert_weights() {
        Use use(*this);
        nb::object out = new_array({core_->experts()});
        core_->expert_weights(data(out));
        return out;
    }

    void adopt(SparseModel& other) {
        Use use(*this), other_use(other);
        core_->adopt(*other.core_);
    }

    double scale() const { return core_->table().scale().mean_square(); }

   private:
    void check(const long* y, const double* weight, long n) const {
        for (long t = 0; t < n; ++t) {
            if (y[t] < 0 || y[t] >= core_->K) throw nb::value_error("y is out of range");
            if (weight && !(weight[t] >= 0 && std::isfinite(weight[t])))
                throw nb::value_error("weights must be finite and at least 0");
        }
    }

    /// The forecasts (n, K) that f(t, p) makes, without the GIL; now and then it looks for Ctrl-C.
    template <class F>
    Array<> each(const SparseRows& rows, F&& f) {
        const long K = core_->K;
        nb::object out = new_array({rows.n, K});
        double* p = data(out);
        for (long t = 0; t < rows.n;) {
            {
                WithoutGil without_gil;
                for (double work = 0; t < rows.n && work < 5e7; ++t) {
                    f(t, p + t * K);
                    work += core_->cost(rows[t].nnz);
                }
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
        return out;
    }
};

}  // namespace MIXABLE_ISA
