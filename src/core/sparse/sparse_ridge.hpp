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

#include "core/posterior/state.hpp"
#include "sparse_table.hpp"

namespace MIXABLE_ISA {

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
          wanted_most_(most),
          table_(SlotShape(2, S), most > 0 ? most : usual_most(S)),
          SP(table_.shape.SP),
          lam_(SP),
          b_(SP),
          g_(SP),
          m_(SP),
          v_(std::size_t(SP)) {
        for (long s = 0; s < SP; ++s) {
            const RidgeSetting& mine = settings_[std::size_t(std::min(s, S - 1))];
            lam_[s] = mine.lam;
            b_[s] = mine.b;
        }
    }

    const long S;  // settings

    long steps() const { return steps_; }
    /// What was learned of features.
    const SparseTable& table() const { return table_; }
    SparseTable& table() { return table_; }
    /// Numbers that `predict` makes.
    long outputs() const { return S + 2; }

    /// The mean of what the settings say; then that, centred, and how far each is from it, in
    /// deviations of the targets. Changes nothing that was learned.
    void predict(const SparseRow& row, double* out) {
        table_.locate(row, false);
        read();
        write(out);
    }
    void learn(const SparseRow& row, double y, double weight) {
        if (weight > 0) {
            table_.note(row);
            table_.locate(row, true);
            read();
            push(y, weight);
        }
        ++steps_;
    }

    /// Everything but the slots.
    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("steps", steps_);
        visitor("unit", unit_);
        table_.visit(visitor);
        targets_.visit(visitor);
    }
    /// Whether what was read from a file, slots included, makes sense.
    bool is_valid() const {
        const bool has_unit = unit_ == 0 || (unit_ >= 1e-290 && unit_ <= 1e145 &&
                                             unit_ == std::ldexp(1.0, std::ilogb(unit_)));
        return steps_ >= 0 && steps_ <= most_steps && has_unit && table_.is_valid() &&
               targets_.is_valid();
    }

    /// An empty one of the same kind.
    SparseRidge empty() const { return SparseRidge(settings_, wanted_most_); }

   private:
    static long usual_most(long S) {
        return std::max(16L, long(0x1p30 / Slots::bytes_each(SlotShape(2, S).width())));
    }

    /// Sets m (SP): what each setting says, in units.
    void read() { table_.shape.sum(table_.active, m_); }

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
        ActiveFeatures& active = table_.active;
        if (rates_.size() < active.size() * std::size_t(SP))
            rates_.resize(2 * active.size() * std::size_t(SP));
        for (std::size_t i = 0; i < active.size(); ++i) {
            const double z = active[i].value;
            float& acc = active[i].slot[0];
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
        for (std::size_t i = 0; i < active.size(); ++i)
            table_.shape.subtract(&rates_[i * std::size_t(SP)], v_.data(), active[i].slot);
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
        table_.each([&](float* slot) {
            for (long i = 1; i < table_.shape.width(); ++i)
                slot[i] = std::min(std::max(slot[i] * factor, -SlotShape::largest_weight),
                                   SlotShape::largest_weight);
        });
    }

    std::vector<RidgeSetting> settings_;
    long wanted_most_;
    SparseTable table_;
    long SP;  // settings and the lanes behind them
    Buffer lam_, b_, g_, m_;
    TargetScale targets_;
    double unit_ = 0;  // of the weights; 0 before the first target that is not about 0
    long steps_ = 0;
    std::vector<float> v_, rates_;  // v_: what is to be learned
};

}  // namespace MIXABLE_ISA
