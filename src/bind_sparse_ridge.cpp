// Regressions on sparse features of records, as a Python object.
#include "bindings.hpp"
#include "sparse_ridge_model.hpp"

namespace MIXABLE_ISA {

void bind_sparse_ridge(nb::module_& m) {
    using M = SparseRidgeModel;
    nb::class_<M>(m, "SparseRidge", "Regressions on sparse rows; see core/sparse_ridge.hpp.")
        .def(nb::init<const std::vector<std::tuple<double, double>>&, long>(), nb::arg("grid"),
             nb::arg("max_features"),
             nb::sig("def __init__(self, grid: Sequence[tuple[float, float]], max_features: int) "
                     "-> None"))
        .def_prop_ro("steps", &M::steps, nb::sig("def steps(self, /) -> int"))
        .def_prop_ro("features", &M::features, nb::sig("def features(self, /) -> int"))
        .def_prop_ro("most_features", &M::most_features,
                     nb::sig("def most_features(self, /) -> int"))
        .def_prop_ro("collisions", &M::collisions, nb::sig("def collisions(self, /) -> int"))
        .def_prop_ro("bytes", &M::bytes, nb::sig("def bytes(self, /) -> float"))
        .def("state", &M::state, nb::sig("def state(self) -> dict[str, Any]"),
             "All that was learned, but the scale of the numbers.")
        .def("restore", &M::restore, nb::arg("state"),
             nb::sig("def restore(self, state: dict[str, Any]) -> None"),
             "Takes over what state() returned.");
}

}  // namespace MIXABLE_ISA
