// Rows of answers as Python objects, and what all text shares.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "core/text/csv.hpp"

namespace MIXABLE_ISA {
namespace {  // one translation unit includes this

/// A str, or None for an empty one; what is not UTF-8 has been refused before.
nb::object text_or_none(std::string_view text) {
    return text.empty() ? nb::none() : nb::object(nb::str(text.data(), text.size()));
}

/// Why a line is not text; null if it is.
const char* not_text(std::string_view line) {
    unsigned char high = 0;
    bool zero = false;
    for (const char c : line) high |= static_cast<unsigned char>(c), zero |= c == 0;
    if (zero) return "a NUL byte";
    if (high < 0x80) return nullptr;
    PyObject* decoded = PyUnicode_DecodeUTF8(line.data(), Py_ssize_t(line.size()), nullptr);
    if (!decoded) PyErr_Clear();
    Py_XDECREF(decoded);
    return decoded ? nullptr : "not UTF-8";
}

/// Row t is heads[t], then separators[j] and P[t, j] for each j, then `end`.
nb::bytes format_rows(Array<> P, const nb::typed<nb::list, nb::bytes>& heads,
                      const std::vector<std::string>& separators, const std::string& end) {
    const double* p = checked(P, 2);
    const auto n = length(P), columns = length(P, 1);
    if (npy_intp(heads.size()) != n || npy_intp(separators.size()) != columns)
        throw nb::value_error("P, heads and separators do not go together");
    std::string out;
    for (npy_intp t = 0; t < n; ++t) {
        const auto head = nb::cast<nb::bytes>(heads[std::size_t(t)]);
        out.append(head.c_str(), head.size());
        for (npy_intp j = 0; j < columns; ++j) {
            out += separators[std::size_t(j)];
            append_number(out, p[t * columns + j]);
        }
        out += end;
    }
    return nb::bytes(out.data(), out.size());
}

}  // namespace
}  // namespace MIXABLE_ISA
