// The experts of a pool: each makes its own inputs of a record. A kind of expert is one class, and
// one row in `expert_of` (../pool_model.hpp).
#pragma once

#include <cstdio>
#include <vector>

#include "any_forecaster.hpp"
#include "feature_map.hpp"
#include "scaled_block.hpp"
#include "shapes.hpp"
#include "sparse.hpp"
#include "sparse_ridge.hpp"

namespace MIXABLE_ISA {

/// What is known of one example: numbers (NaN for what is missing), and sparse features. What is
/// `shown` of each number to those who take sparse features is a Shown; null: all. Of an example
/// whose outcome comes late, `scaled` has the numbers as they were scaled for its forecast, and
/// then what the judge heard; see `Pool::kept`.
struct Record {
    const double* x;
    SparseRow features, crosses;
    const char* shown = nullptr;
    const double* scaled = nullptr;
};

/// The views z of a record: as it is scaled now, or was for its forecast.
inline void transform(const Scaler& scaler, const Record& record, double* z) {
    if (record.scaled)
        scaler.spread(record.scaled, z);
    else
        scaler.transform(record.x, z);
}

/// Lets a buffer have room for n numbers; those in it stay.
inline void make_room(long n, Buffer& buffer) {
    if (n <= buffer.size()) return;
    Buffer larger(n);
    copy(buffer, buffer.size(), larger);
    buffer = std::move(larger);
}

/// An expert of a pool with its inputs. A record is read first, then predicted, then learned. Of a
/// record it says `outputs` numbers: probabilities, or a mean and a standard deviation.
template <class Outcome>
class Expert {
   public:
    virtual ~Expert() = default;
    virtual long outputs() const = 0;
    virtual long steps() const = 0;
    /// Multiplications of a step, roughly.
    virtual double cost() const = 0;
    /// Makes its inputs of a record; refuses numbers that are too large.
    virtual void read(const Record& record) = 0;
    virtual void predict(double* p) = 0;
    /// Learns the record that was read, and so do its inputs if the weight is above 0.
    virtual void learn(const Record& record, Outcome y, double weight) = 0;
    /// Predicts up to `block` records, for less than one after the other; p (n x outputs).
    virtual void predict_many(const Record* records, long n, double* p) = 0;
    /// Predicts and learns many records, for less. First they are scaled in blocks, from the record
    /// `first` on: those that `scaled` has begun with. Inputs learn them. Outcomes and weights
    /// (null: all are 1) are those of all records.
    virtual void take(const Record* records, long first, long n, const Outcome* y,
                      const double* weight, ScaledBlock& scaled) = 0;
    /// Then each block is predicted and learned; p (n x outputs). Experts may do so at the same
    /// time.
    virtual void run(const Record* records, long first, long n, const Outcome* y,
                     const double* weight, double* p) = 0;

    /// What its forecaster sees of the record that was read: where the forecast begins, then the
    /// row. Nothing where the row is sparse.
    virtual std::vector<double> row() const { return {}; }

    /// Whether `run` has the bits of `read`, `predict` and `learn`.
    virtual bool runs_as_one_by_one() const { return false; }
    virtual const Scaler& scaler() const = 0;

    static constexpr long block = 64;
};

/// The sparse row of a record: its features, if wanted, and shapes of its scaled numbers.
class SparseInputs {
   public:
    SparseInputs(Scaler& scaler, const Shapes& shapes)
        : scaler(scaler), shapes_(shapes), scaled_(scaler.views * scaler.width) {}

    Scaler& scaler;

    void read(const Record& record) {
        transform(scaler, record, scaled_);
        read(record, last_scaling());
    }
    /// The same if its numbers, scaled, are z.
    void read(const Record& record, const double* z) {
        keys_.clear();
        values_.clear();
        if (shapes_.takes_features) take(record.features);
        if (shapes_.takes_crosses) take(record.crosses);
        const char* shown = shapes_.takes_features ? record.shown : nullptr;
        shapes_.add(record.x, z, scaler.d, shown, keys_, values_);
    }
    void learn(const Record& record) { scaler.learn(record.x, scaled_); }

    const double* last_scaling() const { return scaled_ + (scaled_.size() - scaler.d); }
    /// Shapes make each key once.
    SparseRow row() const {
        const bool is_distinct = !shapes_.takes_features && !shapes_.takes_crosses;
        return {keys_.data(), values_.data(), long(keys_.size()), is_distinct};
    }

   private:
    void take(const SparseRow& given) {
        keys_.insert(keys_.end(), given.keys, given.keys + given.nnz);
        values_.insert(values_.end(), given.values, given.values + given.nnz);
    }

    Shapes shapes_;
    Buffer scaled_;
    std::vector<std::uint64_t> keys_;
    std::vector<double> values_;
};

/// Sparse softmax regression on the sparse row of a record.
class SparseExpert final : public Expert<long> {
   public:
    SparseExpert(Scaler& scaler, Sparse& forecaster, const Shapes& shapes)
        : inputs_(scaler, shapes), forecaster_(forecaster) {}

    long outputs() const override { return forecaster_.K; }
    long steps() const override { return forecaster_.steps(); }
    double cost() const override { return 1e3; }

    void read(const Record& record) override { inputs_.read(record); }
    void predict(double* p) override { forecaster_.predict(inputs_.row(), p); }
    void predict_many(const Record* records, long n, double* p) override {
        for (long t = 0; t < n; ++t) {
            read(records[t]);
            predict(p + t * forecaster_.K);
        }
    }
    void learn(const Record& record, long y, double weight) override {
        forecaster_.learn(inputs_.row(), y, weight);
        if (weight > 0) inputs_.learn(record);
    }
    void take(const Record* records, long first, long n, const long*, const double*,
              ScaledBlock& scaled) override {
        const long d = inputs_.scaler.d;
        scaled.scale(inputs_.scaler, [&](long t) { return records[first + t].x; });
        make_room((first + n) * d, taken_);
        for (long t = 0; t < n; ++t) copy(scaled.view(t, -1), d, taken_ + (first + t) * d);
    }
    void run(const Record* records, long first, long n, const long* y, const double* weight,
             double* p) override {
        for (long t = 0; t < n; ++t) {
            inputs_.read(records[first + t], taken_ + (first + t) * inputs_.scaler.d);
            forecaster_.step(inputs_.row(), y[t], weight ? weight[t] : 1.0, p + t * forecaster_.K);
        }
    }
    bool runs_as_one_by_one() const override { return true; }
    const Scaler& scaler() const override { return inputs_.scaler; }

   private:
    SparseInputs inputs_;
    Sparse& forecaster_;
    Buffer taken_;
};

/// What dense experts of numbers see of records: regressions on the sparse row. The mean of what
/// these say is where the experts begin, what each of them says are their columns, then the scaled
/// numbers. Forecasts of the stage are made before an outcome is learned, as all others: so experts
/// learn how good they are on records that are new.
class SparseStage {
   public:
    SparseStage(Scaler& scaler, SparseRidge& ridge, const Shapes& shapes)
        : inputs_(scaler, shapes), ridge_(ridge), said_(width()) {}

    /// Columns without the numbers, and with them.
    long columns() const { return ridge_.S + 1; }
    long all_columns() const { return columns() + inputs_.scaler.d; }
    Scaler& scaler() { return inputs_.scaler; }

    void read(const Record& record) {
        inputs_.read(record);
        ridge_.predict(inputs_.row(), said_);
        copy(inputs_.last_scaling(), inputs_.scaler.d, said_ + 1 + columns());
    }
    void learn(const Record& record, double y, double weight) {
        ridge_.learn(inputs_.row(), y, weight);
        if (weight > 0) inputs_.learn(record);
    }
    /// Both, for many records one after the other.
    void take(const Record* records, long first, long n, const double* y, const double* weight) {
        make_room((first + n) * width(), taken_);
        for (long t = first; t < first + n; ++t) {
            read(records[t]);
            copy(said_, width(), taken_ + t * width());
            learn(records[t], y[t], weight ? weight[t] : 1.0);
        }
    }
    /// Where experts begin, and the columns, of the record that was read or of one that was taken.
    const double* said() const { return said_; }
    const double* taken(long t) const { return taken_ + t * width(); }

   private:
    long width() const { return 1 + all_columns(); }

    SparseInputs inputs_;
    SparseRidge& ridge_;
    Buffer said_, taken_;
};

/// What a dense expert sees beside its columns: for each map a view with the intercept, the map's
/// features times `amplitude`, and the columns in their last scaling, or zeros if these are not to
/// stand `beside`. With `linear`, a view before them has the columns in their first scaling alone.
/// Without maps it sees the views of the scaler.
struct Views {
    std::vector<FeatureMap*> maps;
    double amplitude = 1;
    bool beside = true, linear = false;

    long m() const { return maps.empty() ? 0 : maps[0]->m; }
    long count(long scalings) const {
        return maps.empty() ? scalings : long(maps.size()) + (linear ? 1 : 0);
    }
};

/// A forecaster of dense rows: of scaled numbers, or of what a stage says; and of their features.
template <class Outcome>
class DenseExpert final : public Expert<Outcome> {
   public:
    using Expert<Outcome>::block;

    /// With a stage, the first expert of the pool `leads` it.
    DenseExpert(Scaler& scaler, AnyForecaster<Outcome>& forecaster, Views views,
                SparseStage* stage = nullptr, bool leads = true)
        : scaler_(scaler),
          stage_(stage),
          leads_(leads),
          forecaster_(forecaster),
          views_(std::move(views)),
          d_(!stage       ? scaler.d
             : has_maps() ? stage->all_columns()
                          : stage->columns()),
          width_(stage ? d_ + 1 : scaler.width),
          scaled_((stage ? 1 : scaler.views) * width_),
          length_(views_.count(stage ? 1 : scaler.views) * (width_ + m())),
          features_(block * maps() * m()),
          rows_((has_maps() ? block : 1) * length_),
          may_learn_(views_.maps.size()) {
        bool fit = forecaster.row_length() == length_;
        for (const FeatureMap* map : views_.maps) fit = fit && map->d == d_ && map->m == m();
        if (!fit) throw std::invalid_argument("inputs and forecaster do not go together");
    }

    long outputs() const override { return forecaster_.outputs(); }
    long steps() const override { return forecaster_.steps(); }
    double cost() const override { return forecaster_.cost(); }
    const Scaler& scaler() const override { return scaler_; }

    void read(const Record& record) override {
        see(record, leads_);
        for (long v = 0; v < maps(); ++v)
            may_learn_[std::size_t(v)] = map(v).transform(last_scaling(), features_ + v * m());
        make_row(first_scaling(), last_scaling(), features_, m(), rows_);
        check_size(rows_);
    }
    void predict(double* p) override {
        forecaster_.predict(rows_, p);
        p[0] += offset_;
    }
    std::vector<double> row() const override {
        std::vector<double> out{offset_};
        out.insert(out.end(), rows_ + 0, rows_ + length_);
        return out;
    }
    void learn(const Record& record, Outcome y, double weight) override {
        const long before = forecaster_.steps();
        try {
            forecaster_.learn(rows_, without(offset_, y), weight);
        } catch (...) {  // Ctrl-C in a forecaster of Python may come when it has learned the row
            if (forecaster_.steps() > before) learn_inputs(record, y, weight);
            throw;
        }
        learn_inputs(record, y, weight);
    }
    void predict_many(const Record* records, long n, double* p) override {
        make_room(n * taken_width(), taken_);
        make_room(n, offsets_);
        for (long t = 0; t < n; ++t) {
            see(records[t], true);
            offsets_[t] = offset_;
            if (has_maps())
                keep(first_scaling(), last_scaling(), taken_ + t * taken_width());
            else
                copy(scaled_, length_, taken_ + t * length_);
        }
        const double* rows = taken_;
        if (has_maps()) {
            const double* last = last_scalings(taken_, n);
            for (long v = 0; v < maps(); ++v)
                map(v).transform_many(last, n, features_ + v * block * m());
            rows = make_rows(taken_, n);
        }
        for (long t = 0; t < n; ++t) check_size(rows + t * length_);
        forecaster_.predict_many(rows, n, p);
        if (stage_)
            for (long t = 0; t < n; ++t) p[t * outputs()] += offsets_[t];
    }
    void take(const Record* records, long first, long n, const Outcome* y, const double* weight,
              ScaledBlock& scaled) override {
        may_learn_.assign(may_learn_.size(), false);
        make_room((first + n) * taken_width(), taken_);
        if constexpr (!of_labels)
            if (stage_) return take_from_stage(records, first, n, y, weight);
        scaled.scale(scaler_, [&](long t) { return records[first + t].x; });
        for (long t = 0; t < n; ++t) {
            double* row = taken_ + (first + t) * taken_width();
            if (has_maps()) {
                keep(scaled.view(t, 0), scaled.view(t, -1), row);
                continue;
            }
            for (long v = 0; v < scaler_.views; ++v, row += width_) {
                if (width_ > d_) row[0] = 1.0;
                copy(scaled.view(t, v), d_, row + width_ - d_);
            }
        }
    }
    void run(const Record*, long first, long n, const Outcome* y, const double* weight,
             double* p) override {
        const double* rows = taken_ + first * taken_width();
        if (has_maps()) {
            bool counts[block] = {};
            for (long t = 0; t < n; ++t) counts[t] = !weight || weight[t] > 0;
            const double* last = last_scalings(rows, n);
            for (long v = 0; v < maps(); ++v)
                map(v).learn_many(last, counts, n, features_ + v * block * m());
            rows = make_rows(rows, n);
        }
        if constexpr (of_labels) {
            forecaster_.run(rows, y, weight, n, p);
        } else {
            const long width = forecaster_.columns(), K = outputs();
            double left[block], offset[block] = {};
            if (stage_) copy(offsets_ + first, n, offset);
            for (long t = 0; t < n; ++t) left[t] = y[t] - offset[t];
            make_room(n * width, said_);  // with a score of each
            forecaster_.run(rows, left, weight, n, said_);
            for (long t = 0; t < n; ++t) {
                copy(said_ + t * width, K, p + t * K);
                p[t * K] += offset[t];
            }
        }
    }

   private:
    static constexpr bool of_labels = std::is_same_v<Outcome, long>;

    bool has_maps() const { return !views_.maps.empty(); }
    long maps() const { return long(views_.maps.size()); }
    long m() const { return views_.m(); }
    FeatureMap& map(long v) { return *views_.maps[std::size_t(v)]; }
    static long without(double, long y) { return y; }
    static double without(double offset, double y) { return y - offset; }

    void learn_inputs(const Record& record, Outcome y, double weight) {
        if constexpr (!of_labels)
            if (stage_ && leads_) stage_->learn(record, y, weight);
        if (!(weight > 0)) return;
        for (long v = 0; v < maps(); ++v) {
            if (may_learn_[std::size_t(v)]) map(v).add(last_scaling(), features_ + v * m());
            may_learn_[std::size_t(v)] = false;
        }
        if (!stage_) scaler_.learn(record.x, scaled_);
    }

    /// Sets the columns of a record, and where a forecast begins.
    void see(const Record& record, bool reads) {
        if (!stage_) return transform(scaler_, record, scaled_);
        if (reads) stage_->read(record);
        offset_ = stage_->said()[0];
        scaled_[0] = 1.0;
        copy(stage_->said() + 1, d_, scaled_ + 1);
    }
    void take_from_stage(const Record* records, long first, long n, const double* y,
                         const double* weight) {
        if (leads_) stage_->take(records, first, n, y, weight);
        make_room(first + n, offsets_);
        for (long t = first; t < first + n; ++t) {
            const double* said = stage_->taken(t);
            double* row = taken_ + t * taken_width();
            offsets_[t] = said[0];
            if (!has_maps()) *row++ = 1.0;
            copy(said + 1, d_, row);
        }
    }

    /// Numbers that are kept of a record that was taken: the row, or the scalings that a row of
    /// features is made of: the last, and the first after it where a view needs that.
    long taken_width() const { return has_maps() ? (views_.linear ? 2 : 1) * d_ : length_; }
    void keep(const double* first, const double* last, double* taken) const {
        copy(last, d_, taken);
        if (views_.linear) copy(first, d_, taken + d_);
    }
    /// The last scalings of n records one after the other.
    const double* last_scalings(const double* taken, long n) {
        if (!views_.linear) return taken;
        if (!last_.size()) last_ = Buffer(block * d_);
        for (long t = 0; t < n; ++t) copy(taken + t * taken_width(), d_, last_ + t * d_);
        return last_;
    }
    void check_size(const double* row) const {
        const double square = squared_norm(row, length_), most = forecaster_.largest_square();
        if (square <= most) return;
        char text[160];
        std::snprintf(text, sizeof text,
                      "x is too large: |x|^2 is %.3g, and double precision allows at most %.3g; "
                      "scale the inputs",
                      square, most);
        throw std::domain_error(text);
    }
    const double* first_scaling() const { return scaled_ + (width_ - d_); }
    const double* last_scaling() const { return scaled_ + (scaled_.size() - d_); }

    /// Rows of what was taken and its features.
    const double* make_rows(const double* taken, long n) {
        for (long t = 0; t < n; ++t) {
            const double* last = taken + t * taken_width();
            make_row(last + d_, last, features_ + t * m(), block * m(), rows_ + t * length_);
        }
        return rows_;
    }
    /// The features of map v begin at features + v * step.
    void make_row(const double* first, const double* last, const double* features, long step,
                  double* row) const {
        if (!has_maps()) return copy(scaled_, length_, row);
        if (views_.linear) row = put(row, nullptr, first);
        for (long v = 0; v < maps(); ++v)
            row = put(row, features + v * step, views_.beside ? last : nullptr);
    }
    /// Writes one view, zeros for what is null; returns where the next begins.
    double* put(double* row, const double* features, const double* columns) const {
        const long first = width_ - d_;
        if (first) row[0] = 1.0;
        for (long i = 0; i < m(); ++i)
            row[first + i] = features ? views_.amplitude * features[i] : 0.0;
        if (columns)
            copy(columns, d_, row + first + m());
        else
            set_to_zero(row + first + m(), d_);
        return row + width_ + m();
    }

    Scaler& scaler_;
    SparseStage* stage_;
    bool leads_;
    AnyForecaster<Outcome>& forecaster_;
    Views views_;
    long d_, width_;  // columns; and the intercept
    Buffer scaled_;
    long length_;  // of a row
    Buffer taken_, features_, rows_, last_, said_, offsets_;
    double offset_ = 0;
    std::vector<char> may_learn_;  // whether the record that was read may become a part of a map
};

}  // namespace MIXABLE_ISA
