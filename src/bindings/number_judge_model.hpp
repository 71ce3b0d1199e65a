// The judge of experts of numbers as a Python object.
#pragma once

#include "core/pool/number_judge.hpp"
#include "saved.hpp"
#include "use.hpp"

namespace MIXABLE_ISA {

class NumberJudgeModel : public OneUser {
   public:
    NumberJudgeModel(long experts, long first, double least_gain)
        : core_(checked_count(experts, 1000), checked_count(first, experts), 1e-3, least_gain) {}
    NumberJudge& core() { return core_; }
    Array<> predict(Array<> X) {
        Use use(*this, Job::predict);
        return each(X, 2, [&](long, double* out) { core_.forecast(out); });
    }
    Array<> components(Array<> X) {
        Use use(*this, Job::predict);
        return each(X, 4 * core_.parts(), [&](long, double* out) { core_.components(out); });
    }
    Array<> interval(Array<> X, double probability) {
        Use use(*this, Job::predict);
        return each(X, 2, [&](long, double* out) { core_.interval(probability, out); });
    }
    Array<> weights(Array<> X) {
        Use use(*this, Job::predict);
        return each(X, core_.all, [&](long, double* out) { core_.weights(out); });
    }
    Array<> expert_weights() {
        Use use(*this);
        nb::object out = new_array({core_.N});
        core_.expert_weights(data(out));
        return out;
    }
    Array<> run(Array<> X, Array<> y_, Array<> weight_) {
        Use use(*this);
        const double *y = checked(y_), *weight = weight_.is_none() ? y : checked(weight_);
        if (length(y_) != length(X) || (!weight_.is_none() && length(weight_) != length(y_)))
            throw nb::value_error("X, y and weight do not go together");
        return each(X, 3, [&](long t, double* out) {
            core_.forecast(out);
            core_.learn(y[t], weight_.is_none() ? 1.0 : weight[t]);
            out[2] = core_.score();
        });
    }
    long steps() const { return core_.steps(); }
    const std::vector<long>& active() const { return core_.activity().active(); }
    void set_active(long e, bool active) {
        Use use(*this);
        core_.activity().set_active(e, active);
    }
    void review() {
        Use use(*this);
        core_.review();
    }
    Saved state() {
        Use use(*this);
        return saved_of(core_);
    }
    /// All or nothing: when something does not fit, it is as it was before.
    void restore(const Saved& state) {
        const nb::dict before = this->state();
        Use use(*this);
        try {
            load(core_, state);
            if (!core_.is_valid())
                throw nb::value_error("the saved state's contents do not fit this model");
        } catch (...) {
            load(core_, before);
            throw;
        }
    }

   private:
    static long checked_count(long n, long most) {
        if (n < 1 || n > most) throw nb::value_error("there is no such pool of experts");
        return n;
    }
    template <class F>
    Array<> each(nb::handle X, long columns, F&& f) {
        const double* x = checked(X, 2);
        if (length(X, 1) != core_.N) throw nb::value_error("X has the wrong number of columns");
        nb::object out = new_array({length(X), columns});
        for (long t = 0; t < length(X); ++t) {
            core_.read(x + t * core_.N);
            f(t, data(out) + t * columns);
        }
        return out;
    }
    NumberJudge core_;
};

}  // namespace MIXABLE_ISA
