// Trees as an expert of a pool.
#pragma once

#include "core/pool/expert.hpp"
#include "trees.hpp"

namespace MIXABLE_ISA {

/// Trees see raw numbers, and the keys of categories, whose columns come when records have them.
template <class Outcome>
class TreeExpert final : public Expert<Outcome> {
   public:
    explicit TreeExpert(std::unique_ptr<Trees>& trees) : trees_(trees) {}

    long outputs() const override { return trees_->outputs(); }
    long steps() const override { return trees_->steps(); }
    double cost() const override { return trees_->cost(); }
    long numbers() const override { return trees_->d; }
    bool grows() const override { return true; }

    void read(const Record& record) override { trees_->read(record.x, keys_of(record)); }
    void predict(double* p) override { trees_->predict(p); }
    void learn(const Record& record, Outcome y, double weight) override {
        if (widen(record, weight)) read(record);
        trees_->learn(record.x, keys_of(record), double(y), weight);
    }
    void miss(const Record& record, Outcome y, double weight) override {
        widen(record, weight);
        trees_->keep(record.x, keys_of(record), double(y), weight);
    }
    void predict_many(const Record* records, long n, double* p) override {
        for (long t = 0; t < n; ++t) {
            read(records[t]);
            predict(p + t * outputs());
        }
    }
    void take(const Record*, long, long, const Outcome*, const double*, ScaledBlock&) override {}
    void run(const Record* records, long first, long n, const Outcome* y, const double* weight,
             double* p) override {
        for (long t = 0; t < n; ++t) {
            read(records[first + t]);
            predict(p + t * outputs());
            learn(records[first + t], y[t], weight ? weight[t] : 1.0);
        }
    }
    bool runs_as_one_by_one() const override { return true; }

   private:
    /// Lets the trees have the columns of categories of a record that is to be learned.
    bool widen(const Record& record, double weight) {
        if (record.n_categories <= trees_->C || !(weight > 0)) return false;
        auto wider = make_trees(trees_->d, record.n_categories, trees_->K);
        wider->adopt(*trees_);
        trees_ = std::move(wider);
        return true;
    }
    /// The keys of the columns that the trees know; 0 for those that a record lacks.
    const std::uint64_t* keys_of(const Record& record) {
        keys_.assign(std::size_t(trees_->C), 0);
        std::copy_n(record.categories, std::min(record.n_categories, trees_->C), keys_.begin());
        return keys_.data();
    }

    std::unique_ptr<Trees>& trees_;
    std::vector<std::uint64_t> keys_;
};

}  // namespace MIXABLE_ISA
