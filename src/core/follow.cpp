// The protocol of one event, for one instruction set.
#include "follow.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

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
void scale(const Scaler& scaler, const double* x, double* z) { scaler.transform(x, z); }
void learn_scale(Scaler& scaler, const double* x, double* z) { scaler.learn(x, z); }

Followed follow(AnyForecaster<long>& forecaster, Scaler& scaler, const double* X, const long* order,
                const long* y, long n, double* Z, double* out,
                const std::function<void(const double*)>& check_input,
                const std::function<void(const double*)>& check_forecast) {
    const long length = scaler.views * scaler.width;
    std::vector<double> scratch(std::size_t(length), 0.0);
    Followed followed;
    try {
        for (long& t = followed.done; t < n; ++t) {
            const bool is_late = order[t] < 0;
            const long row = is_late ? -1 - order[t] : order[t];
            const double* x = X + row * scaler.d;
            double* z = Z ? Z + row * length : scratch.data();
            if (!is_late) scaler.transform(x, z);
            check_input(z);
            if (!is_late) {
                double* p = out + t * forecaster.outputs();
                forecaster.predict(z, p);
                check_forecast(p);
            }
            if (y[t] < 0) continue;
            forecaster.learn(z, y[t], 1.0);
            scaler.learn(x, scratch.data());
        }
    } catch (const std::exception& error) {
        forecaster.forget_reading();
        followed.reason = error.what();
    }
    return followed;
}

}  // namespace MIXABLE_ISA
