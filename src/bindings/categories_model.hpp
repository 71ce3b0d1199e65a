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
    nb::object indicators() {
        Use use(*this);
        const std::vector<std::uint64_t> keys = core_->indicators();
        nb::object out = new_array({npy_intp(keys.size())}, NPY_ULONG);
        std::copy(keys.begin(), keys.end(), data<std::uint64_t>(out));
        return out;
    }
    nb::object make(nb::handle keys) {
        Use use(*this, Job::predict);
        const auto* own = plain<std::uint64_t>(keys, NPY_ULONG, "uint64");
        nb::object out = new_array({core_->width()});
        core_->make(own, length(keys), data(out));
        return out;
    }
    void learn(nb::handle keys, long y, double weight) {
        Use use(*this);
        const auto* own = plain<std::uint64_t>(keys, NPY_ULONG, "uint64");
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

    nb::dict state() {
        Use use(*this);
        const Slots& slots = core_->slots();
        const long n = slots.size(), width = slots.width();
        const nb::object keys = new_array({n}, NPY_ULONG), own = new_array({n, width}, NPY_FLOAT);
        std::copy_n(slots.keys(), n, data<std::uint64_t>(keys));
        for (long i = 0; i < n; ++i)
            std::copy_n(slots.slot(i), width, data<float>(own) + i * width);
        nb::dict out;
        out["keys"] = keys;
        out["slots"] = own;
        out["totals"] = array_of(core_->totals());
        out["values"] = array_of(core_->column_values());
        return out;
    }
    /// All or nothing: when something does not fit, it is as it was before.
    void restore(const nb::dict& state) {
        Use use(*this);
        const nb::object keys_ = state["keys"], slots = state["slots"], totals = state["totals"],
                         values = state["values"];
        const auto* keys = plain<std::uint64_t>(keys_, NPY_ULONG, "uint64");
        auto fresh = made(core_->K);
        const long n = length(keys_);
        if (!is_plain(slots, NPY_FLOAT, 2) || length(slots) != n ||
            length(slots, 1) != fresh->slots().width() ||
            length(totals) != long(fresh->totals().size()) ||
            !fresh->restore(keys, data<float>(slots), n, checked(totals, 1), checked(values, 1),
                            length(values)))
            throw nb::value_error("the saved categories do not fit this model");
        core_ = std::move(fresh);
    }

   private:
    static nb::object array_of(const std::vector<double>& values) {
        nb::object out = new_array({npy_intp(values.size())});
        std::copy(values.begin(), values.end(), data(out));
        return out;
    }
    static std::unique_ptr<Categories> made(long classes) {
        if (classes != 0 && !(classes >= 2 && classes <= 1'000'000))
            throw nb::value_error("there are no such classes");
        return std::make_unique<Categories>(classes);
    }

    std::unique_ptr<Categories> core_;
};

}  // namespace MIXABLE_ISA
