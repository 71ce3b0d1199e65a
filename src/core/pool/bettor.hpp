// A linear model of the inputs as they come, with a bound and no scale: each weight is the stake of
// a gambler who bets on the sign of the next gradient (docs: Proofs, "The default").
//
// The gradient of the loss in the weight of class c and input x is z = (p_c - [c = y]) x. With the
// largest |x| so far, M (that of the row at hand included), V = M^2 + sum z^2 and G = -sum z,
//     fraction = G / (2 V), at most 1 / (2 M) in size,   weight = fraction * wealth,
//     wealth *= 1 - fraction * z.
// It starts with a wealth of 1. Nothing changes if an input is multiplied by a constant.
#pragma once

#include <cmath>
#include <vector>

#include "core/numbers/simd.hpp"
#include "core/sparse/sparse_row.hpp"

namespace MIXABLE_ISA {

/// Sets p = softmax of z (K), which may be the same array.
inline void softmax_of(const double* z, long K, double* p) {
    const double top = *std::max_element(z, z + K);
    double total = 0;
    for (long c = 0; c < K; ++c) total += p[c] = std::exp(z[c] - top);
    for (long c = 0; c < K; ++c) p[c] /= total;
}

class Bettor {
   public:
    /// Rows have d numbers, up to 1e100 in size. At most `most` sparse features are known, those
    /// that come first; others are not seen.
    Bettor(long d, long K, long most)
        : d(d),
          K(K),
          C(K == 2 ? 1 : K),
          dp(pad(d)),
          most_(std::min(most, most_bytes / long(Slots::bytes_each(1 + 3 * C)))),
          slots_(1 + 3 * C, most_),
          largest_(dp),
          reach_(dp),
          wealth_(C * dp),
          gain_(C * dp),
          square_(C * dp),
          z_(K),
          p_(K) {
        for (long i = 0; i < C * dp; ++i) wealth_[i] = 1;
    }

    const long d, K, C;  // C: classes that have weights; of two, the second

    /// Predicts a row (d, with zeros behind it) with its sparse features.
    void read(const double* x, const SparseRow& features) {
        for (long i = 0; i < dp; i += W)
            store(reach_ + i, max(load(largest_ + i), max(load(x + i), -load(x + i))));
        for (long c = 0; c < C; ++c) {
            vec sums{};
            for (long i = c * dp, l = 0; l < dp; i += W, l += W)
                sums += load(x + l) * load(wealth_ + i) *
                        fraction(load(gain_ + i), load(square_ + i), load(reach_ + l));
            z_[c + K - C] = sum(sums);
        }
        if (most_ > 0) read_sparse(features);
        if (K == 2) z_[0] = -z_[1];
        softmax_of(z_, K, p_);
    }
    const double* p() const { return p_; }

    /// Learns the row that was read. Weights are at most 1: the bets are for that.
    void learn(const double* x, long y, double weight) {
        copy(reach_, dp, largest_);
        for (long c = 0; c < C; ++c) {
            const double by = slope(c, y, weight);
            for (long i = c * dp, l = 0; l < dp; i += W, l += W) {
                const vec z = by * load(x + l), gain = load(gain_ + i), square = load(square_ + i),
                          bet = fraction(gain, square, load(reach_ + l)),
                          wealth = load(wealth_ + i) * (1.0 - bet * z);
                store(wealth_ + i, limited(wealth));
                store(gain_ + i, gain - z);
                store(square_ + i, square + z * z);
            }
        }
        if (most_ > 0) learn_sparse(y, weight);
    }

    /// Takes over one of at most as many inputs and classes. A new class begins at 0; of two
    /// classes the first has the weights of the second, turned around.
    void adopt(const Bettor& other) {
        copy(other.largest_, other.d, largest_);
        for (long c = 0; c < other.K; ++c) {
            if (c < K - C) continue;
            const long from = std::max(c - (other.K - other.C), 0L), to = c - (K - C);
            const double sign = c < other.K - other.C ? -1.0 : 1.0;
            copy(other.wealth_ + from * other.dp, other.d, wealth_ + to * dp);
            copy(other.square_ + from * other.dp, other.d, square_ + to * dp);
            for (long i = 0; i < other.d; ++i)
                gain_[to * dp + i] = sign * other.gain_[from * other.dp + i];
        }
        slots_.clear();
        for (long i = 0; i < std::min(other.slots_.size(), most_); ++i) {
            const std::uint64_t key = other.slots_.keys()[i];
            const float* old = other.slots_.slot(i);
            float* own = new_slot(key, hash_of(key));
            own[0] = old[0];
            for (long c = K - C; c < other.K; ++c) {
                const float* from = old + 1 + 3 * std::max(c - (other.K - other.C), 0L);
                float* to = own + 1 + 3 * (c - (K - C));
                std::copy_n(from, 3, to);
                if (c < other.K - other.C) to[1] = -to[1];
            }
        }
    }

    const Slots& slots() const { return slots_; }
    long most() const { return most_; }
    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("largest", largest_, 1, d, dp);
        visitor("wealth", wealth_, C, d, dp);
        visitor("gain", gain_, C, d, dp);
        visitor("square", square_, C, d, dp);
    }
    /// Takes over saved slots; false if they cannot be some that learning made.
    [[gnu::cold]] bool restore_slots(const std::uint64_t* keys, const float* values, long n) {
        slots_.clear();
        if (n > most_) return false;
        for (long i = 0; i < n; ++i, values += 1 + 3 * C) {
            const std::uint64_t hash = hash_of(keys[i]);
            if (!(values[0] > 0 && values[0] <= 1e7f) || slots_.find(keys[i], hash) >= 0)
                return false;
            for (long c = 0; c < C; ++c) {
                const float* of = values + 1 + 3 * c;
                if (!is_sound(of[0], of[1], of[2], 1e20)) return false;
            }
            std::copy_n(values, 1 + 3 * C, new_slot(keys[i], hash));
        }
        return true;
    }
    [[gnu::cold]] bool contents_are_valid() const {
        for (long i = 0; i < d; ++i) {
            if (!(largest_[i] >= 0 && largest_[i] <= 1e101)) return false;
            for (long c = 0; c < C; ++c) {
                const long at = c * dp + i;
                if (!is_sound(wealth_[at], gain_[at], square_[at], 1e120)) return false;
            }
        }
        return true;
    }

   private:
    static constexpr long most_bytes = 1L << 24;  // that slots may take
    static constexpr double least = 1e-290;       // so that what was never observed is no 0 / 0
    static constexpr double most_wealth = 1e100;

    static vec fraction(vec gain, vec square, vec largest) {
        const vec bet = gain / (2.0 * (square + largest * largest) + least),
                  top = 0.5 / (largest + least);
        return bet > top ? top : bet < -top ? -top : bet;
    }
    static double fraction(double gain, double square, double largest) {
        return bounded(gain / (2 * (square + largest * largest)), 0.5 / largest);
    }
    /// The wealth of an honest gambler stays far inside.
    static vec limited(vec wealth) {
        const vec most = splat(most_wealth);
        return max(wealth > most ? most : wealth, splat(1 / most_wealth));
    }
    static bool is_sound(double wealth, double gain, double square, double most) {
        return wealth > 0 && wealth <= most_wealth && std::fabs(gain) <= most && square >= 0 &&
               square <= most * most;
    }
    double slope(long c, long y, double weight) const {
        const long label = c + K - C;
        return weight * (p_[label] - (label == y ? 1.0 : 0.0));
    }

    struct Known {
        std::uint64_t key, hash;
        double value;
        long at;  // its slot; -1 if it has none
    };
    /// A slot has M, then wealth, G and the sum of squares of each class.
    void read_sparse(const SparseRow& features) {
        row_.clear();
        if (features.nnz == 0) return;
        active_.set(features, 1.0, &intercept_);
        for (std::size_t i = 1; i < active_.size(); ++i) slots_.touch(active_[i].hash);
        for (std::size_t i = 1; i < active_.size(); ++i) {
            const auto [key, hash, value, none] = active_[i];
            if (std::fabs(value) < 1e-15) continue;  // its square is no float
            row_.push_back({key, hash, value, slots_.find(key, hash)});
            const Known& known = row_.back();
            if (known.at < 0) continue;
            const float* slot = slots_.slot(known.at);
            const double largest = std::max(double(slot[0]), std::fabs(value));
            for (long c = 0; c < C; ++c, slot += 3)
                z_[c + K - C] += value * slot[1] * fraction(slot[2], slot[3], largest);
        }
    }
    void learn_sparse(long y, double weight) {
        for (const Known& known : row_) {
            if (known.at < 0 && slots_.is_full()) continue;
            float* slot = known.at < 0 ? new_slot(known.key, known.hash) : slots_.slot(known.at);
            slot[0] = std::max(slot[0], std::nextafter(float(std::fabs(known.value)), 1e30f));
            const double largest = slot[0];
            for (long c = 0; c < C; ++c, slot += 3) {
                const double z = slope(c, y, weight) * known.value,
                             bet = fraction(slot[2], slot[3], largest);
                slot[1] = float(std::clamp(slot[1] * (1 - bet * z), 1e-30, 1e30));
                slot[2] = float(slot[2] - z);
                slot[3] = float(slot[3] + z * z);
            }
        }
    }
    float* new_slot(std::uint64_t key, std::uint64_t hash) {
        float* slot = slots_.slot(slots_.add(key, hash));
        for (long c = 0; c < C; ++c) slot[1 + 3 * c] = 1;
        return slot;
    }

    const long dp, most_;
    Slots slots_;
    Buffer largest_, reach_, wealth_, gain_, square_, z_, p_;  // reach_: largest_ after this row
    ActiveFeatures active_;
    std::vector<Known> row_;
    float intercept_ = 0;  // active features begin with one, which has no part in this
};

}  // namespace MIXABLE_ISA
