// What the forecasters of sparse rows share as Python objects: rows as arrays, saved slots.
#pragma once

#include <memory>

#include "core/sparse/sparse_table.hpp"
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

/// A forecaster on a table of features.
template <class Core>
class SlotModel : public OneUser {
   public:
    explicit SlotModel(std::unique_ptr<Core> core) : core_(std::move(core)) {}

    /// To be used while a `Use` lives.
    Core& core() { return *core_; }

    long steps() const { return core_->steps(); }
    long features() const { return core_->table().features(); }
    long most_features() const { return core_->table().most_features(); }
    long collisions() const { return core_->table().collisions(); }
    double bytes() const { return core_->table().bytes(); }

    nb::object keys() {
        Use use(*this);
        return copied_keys();
    }

    nb::dict state() {
        Use use(*this);
        nb::dict out;
        Saving saving(out);
        core_->visit(saving);
        out["keys"] = copied_keys();
        nb::object slots = new_array({features() + 1, core_->table().shape.width()}, NPY_FLOAT);
        core_->table().copy_slots(data<float>(slots));
        out["slots"] = slots;
        return out;
    }

    /// All or nothing: when something does not fit, the model is as it was before.
    void restore(const nb::dict& state) {
        Use use(*this);
        const nb::object keys_ = state["keys"], slots = state["slots"];
        const auto* keys = plain<std::uint64_t>(keys_, NPY_ULONG, "uint64");
        const long n = length(keys_);
        auto fresh = std::make_unique<Core>(core_->empty());
        SparseTable& table = fresh->table();
        if (!is_plain(slots, NPY_FLOAT, 2) || length(slots) != n + 1 || n > Slots::largest ||
            length(slots, 1) != table.shape.width())
            throw nb::value_error("the saved slots do not fit this model");
        LoadingCounters counters(state);
        fresh->visit(counters);
        LoadingArrays arrays(state, true);
        fresh->visit(arrays);
        if (!table.restore_slots(keys, data<float>(slots), n) || !fresh->is_valid())
            throw nb::value_error("the saved state's contents do not fit this model");
        core_ = std::move(fresh);
    }

   protected:
    std::unique_ptr<Core> core_;

   private:
    nb::object copied_keys() const {
        nb::object out = new_array({features()}, NPY_ULONG);
        std::copy_n(core_->table().keys(), features(), data<std::uint64_t>(out));
        return out;
    }
};

/// What they show of their table, and of all that was learned.
template <class M>
void bind_slots(nb::class_<M>& model) {
    model.def_prop_ro("steps", &M::steps, nb::sig("def steps(self, /) -> int"), "Examples learned.")
        .def_prop_ro("features", &M::features, nb::sig("def features(self, /) -> int"),
                     "Keys that have slots of their own.")
        .def_prop_ro("most_features", &M::most_features,
                     nb::sig("def most_features(self, /) -> int"), "How many there can be.")
        .def_prop_ro("collisions", &M::collisions, nb::sig("def collisions(self, /) -> int"),
                     "How often a feature was learned in the slot of another.")
        .def_prop_ro("bytes", &M::bytes, nb::sig("def bytes(self, /) -> float"),
                     "Bytes that the slots, the keys and their table take.")
        .def("state", &M::state,
             nb::sig("def state(self) -> dict[str, int | float | NDArray[Any]]"),
             "All that learning has changed; changes nothing.")
        .def("restore", &M::restore, nb::arg("state"),
             nb::sig("def restore(self, state: dict[str, int | float | NDArray[Any]]) -> None"),
             "Takes over what state() of a model of the same shape returned.");
}

/// Settings (lam, b) as Python has them.
template <class Setting>
std::vector<Setting> settings_of(const std::vector<std::tuple<double, double>>& grid) {
    std::vector<Setting> settings;
    for (const auto& [lam, b] : grid) settings.push_back({lam, b});
    if (settings.empty()) throw nb::value_error("there must be settings");
    return settings;
}

}  // namespace MIXABLE_ISA
