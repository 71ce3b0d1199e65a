// Features of scaled inputs: by landmarks (landmarks.hpp), or by random waves.
#pragma once

#include "landmarks.hpp"

namespace MIXABLE_ISA {

/// Random Fourier features: sqrt(2/m) cos(F^T x + phase). There is nothing to learn.
class Waves final : public FeatureMap {
   public:
    /// F is (d x m).
    Waves(long d, long m, const double* frequencies, const double* phases)
        : FeatureMap(d, m), frequencies_(d * m), phases_(m) {
        copy(frequencies, d * m, frequencies_);
        copy(phases, m, phases_);
    }

    bool transform(const double* x, double* out) override {
        copy(phases_, m, out);
        for (long l = 0; l < d; ++l) {
            const double* row = frequencies_ + l * m;
            for (long i = 0; i < m; ++i) out[i] += x[l] * row[i];
        }
        const double size = std::sqrt(2.0 / double(m));
        for (long i = 0; i < m; ++i) out[i] = size * std::cos(out[i]);
        return false;
    }
    void add(const double*, const double*) override {}
    void transform_many(const double* X, long n, double* out) override {
        for (long t = 0; t < n; ++t) transform(X + t * d, out + t * m);
    }
    void learn_many(const double* X, const bool*, long n, double* out) override {
        transform_many(X, n, out);
    }

   private:
    Buffer frequencies_, phases_;
};

}  // namespace MIXABLE_ISA
