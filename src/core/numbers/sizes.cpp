// Checks of numbers, for one instruction set.
#include "sizes.hpp"

#include <cmath>

#include "symmetric.hpp"

namespace MIXABLE_ISA {

double square_of(const double* x, long n) { return squared_norm(x, n); }
long first_too_large(const double* X, long n, long d, double most) {
    long t = 0;
    while (t < n && squared_norm(X + t * d, d) <= most) ++t;
    return t;
}
bool are_finite(const double* rows, long n, long width, long numbers) {
    for (long t = 0; t < n; ++t)
        for (long j = 0; j < numbers; ++j)
            if (!std::isfinite(rows[t * width + j])) return false;
    return true;
}

}  // namespace MIXABLE_ISA
