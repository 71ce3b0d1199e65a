// Trees as a Python object.
#pragma once

#include "core/trees/trees.hpp"
#include "saved.hpp"
#include "use.hpp"

namespace MIXABLE_ISA {

struct NamedRowsOfTrees {
    static constexpr auto name = nb::detail::const_name("dict[str, NDArray[Any]]");
};
using RowsOfTrees = As<NamedRowsOfTrees, nb::dict>;

class TreesModel : public OneUser {
   public:
    TreesModel(long d, long C, long K) : trees_(make_trees(d, C, K)) {}

    /// To be used while a `Use` lives. A pool replaces them when there are more categories.
    std::unique_ptr<Trees>& trees() { return trees_; }
    long steps() const { return trees_->steps(); }

    /// Forecasts (n, outputs) of rows X (n, d) with keys (n, C), or None.
    Array<> predict(Array<> X, Array<std::uint64_t> keys);
    void learn(Array<> X, Array<std::uint64_t> keys, double y, double weight);
    Array<> run(Array<> X, Array<std::uint64_t> keys, Array<> y, Array<> weight);
    void finish();
    void adopt(TreesModel& other);
    Array<> gains();
    RowsOfTrees rows(long first, long most);
    void set_rows(const RowsOfTrees& rows, long steps);
    Saved state();
    void restore(const Saved& state);

   private:
    struct Table;
    std::unique_ptr<Trees> trees_;
};

}  // namespace MIXABLE_ISA
