// What the forecasters of sparse rows share as Python objects: rows as arrays, saved slots.
#pragma once

#include <memory>

#include "core/sparse/sparse_table.hpp"
#include "saved.hpp"
#include "use.hpp"

// The name of each build is in those of its types: nanobind knows them by name.
namespace MIXABLE_ISA {

/// Rows as three arrays: those of row t are entries start[t] to start[t + 1].
class SparseRows {
   public:
    SparseRows(nb::handle start, nb::handle keys, nb::handle values) : SparseRows(keys, values) {
        n = length(start) - 1;
        start_ = checked<long>(start);
        bool fits = n >= 0 && start_[0] == 0 && start_[n] == size_;
        for (long t = 0; fits && t < n; ++t) fits = start_[t] <= start_[t + 1];
        if (!fits) throw nb::value_error("the starts of the rows do not go with their entries");
    }
    /// One row.
    SparseRows(nb::handle keys, nb::handle values)
        : keys_(checked<std::uint64_t>(keys)), values_(checked(values)), size_(length(keys)) {
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

/// Adds slots to a state.
inline void save(const Slots& slots, nb::dict& out) {
    const long n = slots.size(), width = slots.width();
    const auto keys = new_array<std::uint64_t>({n});
    const auto values = new_array<float>({n, width});
    std::copy_n(slots.keys(), n, data<std::uint64_t>(keys));
    for (long i = 0; i < n; ++i) std::copy_n(slots.slot(i), width, data<float>(values) + i * width);
    out["keys"] = keys;
    out["slots"] = values;
}

/// The keys and slots (n + `more`, width) of a state.
struct SavedSlots {
    SavedSlots(const nb::dict& state, long width, long more = 0)
        : keys_(state["keys"]),
          values_(state["slots"]),
          keys(checked<std::uint64_t>(keys_)),
          n(length(keys_)) {
        if (!is_plain<float>(values_, 2) || length(values_) != n + more || n > Slots::largest ||
            length(values_, 1) != width)
            throw nb::value_error("the saved slots do not fit this model");
        values = data<float>(values_);
    }
    const nb::object keys_, values_;
    const std::uint64_t* keys;
    long n;
    const float* values;
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

    Array<std::uint64_t> keys() {
        Use use(*this);
        return copied_keys();
    }

    Saved state() {
        Use use(*this);
        nb::dict out = saved_of(*core_);
        out["keys"] = copied_keys();
        nb::object slots = new_array<float>({features() + 1, core_->table().shape.width()});
        core_->table().copy_slots(data<float>(slots));
        out["slots"] = slots;
        return out;
    }

    /// All or nothing: when something does not fit, the model is as it was before.
    void restore(const Saved& state) {
        Use use(*this);
        auto fresh = std::make_unique<Core>(core_->empty());
        SparseTable& table = fresh->table();
        const SavedSlots slots(state, table.shape.width(), 1);
        load(*fresh, state);
        if (!table.restore_slots(slots.keys, slots.values, slots.n) || !fresh->is_valid())
            throw nb::value_error("the saved state's contents do not fit this model");
        core_ = std::move(fresh);
    }

   protected:
    std::unique_ptr<Core> core_;

   private:
    Array<std::uint64_t> copied_keys() const {
        auto out = new_array<std::uint64_t>({features()});
        std::copy_n(core_->table().keys(), features(), data<std::uint64_t>(out));
        return out;
    }
};

/// What they show of their table, and of all that was learned.
template <class M>
void bind_slots(nb::class_<M>& model) {
    model.def_prop_ro("steps", &M::steps, "Examples learned.")
        .def_prop_ro("features", &M::features, "Keys that have slots of their own.")
        .def_prop_ro("most_features", &M::most_features, "How many there can be.")
        .def_prop_ro("collisions", &M::collisions,
                     "How often a feature was learned in the slot of another.")
        .def_prop_ro("bytes", &M::bytes, "Bytes that the slots, the keys and their table take.");
    bind_saved(model);
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
