// Checks of numbers, for callers that are compiled once for all builds: sizes.cpp is compiled for
// each.
#pragma once

namespace MIXABLE_ISA {

/// |x|^2 of n numbers.
double square_of(const double* x, long n);
/// The first of n rows of d numbers whose |x|^2 is not at most `most`; n if there is none.
long first_too_large(const double* X, long n, long d, double most);
/// Whether the first numbers of n rows are finite.
bool are_finite(const double* rows, long n, long width, long numbers);

}  // namespace MIXABLE_ISA
