// The state that a shape asks for.
#pragma once

#include <memory>

#include "blocks.hpp"
#include "diagonal.hpp"
#include "gradient.hpp"
#include "growing.hpp"
#include "rates.hpp"

namespace MIXABLE_ISA {

inline std::unique_ptr<State> make_state(const PosteriorShape& shape, const Blas& blas) {
    switch (shape.structure) {
        case Structure::full:
            return std::make_unique<Posterior>(shape, blas);
        case Structure::diagonal:
            return std::make_unique<Diagonal>(shape);
        case Structure::growing:
            return std::make_unique<Growing>(shape, blas);
        case Structure::gradient:
            return std::make_unique<GradientState>(shape.k, shape.d, shape.radius);
        case Structure::rates:
            return std::make_unique<RatesState>(shape.k, shape.d);
        default:
            return std::make_unique<Blocks>(shape, blas);
    }
}

}  // namespace MIXABLE_ISA
