// The protocol of one event, compiled: scale its input by what was learned before, predict, learn
// if there is a label, then let the scaler learn it. mixable/learner does the same for single rows
// and tables.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "scaler.hpp"

namespace MIXABLE_ISA {

/// Learns one row x; z is work space for its scaled form, which `learn` is given. One of weight 0
/// the scaler does not learn.
template <class Learn>
void learn_one(Scaler& scaler, const double* x, double weight, double* z, Learn&& learn) {
    scaler.transform(x, z);
    learn(z);
    if (weight > 0) scaler.learn(x, z);
}

/// What became of a stream: how many rows were done, and why not all; empty if all were.
struct Followed {
    long done = 0;
    std::string reason{};
};

/// Predicts the n rows of X (NaN for what is missing) one after the other; row t of `out` is its
/// forecast, and those with a label y >= 0 are learned before the next. The
/// two checks throw for an input that is too large and for a forecast that is not finite. Stops
/// before the first row that is refused. The bits do not depend on how rows are spread over calls.
template <class Forecaster, class CheckInput, class CheckForecast>
Followed follow(Forecaster& forecaster, Scaler& scaler, const double* X, const long* y, long n,
                double* out, CheckInput&& check_input, CheckForecast&& check_forecast) {
    std::vector<double> z(std::size_t(scaler.views * scaler.width));
    Followed followed;
    try {
        for (; followed.done < n; ++followed.done) {
            const double* x = X + followed.done * scaler.d;
            scaler.transform(x, z.data());
            check_input(z.data());
            double* p = out + followed.done * forecaster.outputs();
            forecaster.predict(z.data(), p);
            check_forecast(p);
            if (y[followed.done] < 0) continue;
            forecaster.learn(z.data(), y[followed.done], 1.0);
            scaler.learn(x, z.data());
        }
    } catch (const std::exception& error) {
        forecaster.forget_reading();
        followed.reason = error.what();
    }
    return followed;
}

}  // namespace MIXABLE_ISA
