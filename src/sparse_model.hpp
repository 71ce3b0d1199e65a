// The forecaster of sparse rows as a Python object.
#pragma once

#include <memory>

#include "core/sparse.hpp"
#include "saved.hpp"
#include "use.hpp"

// The name of each build is in those of its types: nanobind knows them by name.
namespace MIXABLE_ISA {

/// A C-contiguous array of a type, of which one is used in each place.
template <class T>
const T* plain(nb::handle x, int type, const char* what) {
    if (!is_plain(x, type, 1))
        throw nb::type_error((std::string("expected a C-contiguous array of ") + what).c_str());
    return data<T>(x);
}

/// Rows as three arrays: those of row t are entries start[t] to start[t + 1].
class SparseRows {
   public:
    SparseRows(nb::handle start, nb::handle keys, nb::handle values) : SparseRows(keys, values) {
        n = length(start) - 1;
        start_ = plain<long>(start, NPY_LONG, "int64");
        bool fits = n >= 0 && start_[0] == 0 && start_[n] == size_;
        for (long t = 0; fits && t < n; ++t) fits = start_[t] <= start_[t + 1];
        if (!fits) throw nb::value_error("the starts of the rows do not go with their entries");
    }
    /// One row.
    SparseRows(nb::handle keys, nb::handle values)
        : keys_(plain<std::uint64_t>(keys, NPY_ULONG, "uint64")),
          values_(plain<double>(values, NPY_DOUBLE, "float64")),
          size_(length(keys)) {
        if (length(values) != size_) throw nb::value_error("keys and values do not go together");
        if (!std::all_of(values_, values_ + size_, [](double x) { return std::isfinite(x); }))
            throw nb::value_error("values must be finite");
    }

    long n = 1;

    SparseRow operator[](long t) const {
        const long from = start_ ? start_[t] : 0, to = start_ ? start_[t + 1] : size_;
        return {keys_ + from, values_ + from, to - from};
    }

   private:
    const long* start_ = nullptr;
    const std::uint64_t* keys_;
    const double* values_;
    long size_;
};

class SparseModel : public OneUser {
   public:
    SparseModel(long K, const std::vector<std::tuple<double, double>>& grid,
                const std::vector<double>& alphas, double share, long most) {
        std::vector<SparseSetting> settings;
        for (const auto& [lam, b] : grid) settings.push_back({lam, b});
        sparse_ = std::make_unique<Sparse>(K, settings, alphas, share, most);
    }

    /// To be used while a `Use` lives.
    Sparse& core() { return *sparse_; }

    nb::object predict(nb::handle keys, nb::handle values) {
        Use use(*this, Job::predict);
        const SparseRows rows(keys, values);
        nb::object out = new_array({sparse_->K});
        sparse_->predict(rows[0], data(out));
        return out;
    }

    nb::object predict_many(nb::handle start, nb::handle keys, nb::handle values) {
        Use use(*this, Job::predict);
        const SparseRows rows(start, keys, values);
        return each(rows, [&](long t, double* p) { sparse_->predict(rows[t], p); });
    }

    void learn(nb::handle keys, nb::handle values, long y, double weight) {
        Use use(*this);
        const SparseRows rows(keys, values);
        check(&y, &weight, 1);
        sparse_->learn(rows[0], y, weight);
    }

    nb::object run(nb::handle start, nb::handle keys, nb::handle values, nb::handle y_,
                   nb::handle weight_) {
        Use use(*this);
        const SparseRows rows(start, keys, values);
        const long* y = plain<long>(y_, NPY_LONG, "int64");
        const double* weight =
            weight_.is_none() ? nullptr : plain<double>(weight_, NPY_DOUBLE, "float64");
        if (length(y_) != rows.n || (weight && length(weight_) != rows.n))
            throw nb::value_error("rows, y and weight do not go together");
        check(y, weight, rows.n);
        return each(rows, [&](long t, double* p) {
            sparse_->step(rows[t], y[t], weight ? weight[t] : 1.0, p);
        });
    }

    /// Means and standard deviations (2, n, K) of the weights of some keys.
    nb::object coefficients(nb::handle keys_) {
        Use use(*this);
        const auto* keys = plain<std::uint64_t>(keys_, NPY_ULONG, "uint64");
        const long n = length(keys_), K = sparse_->K;
        nb::object out = new_array({2, n, K});
        double *mean = data(out), *deviation = mean + n * K;
        for (long i = 0; i < n; ++i)
            sparse_->coefficients(keys[i], mean + i * K, deviation + i * K);
        return out;
    }
    /// The same (2, K) of the intercept.
    nb::object intercept() {
        Use use(*this);
        nb::object out = new_array({2, sparse_->K});
        sparse_->intercept(data(out), data(out) + sparse_->K);
        return out;
    }

    nb::object trust() {
        Use use(*this);
        nb::object out = new_array({sparse_->experts()});
        sparse_->trust(data(out));
        return out;
    }

    void adopt(SparseModel& other) {
        Use use(*this), other_use(other);
        sparse_->adopt(*other.sparse_);
    }

    long steps() const { return sparse_->steps(); }
    long features() const { return sparse_->features(); }
    long most_features() const { return sparse_->most_features(); }
    long collisions() const { return sparse_->collisions(); }
    double bytes() const { return sparse_->bytes(); }
    double scale() const { return sparse_->scale(); }

    nb::object keys() {
        Use use(*this);
        return copied(NPY_ULONG, {sparse_->features()}, sparse_->keys());
    }

    nb::dict state() {
        Use use(*this);
        nb::dict out;
        Saving saving(out);
        sparse_->visit(saving);
        const long n = sparse_->features();
        out["keys"] = copied(NPY_ULONG, {n}, sparse_->keys());
        nb::object slots = array(NPY_FLOAT, {n + 1, sparse_->slot_width()});
        sparse_->copy_slots(data<float>(slots));
        out["slots"] = slots;
        return out;
    }

    /// All or nothing: when something does not fit, the model is as it was before.
    void restore(const nb::dict& state) {
        Use use(*this);
        const nb::object keys_ = state["keys"], slots = state["slots"];
        const auto* keys = plain<std::uint64_t>(keys_, NPY_ULONG, "uint64");
        const long n = length(keys_);
        auto fresh = std::make_unique<Sparse>(sparse_->empty());
        if (!is_plain(slots, NPY_FLOAT, 2) || length(slots) != n + 1 || n > Slots::largest ||
            length(slots, 1) != fresh->slot_width())
            throw nb::value_error("the saved slots do not fit this model");
        LoadingCounters counters(state);
        fresh->visit(counters);
        LoadingArrays arrays(state, true);
        fresh->visit(arrays);
        if (!fresh->restore_slots(keys, data<float>(slots), n) || !fresh->is_valid())
            throw nb::value_error("the saved state's contents do not fit this model");
        sparse_ = std::move(fresh);
    }

   private:
    static nb::object array(int type, std::initializer_list<npy_intp> shape) {
        PyObject* a =
            PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp*>(shape.begin()), type);
        if (!a) throw nb::python_error();
        return nb::steal(a);
    }
    template <class T>
    static nb::object copied(int type, std::initializer_list<npy_intp> shape, const T* from) {
        nb::object out = array(type, shape);
        std::copy_n(from, *shape.begin(), data<T>(out));
        return out;
    }

    void check(const long* y, const double* weight, long n) const {
        for (long t = 0; t < n; ++t) {
            if (y[t] < 0 || y[t] >= sparse_->K) throw nb::value_error("y is out of range");
            if (weight && !(weight[t] >= 0 && std::isfinite(weight[t])))
                throw nb::value_error("weights must be finite and at least 0");
        }
    }

    /// The forecasts (n, K) that f(t, p) makes, without the GIL; now and then it looks for Ctrl-C.
    template <class F>
    nb::object each(const SparseRows& rows, F&& f) {
        const long K = sparse_->K;
        nb::object out = new_array({rows.n, K});
        double* p = data(out);
        for (long t = 0; t < rows.n;) {
            {
                WithoutGil without_gil;
                for (double work = 0; t < rows.n && work < 5e7; ++t) {
                    f(t, p + t * K);
                    work += sparse_->cost(rows[t].nnz);
                }
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
        return out;
    }

    std::unique_ptr<Sparse> sparse_;
};

}  // namespace MIXABLE_ISA
