// The protocol of one event, for one instruction set.
#include "follow.hpp"

#include <stdexcept>
#include <vector>

#include "symmetric.hpp"

namespace MIXABLE_ISA {

double square_of(const double* x, long n) { return squared_norm(x, n); }
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
