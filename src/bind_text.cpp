// Text as Python objects: lines of CSV, and cells of records.
#include "bindings.hpp"
#include "grid.hpp"

namespace MIXABLE_ISA {
namespace {

void bind_events(nb::module_& m) {
    nb::class_<CsvParser>(m, "CsvParser", "Lines of CSV to numbers; see core/csv.hpp.")
        .def(nb::init<std::vector<long>, std::vector<std::string>>(), nb::arg("roles"),
             nb::arg("names"),
             nb::sig("def __init__(self, roles: list[int], names: list[str]) -> None"))
        .def("parse", &parse_block, nb::arg("block"), nb::arg("begin"), nb::arg("end"),
             nb::arg("most"), nb::arg("longest_id"),
             nb::sig("def parse(self, block: bytes, begin: int, end: int, most: int, longest_id: "
                     "int) -> tuple[NDArray[np.float64], list[str | None], list[str "
                     "| None], "
                     "NDArray[np.int64], NDArray[np.int64], list[tuple[int, int, str]], int, int]"),
             "At most `most` lines that are not blank: features, labels, ids, where each line "
             "begins, its number from 0; (number, begin, reason) of those "
             "refused; where to go on, how many lines were passed.");
    m.def("format_rows", &format_rows, nb::arg("P"), nb::arg("heads"), nb::arg("separators"),
          nb::arg("end"),
          nb::sig("def format_rows(P: NDArray[np.float64], heads: list[bytes], separators: "
                  "list[str], end: str) -> bytes"),
          "Row t is heads[t], then separators[j] and P[t, j] for each j, then `end`.");
}

}  // namespace

void bind_text(nb::module_& m) {
    bind_events(m);
    bind_records(m);
    bind_grid(m);
}

}  // namespace MIXABLE_ISA
