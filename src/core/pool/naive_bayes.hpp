// Naive Bayes on numbers: in each class, each column is normal, and independent of the others. It
// knows how wide a class is, which no linear forecaster does.
#pragma once

#include <algorithm>

#include "core/numbers/dense.hpp"
#include "core/rule/any_forecaster.hpp"
#include "expert.hpp"

namespace MIXABLE_ISA {

/// Weight, mean and sum of squared deviations of each column, over all examples (row 0) and over
/// those of class c (row 1 + c). NaN is skipped. A class's variance begins as that of all examples,
/// as if `prior` examples had said so. Before a column has two values it says nothing.
class NaiveBayes final : public AnyForecaster<long> {
   public:
    NaiveBayes(long d, long K)
        : d_(d),
          K_(K),
          classes_(K),
          count_((K + 1) * d),
          mean_((K + 1) * d),
          square_((K + 1) * d) {}

    long features() const override { return d_; }
    long row_length() const override { return d_; }
    long predictions() const override { return K_; }
    long outputs() const override { return K_; }
    long block() const override { return 64; }
    double cost() const override { return 8.0 * double(d_ * K_); }
    double largest_square() const override { return 1e300; }
    long steps() const override { return steps_; }

    /// Not inline, so that it has the same bits wherever it is called.
    [[gnu::noinline]] void predict(const double* x, double* p) override {
        for (long c = 0; c < K_; ++c)
            p[c] = std::log(classes_[c] + 0.5) + evidence * log_density(x, c);
        const double largest = *std::max_element(p, p + K_);
        double total = 0;
        for (long c = 0; c < K_; ++c) total += p[c] = std::exp(std::max(p[c] - largest, least));
        for (long c = 0; c < K_; ++c) p[c] /= total;
    }
    void predict_many(const double* X, long n, double* out) override {
        for (long t = 0; t < n; ++t) predict(X + t * d_, out + t * K_);
    }
    [[gnu::noinline]] void learn(const double* x, long y, double weight) override {
        ++steps_;
        const double w = std::min(weight, most_weight);
        if (!(w > 0)) return;
        classes_[y] += w;
        for (long j = 0; j < d_; ++j) {
            if (std::isnan(x[j])) continue;
            add(number(x[j]), w, j);
            add(number(x[j]), w, (1 + y) * d_ + j);
        }
    }
    void run(const double* X, const long* y, const double* weight, long n, double* out) override {
        for (long t = 0; t < n; ++t) {
            predict(X + t * d_, out + t * K_);
            learn(X + t * d_, y[t], weight ? weight[t] : 1.0);
        }
    }
    void forget_reading() override {}
    void mean(double* out) const override { copy(mean_ + d_, K_ * d_, out); }

    void adopt(const AnyForecaster& other) override {
        const auto& smaller = static_cast<const NaiveBayes&>(other);
        steps_ = smaller.steps_;
        copy(smaller.classes_, smaller.K_, classes_);
        for (long i = 0; i <= smaller.K_; ++i) {
            const long from = i * smaller.d_, to = i * d_;
            copy(smaller.count_ + from, smaller.d_, count_ + to);
            copy(smaller.mean_ + from, smaller.d_, mean_ + to);
            copy(smaller.square_ + from, smaller.d_, square_ + to);
        }
    }
    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("classes", classes_, 1, K_, K_);
        visitor("count", count_, K_ + 1, d_, d_);
        visitor("mean", mean_, K_ + 1, d_, d_);
        visitor("square", square_, K_ + 1, d_, d_);
    }
    /// Before the arrays are read: they are read whole.
    void clear() override {}
    bool counters_are_valid() const override { return steps_ >= 0; }
    [[gnu::cold]] bool contents_are_valid() const override {
        const auto all = [](const Buffer& values, double least, double most) {
            return std::all_of(values + 0, values + values.size(),
                               [&](double x) { return x >= least && x <= most; });
        };
        return all(classes_, 0, most_count) && all(count_, 0, most_count) &&
               all(mean_, -most, most) && all(square_, 0, 4 * most * most * most_count);
    }

   private:
    // Columns are not independent: their densities count less than they would. A probability is at
    // least about e^-27, 1e-12. Numbers are below `most`, so that no sum of squares overflows.
    static constexpr double prior = 1, evidence = 0.7, least = -27, farthest = 1e4, most = 1e100,
                            most_weight = 1e12, most_count = 1e60;

    static double number(double x) { return std::min(std::max(x, -most), most); }

    void add(double x, double weight, long i) {
        count_[i] += weight;
        const double difference = x - mean_[i], share = weight / count_[i];
        mean_[i] += share * difference;
        square_[i] += weight * (1 - share) * difference * difference;
    }

    /// Relative to a normal density with the variance of all examples, so units do not matter.
    double log_density(const double* x, long c) const {
        double out = 0, product = 1;
        for (long j = 0; j < d_; ++j) {
            const long i = (1 + c) * d_ + j;
            const double variance = square_[j] / count_[j];  // NaN before the first
            if (std::isnan(x[j]) || !(variance > 0)) continue;
            const double ratio =
                             std::min((square_[i] / variance + prior) / (count_[i] + prior), most),
                         z = number(x[j]) - (count_[i] > 0 ? mean_[i] : mean_[j]);
            out -= 0.5 * std::min(z / variance * z / ratio, farthest);
            product *= ratio;
            if (product < 1e-100 || product > 1e100) {  // few logarithms
                out -= 0.5 * std::log(product);
                product = 1;
            }
        }
        return out - 0.5 * std::log(product);
    }

    long d_, K_, steps_ = 0;
    Buffer classes_, count_, mean_, square_;
};

/// A forecaster of raw numbers, which also learns while it is not active.
class RawExpert final : public Expert<long> {
   public:
    explicit RawExpert(AnyForecaster<long>& forecaster) : forecaster_(forecaster) {}

    long outputs() const override { return forecaster_.outputs(); }
    long steps() const override { return forecaster_.steps(); }
    double cost() const override { return forecaster_.cost(); }
    long numbers() const override { return forecaster_.row_length(); }

    void read(const Record& record) override { x_ = record.x; }
    void predict(double* p) override { forecaster_.predict(x_, p); }
    void learn(const Record& record, long y, double weight) override {
        forecaster_.learn(record.x, y, weight);
    }
    void miss(const Record& record, long y, double weight) override { learn(record, y, weight); }
    void predict_many(const Record* records, long n, double* p) override {
        for (long t = 0; t < n; ++t) forecaster_.predict(records[t].x, p + t * outputs());
    }
    void take(const Record*, long, long, const long*, const double*, ScaledBlock&) override {}
    void run(const Record* records, long first, long n, const long* y, const double* weight,
             double* p) override {
        for (long t = 0; t < n; ++t) {
            const double* x = records[first + t].x;
            forecaster_.predict(x, p + t * outputs());
            forecaster_.learn(x, y[t], weight ? weight[t] : 1.0);
        }
    }
    bool runs_as_one_by_one() const override { return true; }

   private:
    AnyForecaster<long>& forecaster_;
    const double* x_ = nullptr;
};

}  // namespace MIXABLE_ISA
