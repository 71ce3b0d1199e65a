// Who shares the work of a call: threads of ours, those of BLAS, or nobody.
#pragma once

#include "blas_threads.hpp"
#include "core/any_forecaster.hpp"

namespace MIXABLE_ISA {

/// BLAS has threads for products of some size, and gains by them if they are large. A mixture
/// shares its work in another way: its bits are not to depend on the threads of BLAS.
template <class Outcome>
bool is_disturbed_by_threads_of_blas(const AnyForecaster<Outcome>& forecaster) {
    constexpr double some = 4e3, large = 1e7;  // multiplications of a step
    if (dynamic_cast<const AnyMixture<Outcome>*>(&forecaster)) return true;
    return forecaster.cost() > some && forecaster.cost() < large;
}

/// Threads that share a table of n rows. If nobody has said how many, there is one for steps that
/// are short.
template <class Outcome>
long threads_for(const AnyForecaster<Outcome>& forecaster, long n) {
    constexpr double enough = 5e5;  // multiplications of a step
    if (n <= forecaster.block()) return 1;
    if (const long threads = forecaster.threads()) return threads;
    return forecaster.cost() > enough ? BlasThreads::usual() : 1;
}

}  // namespace MIXABLE_ISA
