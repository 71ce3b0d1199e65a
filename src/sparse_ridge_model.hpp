// Regressions on sparse features of records, as a Python object.
#pragma once

#include "core/sparse_ridge.hpp"
#include "slot_model.hpp"

namespace MIXABLE_ISA {

class SparseRidgeModel : public SlotModel<SparseRidge> {
   public:
    SparseRidgeModel(const std::vector<std::tuple<double, double>>& grid, long most)
        : SlotModel(std::make_unique<SparseRidge>(settings_of<RidgeSetting>(grid), most)) {}
};

}  // namespace MIXABLE_ISA
