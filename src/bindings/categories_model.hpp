// What makes columns of the categories of records, as a Python object.
#pragma once

#include "core/inputs/categories.hpp"
#include "slot_model.hpp"

namespace MIXABLE_ISA {

class CategoriesModel : public OneUser {
   public:
    explicit CategoriesModel(long classes) : core_(made(classes)) {}

    /// To be used while a `Use` lives.
    Categories& core() { return *core_; }

    long given() const { return core_->given(); }
    long values() const { return core_->values(); }
    long most_known() const { return core_->most_slots(); }
    void hold() {
        Use use(*this);
        core_->hold();
    }
    Array<std::uint64_t> indicators() {
        Use use(*this);
        return array_of(core_->indicators());
    }
    Array<> make(Array<std::uint64_t> keys) {
        Use use(*this, Job::predict);
        const auto* own = checked<std::uint64_t>(keys);
        nb::object out = new_array({core_->width()});
        core_->make(own, length(keys), data(out));
        return out;
    }
    void learn(Array<std::uint64_t> keys, long y, double weight) {
        Use use(*this);
        const auto* own = checked<std::uint64_t>(keys);
        if (core_->K && !(y >= 0 && y < core_->K)) throw nb::value_error("there is no such class");
        core_->learn(own, length(keys), y, weight);
    }
    void adopt(CategoriesModel& other) {
        Use use(*this), other_use(other);
        if (other.core_->K > core_->K || (core_->K && !other.core_->K))
            throw nb::value_error("there are fewer classes");
        auto fresh = made(core_->K);
        fresh->adopt(*other.core_);
        core_ = std::move(fresh);
    }

    Saved state() {
        Use use(*this);
        nb::dict out;
        save(core_->slots(), out);
        out["totals"] = array_of(core_->totals());
        out["values"] = array_of(core_->column_values());
        return out;
    }
    /// All or nothing: when something does not fit, it is as it was before.
    void restore(const Saved& state) {
        Use use(*this);
        const nb::object totals = state["totals"], values = state["values"];
        auto fresh = made(core_->K);
        const SavedSlots slots(state, fresh->slots().width());
        if (length(totals) != long(fresh->totals().size()) ||
            !fresh->restore(slots.keys, slots.values, slots.n, checked(totals), checked(values),
                            length(values)))
            throw nb::value_error("the saved categories do not fit this model");
        core_ = std::move(fresh);
    }

   private:
    static std::unique_ptr<Categories> made(long classes) {
        if (classes != 0 && !(classes >= 2 && classes <= 1'000'000))
            throw nb::value_error("there are no such classes");
        return std::make_unique<Categories>(classes);
    }

    std::unique_ptr<Categories> core_;
};

}  // namespace MIXABLE_ISA
