// Sparse rows: what is given, and what a forecaster works on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/mixture/unit.hpp"
#include "core/visitor.hpp"
#include "slots.hpp"

namespace MIXABLE_ISA {

/// One example's features: values by key; a key that comes twice has the sum of its values.
struct SparseRow {
    const std::uint64_t* keys;
    const double* values;  // finite
    long nnz;
    bool is_distinct = false;  // whether no key comes twice, for sure
};

inline double bounded(double x, double most) { return std::min(std::max(x, -most), most); }
/// So that its square is finite.
inline double bounded(double x) { return bounded(x, 1e100); }

/// The scale of sparse rows: the mean square of the first row's values that are not 0. Should the
/// median of the first few rows show that this was an odd one, it is taken instead.
class SparseScale {
   public:
    SparseScale() : squares_(settling) {}

    double mean_square() const { return scale_; }
    /// What a value is multiplied by.
    double factor() const { return scale_ > 0 ? 1.0 / std::sqrt(scale_) : 0.0; }
    /// Whether the scale will not change any more.
    bool is_settled() const { return seen_ == settling; }

    /// Notes a row; returns whether another scale was in use until now.
    bool note(const SparseRow& row) {
        if (is_settled()) return false;
        double sum = 0;
        long n = 0;
        for (long i = 0; i < row.nnz; ++i)
            if (row.values[i] != 0) sum += bounded(row.values[i]) * bounded(row.values[i]), ++n;
        if (!(sum > 1e-270)) return false;
        squares_[seen_++] = sum / double(n);
        std::vector<double> sorted(squares_ + 0, squares_ + seen_);
        std::sort(sorted.begin(), sorted.end());
        const double before = scale_, median = sorted[std::size_t((seen_ - 1) / 2)];
        if (before > 0 && Unit::is_near(median, before)) return false;
        scale_ = median;
        return before > 0;
    }

    void adopt(const SparseScale& other) {
        seen_ = other.seen_;
        scale_ = other.scale_;
        copy(other.squares_, settling, squares_);
    }
    void visit(Visitor& visitor) {
        visitor("inputs", seen_);
        visitor("scale", scale_);
        visitor("sizes", squares_, 1, settling, settling);
    }
    /// Whether what was read from a file makes sense.
    bool is_valid() const {
        const auto is_size = [](double x) { return x >= 1e-290 && x <= 1e200; };
        if (!(seen_ >= 0 && seen_ <= settling)) return false;
        return (seen_ == 0 ? scale_ == 0 : is_size(scale_)) &&
               std::all_of(squares_ + 0, squares_ + seen_, is_size);
    }

   private:
    static constexpr long settling = 16;  // rows that may still change the scale
    Buffer squares_;
    double scale_ = 0;
    long seen_ = 0;
};

/// A feature of the row at hand.
struct Active {
    std::uint64_t key, hash;
    double value;  // in units of the scale
    float* slot;
};

/// The features of one row, each once, after an intercept of value 1.
class ActiveFeatures {
   public:
    std::size_t size() const { return all_.size(); }
    Active& operator[](std::size_t i) { return all_[i]; }
    auto begin() const { return all_.begin(); }
    auto end() const { return all_.end(); }

    /// Multiplies values by `factor`, adds up those of one key, and leaves out zeros.
    void set(const SparseRow& row, double factor, float* intercept) {
        all_.clear();
        all_.push_back({0, 0, 1.0, intercept});
        if (row.is_distinct) {
            for (long i = 0; i < row.nnz; ++i) {
                const double value = bounded(factor * bounded(row.values[i]), largest);
                if (value != 0) all_.push_back({row.keys[i], hash_of(row.keys[i]), value, nullptr});
            }
            return;
        }
        std::size_t places = 16;
        while (long(places) < 2 * row.nnz) places *= 2;
        table_.assign(places, 0);
        for (long i = 0; i < row.nnz; ++i) {
            const std::uint64_t key = row.keys[i], hash = hash_of(key);
            std::size_t at = (hash >> 32) & (places - 1);
            while (table_[at] != 0 && all_[table_[at]].key != key) at = (at + 1) & (places - 1);
            if (table_[at] == 0) {
                table_[at] = std::uint32_t(all_.size());
                all_.push_back({key, hash, 0.0, nullptr});
            }
            all_[table_[at]].value += bounded(row.values[i]);
        }
        for (Active& each : all_) {
            if (each.slot) continue;
            each.value = std::min(std::max(factor * each.value, -largest), largest);
        }
        const auto is_zero = [](const Active& each) { return each.value == 0; };
        all_.erase(std::remove_if(all_.begin(), all_.end(), is_zero), all_.end());
    }

   private:
    static constexpr double largest = 1e6;  // of a value; what is beyond counts as this
    std::vector<Active> all_;
    std::vector<std::uint32_t> table_;  // 0: free; else a place in all_, whose first has no key
};

}  // namespace MIXABLE_ISA
