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

    Array<> expert_weights() {
        Use use(*this);
        nb::object out = new_array({Fallback::members});
        core_->expert_weights(data(out));
        return out;
    }

    void adopt(FallbackModel& other) {
        Use use(*this), other_use(other);
        core_->adopt(*other.core_);
    }

    Saved state() {
        Use use(*this);
        nb::dict out = saved_of(*core_);
        save(core_->bets().slots(), out);
        return out;
    }

    /// All or nothing: when something does not fit, it is as it was before.
    void restore(const Saved& state) {
        Use use(*this);
        std::unique_ptr<Fallback> fresh = made(core_->d, core_->K);
        const SavedSlots slots(state, fresh->bets().slots().width());
        load(*fresh, state);
        if (!fresh->bets().restore_slots(slots.keys, slots.values, slots.n) || !fresh->is_valid())
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
