// The protocol of one event, compiled: scale its input by what was learned before, predict, learn
// if there is a label, then let the scaler learn it. mixable/learner does the same for single rows
// and tables. Callers that are compiled once for all builds have these functions from follow.cpp,
// which is compiled for each: so all of a build scale rows to the same bits.
#pragma once

#include <functional>
#include <string>

#include "any_forecaster.hpp"
#include "scaler.hpp"

namespace MIXABLE_ISA {

/// |x|^2 of n numbers.
double square_of(const double* x, long n);
/// The first of n rows of d numbers whose |x|^2 is not at most `most`; n if there is none.
long first_too_large(const double* X, long n, long d, double most);
/// Whether the first numbers of n rows are finite.
bool are_finite(const double* rows, long n, long width, long numbers);

/// z is the row x, scaled as if it were the next; `learn_scale` learns it, too.
void scale(const Scaler& scaler, const double* x, double* z);
void learn_scale(Scaler& scaler, const double* x, double* z);

/// What became of a stream: how many steps were done, and why not all; empty if all were.
struct Followed {
    long done = 0;
    std::string reason{};
};

/// Takes n steps, one after the other. Step t is with row order[t] of X (NaN for what is missing):
/// it is predicted, to row t of `out`, and learned if it has a label y >= 0. If order[t] is
/// negative, the label of row -1 - order[t] has come: it is learned as it was scaled for its
/// forecast, which is that row of Z; those that are predicted are written there, if Z is not null.
/// The two checks throw for an input that is too large and for a forecast that is not finite. Stops
/// before the first step that is refused. The bits do not depend on how steps are spread over
/// calls.
Followed follow(AnyForecaster<long>& forecaster, Scaler& scaler, const double* X, const long* order,
                const long* y, long n, double* Z, double* out,
                const std::function<void(const double*)>& check_input,
                const std::function<void(const double*)>& check_forecast);

}  // namespace MIXABLE_ISA
