// The dense experts of a pool: each makes its own inputs of a record. A kind of expert is one
// class, and one row in `expert_of` (bindings/pool_model.hpp).
#pragma once

#include <cstdio>
#include <vector>

#include "core/inputs/feature_map.hpp"
#include "core/rule/any_forecaster.hpp"
#include "core/sparse/sparse_experts.hpp"

namespace MIXABLE_ISA {

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

    /// With a stage, the first expert of the pool `leads` it. `picks` says what the expert sees of
    /// a record, if not all its numbers: number i (with a stage, column i of that), or the column i
    /// that is made of categories, as -1 - i.
    DenseExpert(Scaler& scaler, AnyForecaster<Outcome>& forecaster, Views views,
                SparseStage* stage = nullptr, bool leads = true, std::vector<long> picks = {})
        : scaler_(scaler),
          stage_(stage),
          leads_(leads),
          forecaster_(forecaster),
          views_(std::move(views)),
          picks_(std::move(picks)),
          wide_(long(picks_.size())),
          d_(!stage            ? scaler.d
             : !picks_.empty() ? long(picks_.size())
             : has_maps()      ? stage->all_columns()
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
        scaled.scale(scaler_, [&](long t) { return numbers(records[first + t]); }, picks_);
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
        if (!stage_) scaler_.learn(picks_.empty() ? record.x : wide_, scaled_);
    }

    /// Sets the columns of a record, and where a forecast begins.
    void see(const Record& record, bool reads) {
        if (!stage_ && picks_.empty()) return transform(scaler_, record, scaled_);
        if (!stage_) return see_picked(record);
        if (reads) stage_->read(record);
        offset_ = stage_->said()[0];
        scaled_[0] = 1.0;
        copy(picked(stage_->said() + 1, record), d_, scaled_ + 1);
    }
    void see_picked(const Record& record) {
        scaler_.transform(numbers(record), scaled_);
        if (!record.scaled) return;
        Buffer then(d_);
        scaler_.scale(wide_, then);
        for (std::size_t j = 0; j < picks_.size(); ++j)
            if (picks_[j] >= 0) then[long(j)] = record.scaled[picks_[j]];
        scaler_.spread(then, wide_, scaled_);
    }
    /// What the expert sees of a record, as it is.
    const double* numbers(const Record& record) { return picked(record.x, record); }
    const double* picked(const double* x, const Record& record) {
        if (picks_.empty()) return x;
        for (std::size_t j = 0; j < picks_.size(); ++j)
            wide_[long(j)] = picks_[j] >= 0 ? x[picks_[j]] : record.made[-1 - picks_[j]];
        return wide_;
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
            copy(picked(said + 1, records[t]), d_, row);
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
    std::vector<long> picks_;
    Buffer wide_;     // what was picked
    long d_, width_;  // columns; and the intercept
    Buffer scaled_;
    long length_;  // of a row
    Buffer taken_, features_, rows_, last_, said_, offsets_;
    double offset_ = 0;
    std::vector<char> may_learn_;  // whether the record that was read may become a part of a map
};

}  // namespace MIXABLE_ISA
