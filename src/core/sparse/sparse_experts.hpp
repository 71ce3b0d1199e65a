// Experts on the sparse rows of records, and the stage that regressions begin with.
#pragma once

#include "core/inputs/memory.hpp"
#include "core/inputs/shapes.hpp"
#include "core/pool/expert.hpp"
#include "sparse.hpp"
#include "sparse_ridge.hpp"

namespace MIXABLE_ISA {

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
    /// Adds what is remembered of K classes.
    void add(const double* memory, long K) { Memory::add(memory, K, keys_, values_); }

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

/// Sparse softmax regression on the sparse row of a record; and on the labels before, if it has a
/// memory.
class SparseExpert final : public Expert<long> {
   public:
    SparseExpert(Scaler& scaler, Sparse& forecaster, const Shapes& shapes, Memory* memory)
        : inputs_(scaler, shapes), forecaster_(forecaster), memory_(memory), history_(kept()) {}

    long outputs() const override { return forecaster_.K; }
    long steps() const override { return forecaster_.steps(); }
    double cost() const override { return 1e3; }

    void read(const Record& record) override {
        inputs_.read(record);
        remember(record);
    }
    void predict(double* p) override { forecaster_.predict(inputs_.row(), p); }
    long kept() const override { return memory_ ? Memory::width * forecaster_.K : 0; }
    void keep(double* kept_) const override { copy(history_, kept(), kept_); }
    void predict_many(const Record* records, long n, double* p) override {
        for (long t = 0; t < n; ++t) {
            read(records[t]);
            predict(p + t * forecaster_.K);
        }
    }
    void learn(const Record& record, long y, double weight) override {
        forecaster_.learn(inputs_.row(), y, weight);
        if (!(weight > 0)) return;
        inputs_.learn(record);
        if (memory_) memory_->learn(y);
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
            const double own = weight ? weight[t] : 1.0;
            inputs_.read(records[first + t], taken_ + (first + t) * inputs_.scaler.d);
            remember(records[first + t]);
            forecaster_.step(inputs_.row(), y[t], own, p + t * forecaster_.K);
            if (memory_ && own > 0) memory_->learn(y[t]);
        }
    }
    bool runs_as_one_by_one() const override { return true; }
    const Scaler& scaler() const override { return inputs_.scaler; }

   private:
    /// Takes the labels before a record into its row: those that its forecast knew.
    void remember(const Record& record) {
        if (!memory_) return;
        if (record.history && record.history[0] >= 0)
            copy(record.history, kept(), history_);
        else
            memory_->write(forecaster_.K, history_);
        inputs_.add(history_, forecaster_.K);
    }

    SparseInputs inputs_;
    Sparse& forecaster_;
    Memory* memory_;
    Buffer history_, taken_;
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

}  // namespace MIXABLE_ISA
