// When the experts of a pool rest: if they gain little over the first, for a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "visitor.hpp"

namespace MIXABLE_ISA {

/// What a pool has gained over its first expert, and how long the others still rest.
class Rest {
   public:
    static constexpr long period = 1024;  // steps between two reviews

    /// Experts rest that gain less than this share of the first one's loss.
    explicit Rest(double least_gain) : least_gain_(least_gain) {}

    bool is_resting() const { return left_ > 0; }
    /// Steps of the first expert by itself.
    long alone() const { return alone_; }
    void add_alone(long steps) { alone_ += steps; }

    /// Compares the probabilities that the first expert and the pool gave a label.
    void note(double own, double pooled) {
        const double least = std::numeric_limits<double>::min();
        const double loss = -std::log(std::max(own, least));
        gain_ += loss + std::log(std::max(pooled, least));
        loss_ += loss;
    }

    /// Decides who is awake; to be called every `period` steps.
    void review() {
        if (left_ > 0) {
            --left_;
        } else {
            idle_ = gain_ < least_gain_ * loss_ ? std::min(idle_ + 1, most_idle) : 0;
            if (idle_ >= patience)
                left_ = std::min(shortest << std::min(idle_ - patience, 10L), longest);
        }
        gain_ = loss_ = 0;
    }

    void start_over() { *this = Rest(least_gain_); }

    void visit(Visitor& visitor) {
        visitor("gain", gain_);
        visitor("loss", loss_);
        visitor("idle", idle_);
        visitor("left", left_);
        visitor("alone", alone_);
    }
    /// Whether the numbers, as just read from a saved state, can be some that it had.
    bool sound(long most_steps) const {
        return std::fabs(gain_) <= 1e9 && std::fabs(loss_) <= 1e9 && idle_ >= 0 &&
               idle_ <= most_idle && left_ >= 0 && left_ <= longest && alone_ >= 0 &&
               alone_ <= most_steps;
    }

   private:
    static constexpr long patience = 2;                  // reviews in a row without a gain
    static constexpr long shortest = 32, longest = 512;  // reviews that a rest lasts: doubled
    static constexpr long most_idle = 64;

    double least_gain_;
    double gain_ = 0, loss_ = 0;  // nats since the last review
    long idle_ = 0;               // reviews in a row without a gain
    long left_ = 0;               // reviews to come before the next trial; 0 if all are awake
    long alone_ = 0;
};

}  // namespace MIXABLE_ISA
