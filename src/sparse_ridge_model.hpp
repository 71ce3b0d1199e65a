// Regressions on sparse features of records, as a Python object.
#pragma once

#include <memory>

#include "core/scaler.hpp"
#include "core/shapes.hpp"
#include "core/sparse_ridge.hpp"
#include "sparse_model.hpp"

namespace MIXABLE_ISA {

class SparseRidgeModel : public OneUser {
   public:
    SparseRidgeModel(const std::vector<std::tuple<double, double>>& grid, long most) {
        std::vector<RidgeSetting> settings;
        for (const auto& [lam, b] : grid) settings.push_back({lam, b});
        if (settings.empty()) throw nb::value_error("there must be settings");
        ridge_ = std::make_unique<SparseRidge>(settings, most);
    }

    /// Rows (n, S + 2 + d): what the regressions say of each record, then its numbers, scaled, each
    /// as if it were the next.
    nb::object predict(Scaler& scaler, const Shapes& shapes, nb::handle X, nb::handle features) {
        Use use(*this, Job::predict);
        const Table table(scaler, X, features);
        return each(table, scaler, shapes, [](long, const SparseRow&) {});
    }

    /// The same of records one after the other: each is learned before the next.
    nb::object run(Scaler& scaler, const Shapes& shapes, nb::handle X, nb::handle features,
                   nb::handle y_, nb::handle weight_) {
        Use use(*this);
        const Table table(scaler, X, features);
        const double* y = plain<double>(y_, NPY_DOUBLE, "float64");
        const double* weight =
            weight_.is_none() ? nullptr : plain<double>(weight_, NPY_DOUBLE, "float64");
        if (length(y_) != table.n || (weight && length(weight_) != table.n))
            throw nb::value_error("records, y and weight do not go together");
        for (long t = 0; t < table.n; ++t) {
            if (!(std::fabs(y[t]) <= 1e100)) throw nb::value_error("y is out of range");
            if (weight && !(weight[t] >= 0 && weight[t] <= 1e12))
                throw nb::value_error("a weight must be between 0 and 1e12");
        }
        return each(table, scaler, shapes, [&](long t, const SparseRow& row) {
            const double w = weight ? weight[t] : 1.0;
            ridge_->learn(row, y[t], w);
            if (w > 0) scaler.learn(table.x + t * scaler.d, scaled_.data());
        });
    }

    long steps() const { return ridge_->steps(); }
    long features() const { return ridge_->features(); }
    long most_features() const { return ridge_->most_features(); }
    long collisions() const { return ridge_->collisions(); }
    double bytes() const { return ridge_->bytes(); }

    nb::dict state() {
        Use use(*this);
        nb::dict out;
        Saving saving(out);
        ridge_->visit(saving);
        const long n = ridge_->features();
        nb::object keys = array(NPY_ULONG, {n}), slots = array(NPY_FLOAT, {n + 1, slot_width()});
        std::copy_n(ridge_->keys(), n, data<std::uint64_t>(keys));
        ridge_->copy_slots(data<float>(slots));
        out["keys"] = keys;
        out["slots"] = slots;
        return out;
    }

    /// All or nothing: when something does not fit, the model is as it was before.
    void restore(const nb::dict& state) {
        Use use(*this);
        const nb::object keys_ = state["keys"], slots = state["slots"];
        const auto* keys = plain<std::uint64_t>(keys_, NPY_ULONG, "uint64");
        const long n = length(keys_);
        auto fresh = std::make_unique<SparseRidge>(ridge_->empty());
        if (!is_plain(slots, NPY_FLOAT, 2) || length(slots) != n + 1 || n > Slots::largest ||
            length(slots, 1) != slot_width())
            throw nb::value_error("the saved slots do not fit this model");
        LoadingCounters counters(state);
        fresh->visit(counters);
        LoadingArrays arrays(state, true);
        fresh->visit(arrays);
        if (!fresh->restore_slots(keys, data<float>(slots), n) || !fresh->is_valid())
            throw nb::value_error("the saved state's contents do not fit this model");
        ridge_ = std::move(fresh);
    }

   private:
    /// Numbers (n, d); sparse features, their crosses and what is shown of the numbers, if there
    /// are any.
    struct Table {
        Table(const Scaler& scaler, nb::handle X, nb::handle features)
            : n(length(X)), x(checked(X, 2)) {
            if (length(X, 1) != scaler.d)
                throw nb::value_error("X has the wrong number of columns");
            if (features.is_none()) return;
            for (std::size_t i = 0; i < 2; ++i) {
                const nb::object rows = features[i];
                sparse[i] = std::make_unique<SparseRows>(rows[0], rows[1], rows[2]);
                if (sparse[i]->n != n)
                    throw nb::value_error("numbers and features do not go together");
            }
            const nb::bytes given = nb::cast<nb::bytes>(features[2]);
            if (!given.size()) return;
            shown.assign(std::size_t(scaler.d), shown_all);
            std::copy_n(given.c_str(), std::min(given.size(), shown.size()), shown.begin());
        }
        long n;
        const double* x;
        std::unique_ptr<SparseRows> sparse[2];
        std::vector<char> shown;  // empty: all
    };

    /// Makes the features of each record, writes what is said of it, and calls f(t, features).
    template <class F>
    nb::object each(const Table& table, Scaler& scaler, const Shapes& shapes, F&& f) {
        const long d = scaler.d, said = ridge_->outputs();
        scaled_.resize(std::size_t(scaler.views * scaler.width));
        const double* last = scaled_.data() + (long(scaled_.size()) - d);
        const char* shown = table.shown.empty() ? nullptr : table.shown.data();
        nb::object out = new_array({table.n, said + d});
        double* p = data(out);
        for (long t = 0; t < table.n; ++t, p += said + d) {
            keys_.clear();
            values_.clear();
            for (std::size_t i = 0; i < 2; ++i) {
                const bool wanted = i == 0 ? shapes.takes_features : shapes.takes_crosses;
                if (!wanted || !table.sparse[i]) continue;
                const SparseRow row = (*table.sparse[i])[t];
                keys_.insert(keys_.end(), row.keys, row.keys + row.nnz);
                values_.insert(values_.end(), row.values, row.values + row.nnz);
            }
            const double* x = table.x + t * d;
            scaler.transform(x, scaled_.data());
            shapes.add(x, last, d, shown, keys_, values_);
            const SparseRow row{keys_.data(), values_.data(), long(keys_.size())};
            ridge_->predict(row, p);
            std::copy_n(last, d, p + said);
            f(t, row);
        }
        return out;
    }

    long slot_width() const { return ridge_->slot_width(); }
    static nb::object array(int type, std::initializer_list<npy_intp> shape) {
        PyObject* a =
            PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp*>(shape.begin()), type);
        if (!a) throw nb::python_error();
        return nb::steal(a);
    }

    std::unique_ptr<SparseRidge> ridge_;
    std::vector<double> scaled_, values_;
    std::vector<std::uint64_t> keys_;
};

}  // namespace MIXABLE_ISA
