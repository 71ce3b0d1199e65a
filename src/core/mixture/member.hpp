// A posterior in a mixture, and the experts that read it: an expert is a posterior read at one
// width.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/posterior/diagonal.hpp"
#include "core/posterior/growing.hpp"
#include "core/posterior/lanes.hpp"
#include "core/rule/gradient.hpp"
#include "frequencies.hpp"

namespace MIXABLE_ISA {

/// A rule of GAF that there is in lanes.
struct InLanes {
    /// What the rules in all lanes have in common.
    struct Settings {
        long classes;
        std::vector<double> alphas;  // the widths that it is read at
        double mu;
        Structure structure;
        bool operator==(const Settings& other) const {
            return structure == other.structure && classes == other.classes &&
                   alphas == other.alphas && mu == other.mu;
        }
    };
    /// What the rule of one lane has of its own.
    struct Own {
        double beta;
        bool averaged;  // whether its surrogate is that of averaged.hpp
        double wider;   // it is read at the widths over this
    };
    Settings settings;
    Own own;
};

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

/// The state that a shape asks for.
inline std::unique_ptr<State> make_state(const PosteriorShape& shape, const Blas& blas) {
    switch (shape.structure) {
        case Structure::full:
            return std::make_unique<Posterior>(shape, blas);
        case Structure::diagonal:
            return std::make_unique<Diagonal>(shape);
        case Structure::growing:
            return std::make_unique<Growing>(shape, blas);
        case Structure::gradient:
            return std::make_unique<GradientState>(shape);
        case Structure::frequencies:
            return std::make_unique<FrequencyState>(shape);
        default:
            return std::make_unique<Blocks>(shape, blas);
    }
}

/// What a member is to be.
template <class Outcome>
struct Plan {
    PosteriorShape shape;
    std::unique_ptr<Readings<Outcome>> readings;
    bool always_active;
    long view = 0;        // which part of the input it sees
    bool active = true;   // at the start; not so only where a state in which it sleeps is restored
    bool tires = true;    // whether it may be put to sleep
    bool joins = true;    // whether it may be in a bank, and then sleeps when all of that do
    bool returns = true;  // whether it is tried again now and then, once inactive
};

template <class Outcome>
struct Member {
    Member(Plan<Outcome>&& plan, long first_expert)
        : shape(plan.shape),
          readings(std::move(plan.readings)),
          always_active(plan.always_active),
          active_at_first(plan.active),
          tires(plan.tires),
          joins(plan.joins),
          returns(plan.returns),
          offset(plan.view * plan.shape.d),
          first(first_expert),
          count(readings->count()) {}

    PosteriorShape shape;  // for inputs of unit 1
    std::unique_ptr<Readings<Outcome>> readings;
    bool always_active, active_at_first, tires, joins, returns;
    long offset;        // of its view in an input
    long first, count;  // its experts among all
    long active = 1;
    bool is_leaving = false;             // whether it is to sleep, by the last review
    long until = 0;                      // the step before which it is not put to sleep
    long led = 0;                        // the last review at which it was the leader or the anchor
    double gain = 0;                     // nats by which it has lately been better than the mixture
    double unit = 1;                     // lam and drift are for inputs of this mean square
    std::unique_ptr<Knowledge> known{};  // of those active
    State* state = nullptr;              // the same, unless it is in a bank
    std::shared_ptr<Lanes> lanes{};      // of its bank, if it has one
    long lane = 0;                       // of those
    Buffer v{}, F{};

    /// The fallback stands for a bound: it learns everything, and never starts afresh.
    bool is_fallback() const { return always_active && shape.drift == 0; }

    PosteriorShape shape_in_unit() const {
        PosteriorShape out = shape;
        out.lam *= unit;
        out.drift /= unit;
        return out;
    }

    /// Whether it can start from what another has learned.
    bool can_learn_from(const Member& other) const {
        const auto kind = [](const Member& member) {
            const Structure structure = member.shape.structure;
            return structure == Structure::shared ? Structure::blocks : structure;
        };
        return kind(*this) == kind(other);
    }
    /// Whether there is a state, in the unit of this member.
    bool has_state() const { return known && state_unit_ == unit; }
    void forget() {
        known.reset();
        state = nullptr;
    }
    void make_state(const Blas& blas) {
        state_unit_ = unit;
        if (lanes) {
            known = make_lane(lanes, lane, shape_in_unit());
            return;
        }
        std::unique_ptr<State> made = MIXABLE_ISA::make_state(shape_in_unit(), blas);
        state = made.get();
        known = std::move(made);
        v = Buffer(state->sk);
        F = Buffer(state->f);
    }

    void begin(long after) {
        state->read(after);
        readings->begin(state->m, state->G, state->steps());
    }

    /// Learns the example that was read, whose input is z. One whose |z|^2 is above `most`, or that
    /// is too large in double precision, passes without being learned.
    void learn(const double* z, Outcome y, double weight, double most) {
        const double square = squared_norm(z + offset, state->d);
        readings->learn(y, weight, v, F);
        if (square <= std::min(most, state->largest_square())) {
            try {
                return state->push(v, F);
            } catch (const std::domain_error&) {
            }
        }
        v.clear();
        F.clear();
        state->push(v, F);
    }

    void copy_memory(const Member& other) {
        const std::vector<double*> mine = readings->memory(), theirs = other.readings->memory();
        for (std::size_t i = 0; i < mine.size(); ++i) *mine[i] = *theirs[i];
    }
    void clear_memory() {
        for (double* number : readings->memory()) *number = 0;
    }

    [[gnu::cold]] void visit_counters(Visitor& visitor) {
        visitor("awake", active);
        visitor("until", until);
        visitor("led", led);
        visitor("gain", gain);
        visitor("unit", unit);
        long j = 0;
        for (double* number : readings->memory()) visitor("memory" + std::to_string(j++), *number);
    }

   private:
    double state_unit_ = 0;
};

}  // namespace MIXABLE_ISA
