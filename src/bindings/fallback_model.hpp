// The fallback of a pool as a Python object.
#pragma once

#include "core/pool/fallback.hpp"
#include "slot_model.hpp"

namespace MIXABLE_ISA {

class FallbackModel : public OneUser {
   public:
    FallbackModel(long d, long K, long most, double lam, double beta)
        : most_(most), lam_(lam), beta_(beta), core_(made(d, K)) {}

    /// To be used while a `Use` lives.
    Fallback& core() { return *core_; }

    long most_features() const { return core_->bets().most(); }

    nb::object expert_weights() {
        Use use(*this);
        nb::object out = new_array({Fallback::members});
        core_->expert_weights(data(out));
        return out;
    }

    void adopt(FallbackModel& other) {
        Use use(*this), other_use(other);
        core_->adopt(*other.core_);
    }

    nb::dict state() {
        Use use(*this);
        nb::dict out;
        Saving saving(out);
        core_->visit(saving);
        const Slots& slots = core_->bets().slots();
        const long n = slots.size(), width = slots.width();
        const nb::object keys = new_array({n}, NPY_ULONG),
                         values = new_array({n, width}, NPY_FLOAT);
        std::copy_n(slots.keys(), n, data<std::uint64_t>(keys));
        for (long i = 0; i < n; ++i)
            std::copy_n(slots.slot(i), width, data<float>(values) + i * width);
        out["keys"] = keys;
        out["slots"] = values;
        return out;
    }

    /// All or nothing: when something does not fit, it is as it was before.
    void restore(const nb::dict& state) {
        Use use(*this);
        const nb::object keys_ = state["keys"], values = state["slots"];
        const auto* keys = plain<std::uint64_t>(keys_, NPY_ULONG, "uint64");
        const long n = length(keys_);
        std::unique_ptr<Fallback> fresh = made(core_->d, core_->K);
        if (!is_plain(values, NPY_FLOAT, 2) || length(values) != n ||
            length(values, 1) != fresh->bets().slots().width())
            throw nb::value_error("the saved slots do not fit this model");
        LoadingCounters counters(state);
        fresh->visit(counters);
        LoadingArrays arrays(state, true);
        fresh->visit(arrays);
        if (!fresh->bets().restore_slots(keys, data<float>(values), n) || !fresh->is_valid())
            throw nb::value_error("the saved state's contents do not fit this model");
        core_ = std::move(fresh);
    }

   private:
    std::unique_ptr<Fallback> made(long d, long K) const {
        if (!(d >= 0 && K >= 2 && most_ >= 0 && lam_ >= 0 && beta_ >= 0))
            throw nb::value_error("there is no such fallback");
        return std::make_unique<Fallback>(d, K, most_, lam_, beta_);
    }

    const long most_;
    const double lam_, beta_;
    std::unique_ptr<Fallback> core_;
};

}  // namespace MIXABLE_ISA
