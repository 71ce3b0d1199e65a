// Text as Python objects: lines of CSV, and cells of records.
#include "grid.hpp"
#include "module.hpp"

namespace MIXABLE_ISA {
namespace {

void bind_events(nb::module_& m) {
    m.def("format_rows", &format_rows, nb::arg("P"), nb::arg("heads"), nb::arg("separators"),
          nb::arg("end"),
          "Row t is heads[t], then separators[j] and P[t, j] for each j, then `end`.");
}

}  // namespace

void bind_text(nb::module_& m) {
    bind_events(m);
    bind_records(m);
    bind_grid(m);
}

}  // namespace MIXABLE_ISA
