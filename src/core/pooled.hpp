// The protocol of a pool: each expert makes its own inputs of a record and predicts, the judge
// pools what they say, all learn, then the inputs of each learn the record.
#pragma once

#include <memory>
#include <vector>

#include "any_forecaster.hpp"
#include "follow.hpp"
#include "landmarks.hpp"
#include "parallel.hpp"
#include "pool.hpp"
#include "scaled_block.hpp"
#include "shapes.hpp"
#include "sparse.hpp"

namespace MIXABLE_ISA {

/// What is known of one example: numbers (NaN for what is missing), and sparse features. What is
/// `shown` of each number to those who take sparse features is a Shown; null: all.
struct Record {
    const double* x;
    SparseRow features, crosses;
    const char* shown = nullptr;
};

/// A record that is kept, to be compared with another, bit by bit.
class RecordCopy {
   public:
    void set(const Record& record, long d) {
        numbers_.assign(record.x, record.x + d);
        keys_.clear();
        for (const SparseRow& row : {record.features, record.crosses}) {
            keys_.insert(keys_.end(), row.keys, row.keys + row.nnz);
            numbers_.insert(numbers_.end(), row.values, row.values + row.nnz);
        }
        first_ = record.features.nnz;
    }
    bool is(const Record& record, long d) const {
        const SparseRow &one = record.features, &two = record.crosses;
        const auto same = [](const auto* a, const auto* b, long n) {
            return n == 0 || std::memcmp(a, b, std::size_t(n) * sizeof *a) == 0;
        };
        const double* values = numbers_.data() + d;
        return one.nnz == first_ && one.nnz + two.nnz == long(keys_.size()) &&
               d + one.nnz + two.nnz == long(numbers_.size()) &&
               same(numbers_.data(), record.x, d) && same(keys_.data(), one.keys, one.nnz) &&
               same(keys_.data() + one.nnz, two.keys, two.nnz) &&
               same(values, one.values, one.nnz) && same(values + one.nnz, two.values, two.nnz);
    }

   private:
    std::vector<double> numbers_;
    std::vector<std::uint64_t> keys_;
    long first_ = 0;
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
    /// The same of many records, for less. First they are scaled in blocks, from the record
    /// `first` on: those that `scaled` has begun with. Scalers learn them.
    virtual void take(const Record* records, long first, long n, ScaledBlock& scaled) = 0;
    /// Then each block is predicted and learned; p (n x K). Experts may do so at the same time.
    virtual void run(const Record* records, long first, long n, const long* y, const double* weight,
                     double* p) = 0;

    /// Whether `run` has the bits of `read`, `predict` and `learn`.
    virtual bool runs_as_one_by_one() const { return false; }

    static constexpr long block = 64;

   protected:
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
        scaler_.transform(record.x, scaled_);
        if (map_) may_be_landmark_ = map_->transform(last_scaling(), features_);
        make_row(last_scaling(), features_, rows_);
        if (!(squared_norm(rows_, length_) <= forecaster_.largest_square()))
            throw std::domain_error("x is too large: scale the inputs");
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
        for (long t = 0; t < n; ++t)
            make_row(taken + t * scaler_.d, features_ + t * map_->m, rows_ + t * length_);
        forecaster_.run(rows_, y, weight, n, p);
    }

   private:
    /// Numbers that are kept of a record that was taken: the rows, or the last scaling.
    long taken_width() const { return map_ ? scaler_.d : length_; }
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
        scaler_.transform(record.x, scaled_);
        make_row(record, scaled_ + (scaled_.size() - scaler_.d));
    }
    void predict(double* p) override { forecaster_.predict(row(), p); }
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

/// Experts and their judge. While they rest, the pool is its first expert.
class Pooled {
   public:
    /// Records have d numbers.
    Pooled(long d, std::vector<std::unique_ptr<PoolExpert>> experts, Judge& judge)
        : d(d), experts_(std::move(experts)), judge_(judge), said_(judge.N * judge.K) {
        if (long(experts_.size()) != judge.N)
            throw std::invalid_argument("experts and judge do not go together");
    }

    const long d;
    long outputs() const { return judge_.K; }

    void predict(const Record& record, double* p) {
        listen(record);
        if (judge_.rest().is_resting())
            copy(said_, judge_.K, p);
        else
            judge_.predict(said_, p);
    }

    /// All learn a record, or none: it is refused before the first does.
    void learn(const Record& record, long y, double weight) {
        if (!(weight >= 0 && weight <= 1e12)) refuse_example();
        listen(record);
        push(record, y, weight);
    }

    /// `predict`, then `learn` if y is not negative.
    void step(const Record& record, long y, double weight, double* p) {
        Rest& rest = judge_.rest();
        if (y >= 0 && rest.is_resting() && expert(0).runs_as_one_by_one()) {
            const bool counts = weight > 0;
            scaled_.begin(&counts, 1);
            has_heard_ = false;
            expert(0).take(&record, 0, 1, scaled_);
            expert(0).run(&record, 0, 1, &y, &weight, p);
            rest.add_alone(1);
            if (judge_.steps() % Rest::period == 0) rest.review();
            return;
        }
        predict(record, p);
        if (y >= 0) push(record, y, weight);
    }

    /// The same of the next n records, all with labels, for less; returns how many were done: at
    /// most `most_rows`, and none after the next review of who rests.
    long run(const Record* records, const long* y, const double* weight, long n, double* p) {
        constexpr long block = PoolExpert::block;
        static_assert(Rest::period % block == 0);
        const long N = judge_.N, K = judge_.K, steps = judge_.steps();
        Rest& rest = judge_.rest();
        n = std::min({n, most_rows(), Rest::period - steps % Rest::period});
        // Blocks end where the number of steps is a multiple of their length.
        const long before = steps % block, blocks = (before + n + block - 1) / block;
        const auto start = [&](long b) { return std::max(b * block - before, 0L); };
        const auto length = [&](long b) { return std::min(start(b + 1), n) - start(b); };
        const auto weight_from = [&](long t) { return weight ? weight + t : nullptr; };
        const auto run_block = [&](long e, long b, double* out) {
            const long t = start(b);
            expert(e).run(records, t, length(b), y + t, weight_from(t), out);
        };
        has_heard_ = false;
        for (long b = 0; b < blocks; ++b) take(records, start(b), length(b), weight);
        if (rest.is_resting()) {
            for (long b = 0; b < blocks; ++b) run_block(0, b, p + start(b) * K);
            rest.add_alone(n);
        } else {
            if (said_.size() < n * N * K) said_ = Buffer(n * N * K);
            if (!own_.size()) own_ = Buffer(N * block * K);
            const auto listen_to = [&](long e, long b) {
                double* own = own_ + e * block * K;
                run_block(e, b, own);
                for (long t = 0; t < length(b); ++t)
                    copy(own + t * K, K, said_ + ((start(b) + t) * N + e) * K);
            };
            in_parallel(N, blocks, listen_to, [&](long b) {
                const long t = start(b);
                judge_.run(said_ + t * N * K, y + t, weight_from(t), length(b), p + t * K);
            });
        }
        if (judge_.steps() % Rest::period == 0) rest.review();
        return n;
    }

    /// Rows that are run at a time: a moment's work, and little memory.
    long most_rows() const {
        const long numbers = std::max(d, judge_.N * judge_.K);
        return std::max(most_numbers / numbers / PoolExpert::block, 1L) * PoolExpert::block;
    }

   private:
    static constexpr long most_numbers = 1L << 16;

    PoolExpert& expert(long e) { return *experts_[std::size_t(e)]; }

    /// Lets those who are awake scale a block of records.
    void take(const Record* records, long first, long n, const double* weight) {
        bool counts[PoolExpert::block] = {};
        for (long t = 0; t < n; ++t) counts[t] = !weight || weight[first + t] > 0;
        scaled_.begin(counts, n);
        for (long e = 0; e < awake(); ++e) expert(e).take(records, first, n, scaled_);
    }
    long awake() const { return judge_.rest().is_resting() ? 1 : judge_.N; }

    /// Sets what the experts that are awake say of a record. They may have said it just before.
    void listen(const Record& record) {
        if (has_heard_ && heard_.is(record, d)) return;
        has_heard_ = false;
        for (long e = 0; e < awake(); ++e) expert(e).read(record);
        for (long e = 0; e < awake(); ++e) expert(e).predict(said_ + e * judge_.K);
        heard_.set(record, d);
        has_heard_ = true;
    }

    void push(const Record& record, long y, double weight) {
        has_heard_ = false;
        for (long e = 0; e < awake(); ++e) expert(e).learn(record, y, weight);
        Rest& rest = judge_.rest();
        if (rest.is_resting())
            rest.add_alone(1);
        else
            judge_.learn(said_, y, weight);
        if (judge_.steps() % Rest::period == 0) rest.review();
    }

    std::vector<std::unique_ptr<PoolExpert>> experts_;
    Judge& judge_;
    ScaledBlock scaled_{PoolExpert::block};
    Buffer said_, own_;
    RecordCopy heard_;
    bool has_heard_ = false;
};

}  // namespace MIXABLE_ISA
