// What the parts of the module add to it: one function for each.
#pragma once

#include "arrays.hpp"

namespace MIXABLE_ISA {

void bind_models(nb::module_& m);     // forecasters of dense rows
void bind_ensembles(nb::module_& m);  // mixtures of them
void bind_inputs(nb::module_& m);     // scaling, landmarks, shapes
void bind_pools(nb::module_& m);      // sparse rows; a judge over experts of several kinds
void bind_trees(nb::module_& m);      // boosted trees
void bind_text(nb::module_& m);       // lines of CSV, cells of records

}  // namespace MIXABLE_ISA
