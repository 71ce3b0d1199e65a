// The weight of the experts of an ensemble: two vectors of weights over the same experts, mixed by
// Bayes' rule.
//
// One vector follows Bayes' rule, the other Bayes' rule with a fixed share, so that another expert
// can take over when the stream changes. A judge weighs the two by their own log loss. Each vector
// costs ln N nats against an expert that is always active, the judge ln 2 more: the loss is at most
// ln(2 N) above that of the best such expert, and ln 2 above that of the weights with share. An
// expert that sleeps counts as predicting what its vector predicts, so it keeps its weight.
//
// Herbster, M. and Warmuth, M. (1998). Tracking the best expert. Machine Learning 32.
// Freund, Y. et al. (1997). Using and combining predictors that specialize. STOC.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/visitor.hpp"

namespace MIXABLE_ISA {

class Weights {
   public:
    Weights(long experts, double share)
        : shared_(experts), bayes_(experts), expert_weights_(experts), share_(share) {
        start_over();
    }

    void start_over() {
        judge_ = 0.5;
        for (long r = 0; r < size(); ++r) shared_[r] = bayes_[r] = 1.0 / double(size());
    }

    long size() const { return shared_.size(); }

    /// Says who is active, from now on: the weight of them sums to 1, that in others is 0.
    void set_active(std::vector<long> experts) {
        active_ = std::move(experts);
        for (long r = 0; r < size(); ++r) expert_weights_[r] = 0;
        weigh();
    }
    const std::vector<long>& active() const { return active_; }

    /// The weight of an expert in the forecast.
    double expert_weights(long r) const { return expert_weights_[r]; }
    /// The same for a forecast that leaves out what experts may have by the share alone.
    double earned(long r) const {
        return std::max(expert_weights_[r] - std::min(2 * share_, 0.5) / double(active_.size()),
                        0.0);
    }
    /// The weights of all experts; they sum to 1, and those inactive have what they had.
    void all(double* out) const {
        double inactive = 0;
        for (long r = 0; r < size(); ++r) out[r] = judge_ * shared_[r] + (1 - judge_) * bayes_[r];
        for (long r = 0; r < size(); ++r) inactive += out[r];
        for (const long r : active_) inactive -= out[r];
        for (const long r : active_)
            out[r] = (1 - std::min(std::max(inactive, 0.0), 1.0)) * expert_weights_[r];
    }

    /// Learns how likely each expert that is active held the outcome to be, relative to the best.
    void learn(const double* likelihood) {
        double shared = 0, bayes = 0;
        for (const long r : active_) {
            shared += shared_[r] *= likelihood[r];
            bayes += bayes_[r] *= likelihood[r];
        }
        const double keep = (1 - share_) * shared_mass_ / shared,
                     give = share_ * shared_mass_ / double(active_.size()),
                     rest = bayes_mass_ / bayes;
        for (const long r : active_) {
            shared_[r] = std::max(keep * shared_[r] + give, smallest);
            bayes_[r] = std::max(rest * bayes_[r], smallest);
        }
        const double for_shared = judge_ * shared / shared_mass_,
                     for_bayes = (1 - judge_) * bayes / bayes_mass_;
        judge_ = for_shared / (for_shared + for_bayes);
        judge_ = std::min(std::max(judge_, least_judge), 1 - least_judge);
        weigh();
    }

    /// Takes over the weights of an ensemble of the same experts.
    void adopt(const Weights& other) {
        judge_ = other.judge_;
        for (auto [mine, theirs] : {std::pair{&shared_, &other.shared_}, {&bayes_, &other.bayes_}})
            copy(*theirs, size(), *mine);
    }

    [[gnu::cold]] void visit_counters(Visitor& visitor) { visitor("judge", judge_); }
    [[gnu::cold]] void visit_arrays(Visitor& visitor) {
        visitor("weight", shared_, 1L, size(), size());
        visitor("bayes", bayes_, 1L, size(), size());
    }
    /// Whether the numbers, as just read from a saved state, can be weights.
    bool sound() const {
        const auto are_weights = [&](const double* w) {
            double sum = 0;
            for (long r = 0; r < size(); ++r) sum += w[r];
            return std::all_of(w, w + size(), [](double each) { return each > 0; }) &&
                   std::fabs(sum - 1) <= 1e-6;  // rounding: 1e-12 in 200,000 steps
        };
        return judge_ >= least_judge && judge_ <= 1 - least_judge && are_weights(shared_) &&
               are_weights(bayes_);
    }

   private:
    static constexpr double smallest = 1e-300;  // so that no weight is lost to underflow
    /// The judge weighs either vector at least this much, so that it changes its mind soon after a
    /// million examples, too. It costs at most this many nats an example.
    static constexpr double least_judge = 1e-10;

    void weigh() {
        shared_mass_ = bayes_mass_ = 0;
        for (const long r : active_) shared_mass_ += shared_[r], bayes_mass_ += bayes_[r];
        const double of_shared = judge_ / shared_mass_, of_bayes = (1 - judge_) / bayes_mass_;
        for (const long r : active_)
            expert_weights_[r] = of_shared * shared_[r] + of_bayes * bayes_[r];
    }

    Buffer shared_, bayes_, expert_weights_;
    std::vector<long> active_;
    double share_, judge_ = 0.5;  // the judge's weight of the weights with share
    double shared_mass_ = 1, bayes_mass_ = 1;
};

}  // namespace MIXABLE_ISA
