// What an ensemble asks of the rules of its posteriors.
#pragma once

#include <optional>
#include <vector>

#include "lane_group.hpp"

namespace MIXABLE_ISA {

/// The rule of a posterior with several readings of the same (m, G). A reading is `width`
/// numbers, as the Family says.
template <class Outcome_>
class Readings {
   public:
    using Outcome = Outcome_;
    virtual ~Readings() = default;
    virtual long count() const = 0;
    virtual void begin(const double* m, const double* G, long step) = 0;
    virtual void read(long j, double* out) = 0;
    virtual void learn(Outcome y, double weight, double* v, double* F) = 0;
    /// Of a rule that there is in lanes, too.
    virtual std::optional<InLanes> in_lanes() const { return {}; }
    /// What A^-1 is to be multiplied by to be the covariance of the weights.
    virtual double width(long j) const = 0;
    /// Whether what it reads means something yet.
    virtual bool settled() const { return true; }
    /// The numbers that it remembers from one step to the next, all 0 at the start.
    virtual std::vector<double*> memory() { return {}; }
    /// Whether those numbers, as just read from a saved state, make sense.
    virtual bool memory_is_valid() const { return true; }
};

}  // namespace MIXABLE_ISA
