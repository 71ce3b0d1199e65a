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

Followed follow(AnyForecaster<long>& forecaster, Scaler& scaler, const double* X, const long* y,
                long n, double* out, const std::function<void(const double*)>& check_input,
                const std::function<void(const double*)>& check_forecast) {
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
