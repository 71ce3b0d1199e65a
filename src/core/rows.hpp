// Inputs as a state sees them.
#pragma once

#include <cstring>

namespace MIXABLE_ISA {

/// Some inputs, one row of numbers each. All that reads an input goes through here, so that a
/// sparse row can be one later.
struct Rows {
    const double* values;
    long count, stride;  // how many rows, and how far one begins after the other

    /// Copies the first d numbers of row t.
    void copy(long t, long d, double* out) const {
        std::memcpy(out, values + t * stride, std::size_t(d) * sizeof(double));
    }
    /// Whether the first row is this one, to the bit.
    bool begins_with(const double* x, long d) const {
        return std::memcmp(values, x, std::size_t(d) * sizeof(double)) == 0;
    }
};

inline Rows one_row(const double* x) { return {x, 1, 0}; }

}  // namespace MIXABLE_ISA
