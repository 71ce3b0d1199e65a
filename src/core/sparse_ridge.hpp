// Regressions on sparse rows: several settings with one accumulator for each feature. What they
// say becomes columns for a forecaster of numbers, which mixes them and knows the noise.
//
// A setting (lam, b) gives feature j the precision a_j = lam + b acc_j, a Gaussian posterior
// without its correlations (b = 1; b < 1 makes up for those). With r = y - w x,
//     acc_j += weight x_j^2,  g = sum_j x_j^2 / a_j,
//     w_j += (x_j / a_j) weight r / (1 + weight g).
// With b = 0 steps stay as large as they were: what was learned of a feature is forgotten as it is
// active. A miss r counts up to `largest_miss` times the mean miss, so that one target that is far
// away spoils nothing.
//
// Weights are floats, in units of a power of two near the deviation of the targets. When that
// changes, all are multiplied by a power of two, which is exact.
#pragma once

#include <algorithm>
#include <cmath>

#include "sparse_row.hpp"
#include "sparse_slot.hpp"
#include "state.hpp"

namespace MIXABLE_ISA {

inline double bounded(double x, double most) { return std::min(std::max(x, -most), most); }

struct RidgeSetting {
    double lam, b;  // the precision of a feature is lam + b acc
};

/// The mean and the deviation of targets, and the size of misses. Targets far away count as 10
/// deviations.
class TargetScale {
   public:
    double mean() const { return mean_; }
    double deviation() const { return count_ > 0 ? std::sqrt(square_ / count_) : 0.0; }
    /// What a miss counts as.
    double bounded_miss(double r) const {
        if (misses_ < early) return r;
        return bounded(r, largest_miss * miss_);
    }

    void note_target(double y, double weight) {
        const double by = 10.0 * deviation();
        if (targets_ >= early && by > 0) y = std::min(std::max(y, mean_ - by), mean_ + by);
        const double before = y - mean_;
        count_ += weight;
        mean_ += before * (weight / count_);
        square_ += weight * before * (y - mean_);
        ++targets_;
    }
    void note_miss(double r) {
        const double size = std::fabs(bounded_miss(r));
        misses_ = std::min(misses_ + 1, memory);
        miss_ += (size - miss_) / double(misses_);
    }

    void visit(Visitor& visitor) {
        visitor("targets", targets_);
        visitor("misses", misses_);
        visitor("count", count_);
        visitor("mean", mean_);
        visitor("square", square_);
        visitor("miss", miss_);
    }
    /// Whether what was read from a file makes sense.
    bool is_valid() const {
        const auto is_size = [](double x) { return x >= 0 && x <= 1e290; };
        const bool counted = targets_ >= 0 && targets_ <= most_steps && misses_ >= 0 &&
                             misses_ <= memory && (targets_ > 0) == (count_ > 0);
        return counted && is_size(count_) && is_size(square_) && is_size(miss_) &&
               std::fabs(mean_) <= 1e145 && deviation() <= 1e145;
    }

   private:
    static constexpr long early = 16, memory = 64;  // targets without bound; misses remembered
    static constexpr double largest_miss = 3.0;
    long targets_ = 0, misses_ = 0;
    double count_ = 0, mean_ = 0, square_ = 0, miss_ = 0;
};

class SparseRidge {
   public:
    /// At most `most` features have slots of their own; 0: as many as take about 1 GB.
    SparseRidge(const std::vector<RidgeSetting>& settings, long most)
        : S(long(settings.size())),
          settings_(settings),
          shape_(2, S),
          SP(shape_.SP),
          wanted_most_(most),
          slots_(shape_.width(), most > 0 ? most : usual_most(shape_)),
          lam_(SP),
          b_(SP),
          g_(SP),
          m_(SP),
          bias_(std::size_t(shape_.width())),
          zero_(std::size_t(shape_.width())),
          v_(std::size_t(SP)) {
        for (long s = 0; s < SP; ++s) {
            const RidgeSetting& mine = settings_[std::size_t(std::min(s, S - 1))];
            lam_[s] = mine.lam;
            b_[s] = mine.b;
        }
    }

    const long S;  // settings

    long steps() const { return steps_; }
    long features() const { return slots_.size(); }
    long most_features() const { return slots_.most(); }
    /// How often a feature that was learned had to share the slot of another.
    long collisions() const { return collisions_; }
    double bytes() const { return slots_.bytes(); }
    /// Numbers that `predict` makes.
    long outputs() const { return S + 2; }

    /// The mean of what the settings say; then that, centred, and how far each is from it, in
    /// deviations of the targets. Changes nothing that was learned.
    void predict(const SparseRow& row, double* out) {
        locate(row, false);
        read();
        write(out);
    }
    void learn(const SparseRow& row, double y, double weight) {
        if (weight > 0) {
            if (scale_.note(row)) forget();
            locate(row, true);
            read();
            push(y, weight);
        }
        ++steps_;
    }

    const std::uint64_t* keys() const { return slots_.keys(); }
    /// Numbers of a slot (sparse_slot.hpp).
    long slot_width() const { return slots_.width(); }
    /// The slots, that of the intercept first.
    void copy_slots(float* out) const {
        std::copy(bias_.begin(), bias_.end(), out);
        for (long i = 0; i < features(); ++i)
            std::copy_n(slots_.slot(i), slot_width(), out + (i + 1) * slot_width());
    }
    /// Takes over saved slots; false if they cannot be some that learning made.
    bool restore_slots(const std::uint64_t* keys, const float* values, long n) {
        slots_.clear();
        for (long i = 0; i <= n; ++i)
            if (!shape_.is_sound(values + i * slot_width())) return false;
        std::copy_n(values, slot_width(), bias_.data());
        for (long i = 0; i < n; ++i) {
            const std::uint64_t hash = hash_of(keys[i]);
            if (slots_.find(keys[i], hash) >= 0) return false;
            std::copy_n(values + (i + 1) * slot_width(), slot_width(),
                        slots_.slot(slots_.add(keys[i], hash)));
        }
        slots_.set_most(slots_.most());
        return true;
    }

    /// Everything but the slots.
    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("steps", steps_);
        visitor("collisions", collisions_);
        visitor("unit", unit_);
        scale_.visit(visitor);
        targets_.visit(visitor);
    }
    /// Whether what was read from a file, slots included, makes sense.
    bool is_valid() const {
        const bool counted = steps_ >= 0 && steps_ <= most_steps && collisions_ >= 0;
        const bool has_unit = unit_ == 0 || (unit_ >= 1e-290 && unit_ <= 1e145 &&
                                             unit_ == std::ldexp(1.0, std::ilogb(unit_)));
        return counted && has_unit && (collisions_ == 0 || slots_.is_full()) && scale_.is_valid() &&
               targets_.is_valid();
    }

    /// An empty one of the same kind.
    SparseRidge empty() const { return SparseRidge(settings_, wanted_most_); }

   private:
    static long usual_most(const SlotShape& shape) {
        return std::max(16L, long(0x1p30 / Slots::bytes_each(shape.width())));
    }

    void forget() {
        slots_.clear();
        collisions_ = 0;
        std::fill(bias_.begin(), bias_.end(), 0.0f);
    }

    /// Fills `active_`: the intercept, then each key of the row once, with its slot. What has none
    /// gets one if it is to be learned, and otherwise is read as it would be then.
    void locate(const SparseRow& row, bool learns) {
        active_.set(row, scale_.factor(), bias_.data());
        for (std::size_t i = 1; i < active_.size(); ++i) slots_.touch(active_[i].hash);
        for (std::size_t i = 1; i < active_.size(); ++i) slots_.peek(active_[i].hash);
        long size = slots_.size();
        for (std::size_t i = 1; i < active_.size(); ++i) {
            Active& each = active_[i];
            long at = slots_.find(each.key, each.hash);
            if (at < 0 && size < slots_.most()) {
                at = learns ? slots_.add(each.key, each.hash) : size;
                ++size;
            } else if (at < 0) {
                at = slots_.shared(each.hash);
                if (learns) ++collisions_;
            }
            each.slot = at < slots_.size() ? slots_.slot(at) : zero_.data();
            slots_.ask_for(each.slot);
        }
    }

    /// Sets m (SP): what each setting says, in units.
    void read() { shape_.sum(active_, m_); }

    void write(double* out) const {
        double sum = 0;
        for (long s = 0; s < S; ++s) sum += m_[s];
        const double mean = targets_.mean(), deviation = targets_.deviation(),
                     most = 100 * deviation, said = unit_ * sum / double(S),
                     middle = bounded(std::min(std::max(said, mean - most), mean + most), 5e99);
        const auto by_deviation = [&](double x) {
            return deviation > 0 ? bounded(x / deviation, 10.0) : 0.0;
        };
        out[0] = middle;
        out[1] = by_deviation(middle - mean);
        for (long s = 0; s < S; ++s) out[2 + s] = by_deviation(unit_ * m_[s] - middle);
    }

    /// Learns the row that was read last.
    void push(double y, double weight) {
        double sum = 0;
        for (long s = 0; s < S; ++s) sum += m_[s];
        const double miss = y - unit_ * sum / double(S);
        g_.clear();
        if (rates_.size() < active_.size() * std::size_t(SP))
            rates_.resize(2 * active_.size() * std::size_t(SP));
        for (std::size_t i = 0; i < active_.size(); ++i) {
            const double z = active_[i].value;
            float& acc = active_[i].slot[0];
            acc = std::min(float(double(acc) + weight * z * z), SlotShape::largest_sum);
            for (long s = 0; s < SP; s += W) {
                const vec rate = z / (load(lam_ + s) + load(b_ + s) * double(acc));
                store(g_ + s, load(g_ + s) + z * rate);
                for (int l = 0; l < W; ++l)
                    rates_[i * std::size_t(SP) + std::size_t(s + l)] = float(rate[l]);
            }
        }
        if (unit_ == 0 && std::fabs(y) > 1e-280) unit_ = std::ldexp(1.0, std::ilogb(y));
        const double by = unit_ > 0 ? 1 / unit_ : 0.0;
        for (long s = 0; s < SP; ++s) {
            const double r = targets_.bounded_miss(y - unit_ * m_[s]);
            const double step = by * r * weight / (1 + weight * g_[s]);
            v_[std::size_t(s)] = float(-bounded(step, 1e9));
        }
        for (std::size_t i = 0; i < active_.size(); ++i)
            shape_.subtract(&rates_[i * std::size_t(SP)], v_.data(), active_[i].slot);
        targets_.note_miss(miss);
        targets_.note_target(y, weight);
        keep_unit();
    }

    /// Changes the unit if the targets' deviation has moved far from it.
    void keep_unit() {
        const double deviation = targets_.deviation();
        if (unit_ == 0 || deviation < 1e-280) return;
        const int by = std::ilogb(deviation) - std::ilogb(unit_);
        if (std::abs(by) <= 10) return;
        unit_ = std::ldexp(unit_, by);
        const float factor = std::ldexp(1.0f, std::min(std::max(-by, -120), 120));
        const auto change = [&](float* slot) {
            for (long i = 1; i < slot_width(); ++i)
                slot[i] = std::min(std::max(slot[i] * factor, -SlotShape::largest_weight),
                                   SlotShape::largest_weight);
        };
        change(bias_.data());
        for (long i = 0; i < features(); ++i) change(slots_.slot(i));
    }

    std::vector<RidgeSetting> settings_;
    SlotShape shape_;
    long SP;  // settings and the lanes behind them
    long wanted_most_;
    Slots slots_;
    Buffer lam_, b_, g_, m_;
    SparseScale scale_;
    TargetScale targets_;
    double unit_ = 0;  // of the weights; 0 before the first target that is not about 0
    long steps_ = 0, collisions_ = 0;
    std::vector<float> bias_, zero_, v_, rates_;  // v_: what is to be learned
    ActiveFeatures active_;
};

}  // namespace MIXABLE_ISA
