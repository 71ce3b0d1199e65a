// Sparse features of numbers, for boundaries that are not linear: the bin that a number falls in,
// and the leaf of a random tree that a row falls in.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/numbers/normal.hpp"

namespace MIXABLE_ISA {

/// A key that stands for what `h` stands for, and one more number.
inline std::uint64_t mixed(std::uint64_t h, std::uint64_t number) {
    h = (h ^ number) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}
/// A key that stands for two numbers.
inline std::uint64_t key_of(std::uint64_t a, std::uint64_t b) {
    return mixed(mixed(0x9e3779b97f4a7c15u, a), b);
}

/// What of a number is shown to those who also take sparse features: its column may have some that
/// say the same.
enum Shown : char { shown_all, shown_without_bins, not_shown };

/// Which features. The numbers are scaled, and logarithmic in their tails.
class Shapes {
   public:
    /// With `linear` each number is a feature by itself. `bins` says how many bins there are to a
    /// deviation, for each set of bins; with `whole`, a whole number that is not large is a bin of
    /// its own in the last set, since such numbers are often codes or amounts that come again. A
    /// tree asks `depth` questions, whether number i is above a
    /// threshold, with i and threshold drawn at random, i among the first `numbers`.
    Shapes(bool takes_features, bool takes_crosses, bool linear, std::vector<double> bins,
           long trees, long depth, long numbers, bool whole)
        : takes_features(takes_features),
          takes_crosses(takes_crosses),
          linear_(linear),
          whole_(whole),
          bins_(std::move(bins)),
          trees_(numbers > 0 ? trees : 0),
          depth_(depth),
          numbers_(numbers) {
        for (long q = 0; q < trees_ * depth_; ++q) {
            const std::uint64_t at = mixed(key_of(1, std::uint64_t(q)), 0);
            asked_.push_back(long(at % std::uint64_t(numbers)));
            const std::uint64_t bits = mixed(key_of(2, std::uint64_t(q)), 0);
            above_.push_back(normal_quantile((double(bits >> 11) + 0.5) * 0x1p-53));
        }
        for (long t = 0; t < trees_; ++t) tree_keys_.push_back(key_of(64, std::uint64_t(t)));
        if (!linear_ && bins_.empty()) return;
        for (long i = 0; i < std::min(numbers, most_known); ++i)
            for (std::uint64_t kind = 3; kind < 4 + bins_.size(); ++kind)
                number_keys_.push_back(key_of(kind, std::uint64_t(i)));
    }

    // Whether the sparse features that a record has are among them, and their crosses.
    bool takes_features, takes_crosses;

    /// Adds those of d numbers z; where x is NaN nothing is known. Without `shown` all are.
    void add(const double* x, const double* z, long d, const char* shown,
             std::vector<std::uint64_t>& keys, std::vector<double>& values) const {
        const auto put = [&](std::uint64_t key, double value) {
            keys.push_back(key);
            values.push_back(value);
        };
        for (long i = 0; i < d; ++i) {
            const char what = shown ? shown[i] : char(shown_all);
            if (std::isnan(x[i]) || what == not_shown) continue;
            if (linear_ && z[i] != 0) put(mixed(key(i, 0), 0), z[i]);
            if (what == shown_without_bins) continue;
            const bool is_whole = whole_ && std::abs(x[i]) < most_whole && x[i] == std::floor(x[i]);
            for (std::size_t b = 0; b < bins_.size(); ++b) {
                const bool by_itself = is_whole && b + 1 == bins_.size();
                const double bin = by_itself ? x[i] : std::floor(z[i] * bins_[b]);
                put(mixed(by_itself ? key_of(32, std::uint64_t(i)) : key(i, b + 1),
                          std::uint64_t(long(bin))),
                    1.0);
            }
        }
        if (numbers_ > d) return;  // no such row is made
        for (long t = 0; t < trees_; ++t) {
            std::uint64_t leaf = 0;
            for (long q = t * depth_; q < (t + 1) * depth_; ++q)
                leaf = 2 * leaf + (z[asked_[std::size_t(q)]] > above_[std::size_t(q)] ? 1 : 0);
            put(mixed(tree_keys_[std::size_t(t)], leaf), 1.0);
        }
    }

   private:
    /// What the keys of number i begin with: as it is (0), and in each set of bins (1, ...).
    std::uint64_t key(long i, std::size_t kind) const {
        const std::size_t at = std::size_t(i) * (1 + bins_.size()) + kind;
        return at < number_keys_.size() ? number_keys_[at] : key_of(3 + kind, std::uint64_t(i));
    }

    static constexpr double most_whole = 1e5;  // so that no column takes much memory
    static constexpr long most_known = 4096;   // numbers whose keys are kept
    bool linear_, whole_;
    std::vector<double> bins_, above_;
    long trees_, depth_, numbers_;
    std::vector<long> asked_;
    std::vector<std::uint64_t> number_keys_, tree_keys_;
};

}  // namespace MIXABLE_ISA
