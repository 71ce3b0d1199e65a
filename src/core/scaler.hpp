// Causal standardisation: each input is scaled by the running mean and variance of what was learned before and itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense.hpp"

namespace MIXABLE_ISA {

/// Turns a raw row of d numbers into `views` rows of a forecaster's inputs, one after the other: first the intercept (if wanted), then the features. The first
/// view is linear, clipped to +-10 standard deviations; the second is linear up to +-1 and grows as the logarithm beyond, for heavy tails. A missing entry
/// (NaN) is taken to be the mean. An entry more than 10 standard deviations away counts as 10 in the statistics, so that no outlier spoils them.
class Scaler {
   public:
    Scaler(long features, bool intercept, bool standardize, long views)
        : d(features), width((intercept ? 1 : 0) + features), views(views), intercept_(intercept), standardize_(standardize), count_(d), mean_(d), square_(d) {}

    const long d, width, views;

    /// z (views x width) of the row x, as if it were the next to be learned.
    void look(const double* x, double* z) const {
        put_intercept(z);
        for (long i = 0; i < d; ++i) {
            Feature feature{count_[i], mean_[i], square_[i]};
            feature.add(x[i]);
            put(i, x[i], feature, z);
        }
    }
    /// The same, and x is learned.
    void learn(const double* x, double* z) {
        put_intercept(z);
        for (long i = 0; i < d; ++i) {
            Feature feature{count_[i], mean_[i], square_[i]};
            feature.add(x[i]);
            put(i, x[i], feature, z);
            count_[i] = feature.count;
            mean_[i] = feature.mean;
            square_[i] = feature.square;
        }
    }

    /// The mean and the standard deviation of each feature; 0 where nothing has varied.
    void moments(double* mean, double* sd) const {
        for (long i = 0; i < d; ++i) {
            mean[i] = standardize_ ? mean_[i] : 0.0;
            sd[i] = standardize_ ? std::sqrt(square_[i] / std::max(count_[i], 1.0)) : 1.0;
        }
    }

    void adopt(const Scaler& other) {
        for (auto [mine, theirs] : {std::pair{&count_, &other.count_}, {&mean_, &other.mean_}, {&square_, &other.square_}})
            std::memcpy(*mine, *theirs, std::size_t(other.d) * 8);
    }

    template <class F>
    void visit(F&& f) {
        f("count", count_, 1L, d, d);
        f("mean", mean_, 1L, d, d);
        f("square", square_, 1L, d, d);
    }

   private:
    static constexpr double reach = 10;   // standard deviations that count, in the statistics and in the linear view
    static constexpr double bend = 1;     // where the second view ceases to be linear
    static constexpr double trusted = 5;  // values after which the statistics are good enough to judge outliers by

    struct Feature {
        double count, mean, square;  // Welford's: how many, their mean, their squared distance from it

        double sd() const { return std::sqrt(square / std::max(count, 1.0)); }

        void add(double x) {
            if (std::isnan(x)) return;
            x = std::min(std::max(x, -1e150), 1e150);  // so that squares are finite
            if (count >= trusted && square > 0) x = std::min(std::max(x, mean - reach * sd()), mean + reach * sd());
            count += 1;
            const double step = x - mean;
            mean += step / count;
            square += step * (x - mean);
        }
    };

    void put_intercept(double* z) const {
        if (intercept_)
            for (long v = 0; v < views; ++v) z[v * width] = 1.0;
    }

    void put(long i, double x, const Feature& feature, double* z) const {
        const long at = width - d + i;
        const bool missing = std::isnan(x);
        if (!standardize_) {
            z[at] = missing ? feature.mean : x;
            return;
        }
        const double sd = feature.sd(), scaled = sd > 0 && !missing ? (x - feature.mean) / sd : 0.0, size = std::fabs(scaled);
        z[at] = std::min(std::max(scaled, -reach), reach);
        if (views > 1) z[width + at] = size <= bend ? scaled : std::copysign(bend + std::log1p(size - bend), scaled);
    }

    bool intercept_, standardize_;
    Buffer count_, mean_, square_;
};

}  // namespace MIXABLE_ISA
