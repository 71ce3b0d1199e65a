// Trees as a Python object.
#pragma once

#include "arrays.hpp"
#include "core/trees/trees.hpp"
#include "use.hpp"

namespace MIXABLE_ISA {

class TreesModel : public OneUser {
   public:
    TreesModel(long d, long C, long K) : trees_(make_trees(d, C, K)) {}

    /// To be used while a `Use` lives. A pool replaces them when there are more categories.
    std::unique_ptr<Trees>& trees() { return trees_; }
    long steps() const { return trees_->steps(); }

    /// Forecasts (n, outputs) of rows X (n, d) with keys (n, C), or None.
    nb::object predict(nb::handle X, nb::handle keys);
    void learn(nb::handle X, nb::handle keys, double y, double weight);
    nb::object run(nb::handle X, nb::handle keys, nb::handle y, nb::handle weight);
    void finish();
    void adopt(TreesModel& other);
    nb::object gains();
    nb::dict rows(long first, long most);
    void set_rows(const nb::dict& rows, long steps);
    nb::dict state();
    void restore(const nb::dict& state);

   private:
    struct Table;
    std::unique_ptr<Trees> trees_;
};

}  // namespace MIXABLE_ISA
