// Columns of numbers that are made of the categories of a record, by what was learned before it.
//
// Indicators: a value has a column of its own, 1 where a record has the value and 0 elsewhere. It
// is given at the second occurrence of the value, if the values of its column are few.
//
// Frequencies: for each class c the sum over the values v of a record of
//     log((n_vc + w f_c) / ((n_v + w) f_c)),
// where n_vc examples of class c had the value v, f_c is the frequency of the class among all, and
// w is a prior weight. Where outcomes are numbers there are none.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/sparse/slots.hpp"

namespace MIXABLE_ISA {

class Categories {
   public:
    static constexpr long budget = 128;           // indicators that are given
    static constexpr long most_indicators = 512;  // that there can be, in merged models
    static constexpr long most_values = 24;       // of a column whose values have indicators
    static constexpr double prior = 2;            // the weight w

    /// Of so many classes; 0: of numbers.
    explicit Categories(long classes) : K(classes), totals_(std::size_t(K), 0.0) {}

    const long K;

    /// Columns: indicators, whether they are given or not, then frequencies.
    long width() const { return most_indicators + K; }
    /// Indicators that were given.
    long given() const { return given_; }
    /// Values that are known.
    long values() const { return slots_.size(); }
    /// Values that are known at most: some megabytes.
    long most_slots() const {
        return std::max(std::min(1L << 15, (1L << 22) / (first + K)), 2 * most_indicators);
    }
    /// No indicators are given any more. A model that is saved and loaded gives some again.
    void hold() { is_held_ = true; }

    /// Writes the columns of a record that has n values, 0 for none.
    void make(const std::uint64_t* keys, long n, double* out) const {
        std::fill(out, out + width(), 0.0);
        double* sums = out + most_indicators;
        double all = 0;
        for (double each : totals_) all += each;
        factors_.assign(std::size_t(K), 1.0);
        long pending = 0;
        for (long i = 0; i < n; ++i) {
            const long at = keys[i] ? slots_.find(keys[i], hash_of(keys[i])) : -1;
            if (at < 0) continue;
            const float *slot = slots_.slot(at), *counts = slot + first;
            if (slot[indicator] > 0) out[long(slot[indicator]) - 1] = 1.0;
            double own = prior;
            for (long c = 0; c < K; ++c) own += counts[c];
            for (long c = 0; c < K; ++c) {
                const double f = (totals_[std::size_t(c)] + 1) / (all + double(K));
                factors_[std::size_t(c)] *= (counts[c] + prior * f) / (own * f);
            }
            if (++pending == 8) pending = 0, add_logs(sums);  // before it is too small
        }
        if (pending) add_logs(sums);
    }

    /// Learns the values of a record, and its label; -1 for a number.
    void learn(const std::uint64_t* keys, long n, long y, double weight) {
        if (!(weight > 0)) return;
        if (long(values_.size()) < n) values_.resize(std::size_t(n), 0);
        for (long i = 0; i < n; ++i) {
            if (!keys[i]) continue;
            float* slot = slot_of(keys[i], i);
            if (slot[occurrences] < 1e7f) slot[occurrences] += 1;
            const bool is_second = slot[occurrences] == 2 && slot[indicator] == 0;
            if (is_second && values_[std::size_t(i)] <= most_values && given_ < budget && !is_held_)
                slot[indicator] = float(++given_);
            if (K) slot[first + y] += float(weight);
        }
        if (K) totals_[std::size_t(y)] += weight;
    }

    /// The keys of the indicators that were given.
    std::vector<std::uint64_t> indicators() const {
        std::vector<std::uint64_t> out(std::size_t(given_), 0);
        for (long i = 0; i < slots_.size(); ++i)
            if (const long at = long(slots_.slot(i)[indicator]))
                out[std::size_t(at) - 1] = slots_.keys()[i];
        return out;
    }

    /// Takes over one of at most as many classes.
    void adopt(const Categories& other) {
        given_ = other.given_;
        is_held_ = other.is_held_;
        values_ = other.values_;
        std::copy(other.totals_.begin(), other.totals_.end(), totals_.begin());
        for (long i = 0; i < other.slots_.size(); ++i) {
            const std::uint64_t key = other.slots_.keys()[i];
            std::copy_n(other.slots_.slot(i), other.slots_.width(),
                        slots_.slot(slots_.add(key, hash_of(key))));
        }
    }

    const Slots& slots() const { return slots_; }
    const std::vector<double>& totals() const { return totals_; }
    /// How many values each column has had.
    const std::vector<double>& column_values() const { return values_; }

    /// Takes over what was saved; false if it can be none that learning made.
    bool restore(const std::uint64_t* keys, const float* slots, long n, const double* totals,
                 const double* values, long columns) {
        std::vector<bool> is_given(most_indicators, false);
        if (n > most_slots()) return false;
        for (long i = 0; i < n; ++i) {
            const float* slot = slots + i * slots_.width();
            for (long j = 0; j < slots_.width(); ++j)
                if (!(slot[j] >= 0 && slot[j] <= 1e30f)) return false;
            const float at = slot[indicator];
            if (slot[occurrences] < 1 || at > most_indicators || at != std::floor(at)) return false;
            if (at > 0) {
                if (is_given[std::size_t(at) - 1]) return false;
                is_given[std::size_t(at) - 1] = true;
                ++given_;
            }
            if (slots_.find(keys[i], hash_of(keys[i])) >= 0 || !keys[i]) return false;
            std::copy_n(slot, slots_.width(), slots_.slot(slots_.add(keys[i], hash_of(keys[i]))));
        }
        for (long i = 0; i < given_; ++i)
            if (!is_given[std::size_t(i)]) return false;
        for (long i = 0; i < K; ++i)
            if (!(totals[i] >= 0 && totals[i] <= 1e100)) return false;
        for (long i = 0; i < columns; ++i)
            if (!(values[i] >= 0 && values[i] <= 1e15)) return false;
        totals_.assign(totals, totals + K);
        values_.assign(values, values + columns);
        return true;
    }

   private:
    static constexpr long occurrences = 0, indicator = 1, first = 2;  // in a slot, then counts

    void add_logs(double* sums) const {
        for (long c = 0; c < K; ++c) {
            sums[c] += std::log(factors_[std::size_t(c)]);
            factors_[std::size_t(c)] = 1.0;
        }
    }

    /// The slot of a value of a column, which may be new.
    float* slot_of(std::uint64_t key, long column) {
        const std::uint64_t hash = hash_of(key);
        const long at = slots_.find(key, hash);
        if (at >= 0) return slots_.slot(at);
        if (slots_.size() >= most_slots()) forget();
        ++values_[std::size_t(column)];
        return slots_.slot(slots_.add(key, hash));
    }
    /// Forgets the rarest values, at least half of all; not those that have indicators.
    void forget() {
        const auto is_kept = [&](long i, float least) {
            const float* slot = slots_.slot(i);
            return slot[indicator] > 0 || slot[occurrences] >= least;
        };
        float least = 2;
        for (long kept = most_slots(); kept > most_slots() / 2; least *= 2) {
            kept = 0;
            for (long i = 0; i < slots_.size(); ++i) kept += is_kept(i, least);
            if (kept <= most_slots() / 2) break;
        }
        Slots rest(slots_.width(), slots_.most());
        for (long i = 0; i < slots_.size(); ++i)
            if (is_kept(i, least)) {
                const std::uint64_t key = slots_.keys()[i];
                std::copy_n(slots_.slot(i), slots_.width(), rest.slot(rest.add(key, hash_of(key))));
            }
        slots_ = std::move(rest);
    }

    Slots slots_{first + K, 1L << 15};
    std::vector<double> totals_, values_;
    long given_ = 0;
    bool is_held_ = false;
    mutable std::vector<double> factors_;
};

}  // namespace MIXABLE_ISA
