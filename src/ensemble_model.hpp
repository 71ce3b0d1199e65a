// A mixture of posteriors as a Python object.
#pragma once

#include "core/forecasters.hpp"
#include "model.hpp"

namespace MIXABLE_ISA {

template <class Family>
class EnsembleModel : public ModelOf<Ensemble<Family>> {
   public:
    using Base = ModelOf<Ensemble<Family>>;
    using Base::Base;
    using Base::core;

    /// The trust in each expert, and whether it is awake: two rows.
    nb::object weights() {
        const OneUser::Use use(*this);
        const long n = core().experts();
        nb::object out = new_array({2, n});
        core().weights(data(out), data(out) + n);
        return out;
    }

    /// The readings of x by the experts that are awake, one row each, after their weight.
    nb::object components(nb::handle x) {
        const OneUser::Use use(*this);
        const double* row = this->checked_row(x);
        const long width = core().reading_width() + 1;
        Buffer rows(core().experts() * width);
        const long n = core().components(row, rows);
        nb::object out = new_array({n, width});
        copy(rows, n * width, data(out));
        return out;
    }

    double scale() const { return core().scale(); }
    double score() const { return core().score(); }
    double seconds() const { return core().seconds(); }
};

}  // namespace MIXABLE_ISA
