// The experts of a pool: each makes its own inputs of a record.
#pragma once

#include <vector>

#include "any_forecaster.hpp"
#include "landmarks.hpp"
#include "scaled_block.hpp"
#include "shapes.hpp"
#include "sparse.hpp"

namespace MIXABLE_ISA {

/// What is known of one example: numbers (NaN for what is missing), and sparse features. What is
/// `shown` of each number to those who take sparse features is a Shown; null: all. Of an example
/// whose label comes late, `scaled` has the numbers as they were scaled for its forecast, and then
/// what the judge heard; see `Pooled::kept`.
struct Record {
    const double* x;
    SparseRow features, crosses;
    const char* shown = nullptr;
    const double* scaled = nullptr;
};

/// An expert of a pool with its inputs. A record is read first, then predicted, then learned.
class PoolExpert {
   public:
    virtual ~PoolExpert() = default;
    /// Makes its inputs of a record; refuses numbers that are too large.
    virtual void read(const Record& record) = 0;
    virtual void predict(double* p) = 0;
    /// Learns the record that was read, and so do its inputs if the weight is above 0.
    virtual void learn(const Record& record, long y, double weight) = 0;
    /// Predicts up to `block` records, for less than one after the other; p (n x K).
    virtual void predict_many(const Record* records, long n, double* p) = 0;
    /// Predicts and learns many records, for less. First they are scaled in blocks, from the record
    /// `first` on: those that `scaled` has begun with. Scalers learn them.
    virtual void take(const Record* records, long first, long n, ScaledBlock& scaled) = 0;
    /// Then each block is predicted and learned; p (n x K). Experts may do so at the same time.
    virtual void run(const Record* records, long first, long n, const long* y, const double* weight,
                     double* p) = 0;

    /// Whether `run` has the bits of `read`, `predict` and `learn`.
    virtual bool runs_as_one_by_one() const { return false; }
    virtual const Scaler& scaler() const = 0;

    static constexpr long block = 64;

   protected:
    /// The views z of a record: as it is scaled now, or was for its forecast.
    void transform(const Record& record, double* z) const {
        if (record.scaled)
            scaler().spread(record.scaled, z);
        else
            scaler().transform(record.x, z);
    }
    /// Lets a buffer have room for n numbers; those in it stay.
    static void make_room(long n, Buffer& buffer) {
        if (n <= buffer.size()) return;
        Buffer larger(n);
        copy(buffer, buffer.size(), larger);
        buffer = std::move(larger);
    }
};

/// A mixture on scaled inputs, with features by landmarks if there is a map. With one, a row is
/// the intercept, the features times `amplitude`, and the inputs in their last scaling, or zeros if
/// these are not to stand `beside`.
class ScaledExpert final : public PoolExpert {
   public:
    ScaledExpert(Scaler& scaler, AnyForecaster<long>& forecaster, Landmarks* map, double amplitude,
                 bool beside)
        : scaler_(scaler),
          forecaster_(forecaster),
          map_(map),
          amplitude_(amplitude),
          beside_(beside),
          scaled_(scaler.views * scaler.width),
          length_(map ? scaler.width + map->m : scaled_.size()),
          features_(map ? block * map->m : 0),
          rows_((map ? block : 1) * length_) {
        if (forecaster.row_length() != length_ || (map && map->d != scaler.d))
            throw std::invalid_argument("inputs and forecaster do not go together");
    }

    void read(const Record& record) override {
        transform(record, scaled_);
        if (map_) may_be_landmark_ = map_->transform(last_scaling(), features_);
        make_row(last_scaling(), features_, rows_);
        check_size(rows_);
    }
    void predict_many(const Record* records, long n, double* p) override {
        make_room(n * taken_width(), taken_);
        for (long t = 0; t < n; ++t) {
            scaler_.transform(records[t].x, scaled_);
            const double* taken = map_ ? last_scaling() : scaled_;
            copy(taken, taken_width(), taken_ + t * taken_width());
        }
        const double* rows = taken_;
        if (map_) {
            map_->transform_many(taken_, n, features_);
            make_rows(taken_, n);
            rows = rows_;
        }
        for (long t = 0; t < n; ++t) check_size(rows + t * length_);
        forecaster_.predict_many(rows, n, p);
    }
    void predict(double* p) override { forecaster_.predict(rows_, p); }
    void learn(const Record& record, long y, double weight) override {
        forecaster_.learn(rows_, y, weight);
        if (!(weight > 0)) return;
        if (may_be_landmark_) map_->add(last_scaling(), features_);
        may_be_landmark_ = false;
        scaler_.learn(record.x, scaled_);
    }
    void take(const Record* records, long first, long n, ScaledBlock& scaled) override {
        const long d = scaler_.d, width = scaler_.width;
        scaled.scale(scaler_, [&](long t) { return records[first + t].x; });
        may_be_landmark_ = false;
        make_room((first + n) * taken_width(), taken_);
        for (long t = 0; t < n; ++t) {
            double* row = taken_ + (first + t) * taken_width();
            if (map_) {
                copy(scaled.view(t, -1), d, row);
                continue;
            }
            for (long v = 0; v < scaler_.views; ++v, row += width) {
                if (width > d) row[0] = 1.0;
                copy(scaled.view(t, v), d, row + width - d);
            }
        }
    }
    void run(const Record*, long first, long n, const long* y, const double* weight,
             double* p) override {
        const double* taken = taken_ + first * taken_width();
        if (!map_) return forecaster_.run(taken, y, weight, n, p);
        bool counts[block] = {};
        for (long t = 0; t < n; ++t) counts[t] = !weight || weight[t] > 0;
        map_->learn_many(taken, counts, n, features_);
        make_rows(taken, n);
        forecaster_.run(rows_, y, weight, n, p);
    }

    const Scaler& scaler() const override { return scaler_; }

   private:
    /// Numbers that are kept of a record that was taken: the rows, or the last scaling.
    long taken_width() const { return map_ ? scaler_.d : length_; }
    void check_size(const double* row) const {
        if (!(squared_norm(row, length_) <= forecaster_.largest_square()))
            throw std::domain_error("x is too large: scale the inputs");
    }
    /// Rows of what was taken and its features.
    void make_rows(const double* taken, long n) {
        for (long t = 0; t < n; ++t)
            make_row(taken + t * scaler_.d, features_ + t * map_->m, rows_ + t * length_);
    }
    const double* last_scaling() const { return scaled_ + (scaled_.size() - scaler_.d); }

    void make_row(const double* last, const double* features, double* row) const {
        if (!map_) return copy(scaled_, length_, row);
        const long d = scaler_.d, first = scaler_.width - d, m = map_->m;
        if (first) row[0] = 1.0;
        for (long i = 0; i < m; ++i) row[first + i] = amplitude_ * features[i];
        if (beside_)
            copy(last, d, row + first + m);
        else
            set_to_zero(row + first + m, d);
    }

    Scaler& scaler_;
    AnyForecaster<long>& forecaster_;
    Landmarks* map_;
    double amplitude_;
    bool beside_;
    bool may_be_landmark_ = false;
    Buffer scaled_;
    long length_;  // of a row
    Buffer taken_, features_, rows_;
};

/// Sparse features: those of the record, if wanted, and shapes of its scaled numbers.
class SparseExpert final : public PoolExpert {
   public:
    SparseExpert(Scaler& scaler, Sparse& forecaster, const Shapes& shapes)
        : scaler_(scaler),
          forecaster_(forecaster),
          shapes_(shapes),
          scaled_(scaler.views * scaler.width) {}

    void read(const Record& record) override {
        transform(record, scaled_);
        make_row(record, scaled_ + (scaled_.size() - scaler_.d));
    }
    void predict(double* p) override { forecaster_.predict(row(), p); }
    void predict_many(const Record* records, long n, double* p) override {
        for (long t = 0; t < n; ++t) {
            read(records[t]);
            predict(p + t * forecaster_.K);
        }
    }
    void learn(const Record& record, long y, double weight) override {
        forecaster_.learn(row(), y, weight);
        if (weight > 0) scaler_.learn(record.x, scaled_);
    }
    void take(const Record* records, long first, long n, ScaledBlock& scaled) override {
        const long d = scaler_.d;
        scaled.scale(scaler_, [&](long t) { return records[first + t].x; });
        make_room((first + n) * d, taken_);
        for (long t = 0; t < n; ++t) copy(scaled.view(t, -1), d, taken_ + (first + t) * d);
    }
    void run(const Record* records, long first, long n, const long* y, const double* weight,
             double* p) override {
        for (long t = 0; t < n; ++t) {
            make_row(records[first + t], taken_ + (first + t) * scaler_.d);
            forecaster_.step(row(), y[t], weight ? weight[t] : 1.0, p + t * forecaster_.K);
        }
    }
    bool runs_as_one_by_one() const override { return true; }
    const Scaler& scaler() const override { return scaler_; }

   private:
    void make_row(const Record& record, const double* z) {
        keys_.clear();
        values_.clear();
        if (shapes_.takes_features) take(record.features);
        if (shapes_.takes_crosses) take(record.crosses);
        const char* shown = shapes_.takes_features ? record.shown : nullptr;
        shapes_.add(record.x, z, scaler_.d, shown, keys_, values_);
    }
    void take(const SparseRow& given) {
        keys_.insert(keys_.end(), given.keys, given.keys + given.nnz);
        values_.insert(values_.end(), given.values, given.values + given.nnz);
    }
    /// Shapes make each key once.
    SparseRow row() const {
        const bool is_distinct = !shapes_.takes_features && !shapes_.takes_crosses;
        return {keys_.data(), values_.data(), long(keys_.size()), is_distinct};
    }

    Scaler& scaler_;
    Sparse& forecaster_;
    Shapes shapes_;
    Buffer scaled_, taken_;
    std::vector<std::uint64_t> keys_;
    std::vector<double> values_;
};

}  // namespace MIXABLE_ISA
