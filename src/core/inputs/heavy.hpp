// The scale of a feature with heavy tails: most of its entries are within a small part of its
// standard deviation, and only the logarithm tells them apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace MIXABLE_ISA {

/// Of the sizes of entries, as powers of 2: how many, their sum, their sum of squares. Zeros have
/// none: they are the same in each unit.
struct Sizes {
    double count, sum, squares;

    static double of(double x) {
        std::uint64_t bits;
        std::memcpy(&bits, &x, sizeof x);
        return double(bits >> 52 & 0x7ff) - 1023;
    }
    void add(double x) {
        if (x == 0) return;
        const double size = of(x);
        count += 1;
        sum += size;
        squares += size * size;
    }
    double mean() const { return sum / std::max(count, 1.0); }
    /// Their standard deviation times how many there are.
    double spread() const { return std::sqrt(std::max(squares * count - sum * sum, 0.0)); }
};

/// Standardises the logarithm of entries, with their sign: sign(x) log(1 + |x|/s), where s is a
/// deviation below the usual size. It follows the usual size, so that the unit does not matter.
struct Heavy {
    double low, size, mean, sd;  // s at first, and the mean of sizes then; of logarithms

    bool is_known() const { return low > 0; }

    double scaled(double x, const Sizes& sizes) const {
        const double by = sizes.count > 0 ? bounded_size(sizes.mean() - size) : 0.0;
        return (logarithm(x, low * std::exp2(by)) - mean) / sd;
    }
    /// That of a feature whose first n entries are known, and of all of them the sizes, the root
    /// mean square `rms` and the deviation; not known if its tails are not heavy. Entries that lie
    /// close together at first and elsewhere later have no heavy tails, nor have those that are
    /// often about 0: a heavy one is far from both the first entries and the usual size.
    static Heavy of(const double* early, long n, const Sizes& sizes, double rms, double deviation) {
        Heavy out{};
        const double usual = std::exp2(sizes.mean() + 0.5);  // sizes are rounded down
        if (sizes.count < double(n) || !(rms > much * usual)) return out;
        double nearest[most_early];
        const auto median = [&](auto&& value) {
            for (long t = 0; t < n; ++t) nearest[t] = value(early[t]);
            std::nth_element(nearest, nearest + n / 2, nearest + n);
            return nearest[n / 2];
        };
        const double centre = median([](double x) { return x; });
        const double distance = median([&](double x) { return std::fabs(x - centre); });
        if (!(distance > 0 && deviation > far * distance)) return out;
        const double low = usual * std::exp2(-std::min(sizes.spread() / sizes.count, 10.0));
        const double mean = median([&](double x) { return logarithm(x, low); });
        const double sd =
            1.4826 * median([&](double x) { return std::fabs(logarithm(x, low) - mean); });
        if (low > 0 && std::isfinite(low) && sd > 1e-3) out = {low, sizes.mean(), mean, sd};
        return out;
    }
    /// Whether it can be one that `of` made, or none.
    bool sound() const {
        return low == 0 || (low > 0 && low <= 1e300 && std::fabs(size) <= 1100 &&
                            std::fabs(mean) <= 1e4 && sd > 0 && sd <= 1e4);
    }

    static constexpr long most_early = 16;

   private:
    static constexpr double much = 4, far = 7.5;
    static double bounded_size(double size) { return std::min(std::max(size, -900.0), 900.0); }
    static double logarithm(double x, double low) {
        return std::copysign(std::log1p(std::min(std::fabs(x) / low, 1e300)), x);
    }
};

}  // namespace MIXABLE_ISA
