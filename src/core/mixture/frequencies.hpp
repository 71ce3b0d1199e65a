// How often each class has come, whatever the inputs: an expert of a mixture that no stream of
// noise can mislead.
//
// Krichevsky, R. and Trofimov, V. (1981). The performance of universal encoding. IEEE Transactions
// on Information Theory 27.
#pragma once

#include "core/posterior/state.hpp"

namespace MIXABLE_ISA {

/// The weight n_c of the examples of each class. A reading is n_c + 1/2; weights are 0.
class FrequencyState final : public State {
   public:
    explicit FrequencyState(const PosteriorShape& shape) : State(shape, 0), counts_(k) {}

    long room() const override { return 64; }
    void prepare(const Rows& rows, bool in_turn = true) override {
        prepared_ = in_turn ? rows.count : 0;
    }
    bool is_prepared(const double*) const override { return has_prepared(); }
    void read(long = 0) override {
        for (long c = 0; c < k; ++c) m[c] = counts_[c] + 0.5;
    }
    /// Adds v to the counts. A weight is at most 1e12: no sum is above `most`.
    void push(const double* v, const double*) override {
        for (long c = 0; c < k; ++c) counts_[c] += v[c];
        ++steps_;
        prepared_ = std::max(prepared_ - 1, 0L);
    }

    void mean(double* out) const override { set_to_zero(out, k * d); }
    std::pair<long, long> covariance_size() const override { return {0, 0}; }
    void covariance(double*) const override {}
    void feature_covariances(double* out) const override { set_to_zero(out, d * k * k); }
    void adopt(const Knowledge& other, bool = false) override {
        const auto& frequencies = dynamic_cast<const FrequencyState&>(other);
        copy(frequencies.counts_, frequencies.k, counts_);
        steps_ = frequencies.steps_;
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("counts", counts_, 1L, k, k);
    }
    [[gnu::cold]] bool contents_are_valid(double) const override {
        return std::all_of(counts_ + 0, counts_ + k,
                           [](double count) { return count >= 0 && count <= most; });
    }

   private:
    static constexpr double most = 1e300;

    Buffer counts_;
};

}  // namespace MIXABLE_ISA
