// What is known of a feature, and of its unit, which may change.
#pragma once

#include <algorithm>
#include <cmath>

#include "heavy.hpp"

namespace MIXABLE_ISA {
namespace scaling {

constexpr long kept = 16;          // entries of a feature that are kept and judged together
constexpr double largest = 1e150;  // entry that counts, so that squares are finite
// Doublings that make a size foreign at least, and at most, where sizes are spread widely.
constexpr double least_foreign = 5, most_foreign = 16;
constexpr double few = 4;  // foreign entries from which on rows are scaled by them

inline bool is_count(double n) { return n >= 0 && n < 1e15 && n == std::floor(n); }

struct Feature {
    double count, mean,
        square;  // Welford's: how many, their mean, their squared distance from it

    double sd() const { return std::sqrt(square / std::max(count, 1.0)); }

    void add(double x) {
        count += 1;
        const double step = x - mean;
        mean += step / count;
        square += step * (x - mean);
    }
    void add_within(double x, double centre, double distance) {
        add(std::min(std::max(x, centre - distance), centre + distance));
    }
    bool sound() const { return is_count(count) && std::fabs(mean) <= largest && square >= 0; }
};

/// Whether x may be in another unit.
inline bool is_foreign(double x, const Sizes& known) {
    if (x == 0 || known.count < kept) return false;
    // Times the count, as is what follows.
    const double step = std::fabs(Sizes::of(x) * known.count - known.sum);
    if (step <= least_foreign * known.count) return false;
    return step > std::min(3 * known.spread(), most_foreign * known.count);
}
inline bool are_sound(const Sizes& known) {
    return is_count(known.count) && std::fabs(known.sum) <= 1100 * known.count &&
           known.squares >= 0 && known.squares <= 1100 * 1100 * known.count;
}

struct Known {
    Feature feature;
    Sizes sizes;

    void add(double x) {
        feature.add(x);
        sizes.add(x);
    }
    bool sound() const { return feature.sound() && are_sound(sizes); }
};

/// What is known of a feature whose unit may change, or has changed.
struct Units {
    Known before, strange, old;  // before the present run, in it, and in the unit before
    double run = 0;              // foreign entries, less 3 for each other one; 0 ends the run
    double familiar = 0;         // how many of the last ones were of the old unit

    /// Takes x, where `now` is known, and `later` if the unit has not changed.
    void note(double x, const Known& now, Known& later) {
        const Known& judge = run > 0 ? before : now;
        if (!is_foreign(x, judge.sizes)) {
            later.sizes.add(x);
            if (run == 0) return;
            strange.add(x);
            if (x != 0) familiar = 0, run = std::max(run - 3, 0.0);
            return;
        }
        if (run == 0) before = now, strange = Known{};
        strange.add(x);
        run += 1;
        familiar = old.sizes.count > 0 && !is_foreign(x, old.sizes) ? familiar + 1 : 0;
        if (familiar == few) {
            later = old;
            later.add(x);
        } else if (run >= kept && strange.feature.square > 0)
            later = strange;
        else
            return;
        old = before;
        run = familiar = 0;
    }
    bool is_shown() const { return run >= few && strange.feature.square > 0; }

    bool sound() const {
        const bool is_run = is_count(run) && is_count(familiar) && familiar < few &&
                            (run == 0 || before.sizes.count >= kept);
        return is_run && before.sound() && strange.sound() && old.sound() &&
               (old.sizes.count == 0 || old.feature.count >= kept);
    }
};

}  // namespace scaling
}  // namespace MIXABLE_ISA
