// A mixture of posteriors as a Python object.
#pragma once

#include "model.hpp"

namespace MIXABLE_ISA {

template <class Outcome>
class EnsembleModel : public Model<Outcome> {
   public:
    using Model<Outcome>::Model;

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

   private:
    using Mixture = AnyMixture<Outcome>;
    Mixture& core() { return static_cast<Mixture&>(this->forecaster()); }
    const Mixture& core() const { return static_cast<const Mixture&>(this->forecaster()); }
};

}  // namespace MIXABLE_ISA
