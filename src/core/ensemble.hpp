// Many posteriors of one stream, each read out in several ways, all mixed by how well they
// foretold; weights.hpp has the bound.
//
// Posteriors whose share of the trust has become negligible are put to sleep at the roll call,
// every `roll_period` steps: they are forgotten, and when they wake they start from what the leader
// has learned.
//
// Posteriors measure inputs by a unit, a mean square. When the inputs change their size for good,
// by a factor of 100 or more, posteriors start afresh in the new unit, beside those that know the
// old one.
#pragma once

#include <memory>
#include <string>

#include "parallel.hpp"
#include "posterior.hpp"
#include "readings.hpp"
#include "weights.hpp"

namespace MIXABLE_ISA {

/// Family must have: Outcome, accepts(y), has(number) (whether a number from a file is an outcome
/// that is accepted), width (numbers of a read-out), outputs (numbers of the forecast),
/// log_likelihood(read-out, y), begin_mix, add, end_mix, costly_readouts (whether they may rest),
/// trims (whether experts that live on the share alone are left out of the forecast); see
/// auto_rules.hpp.
template <class Family>
class Ensemble {
   public:
    using Outcome = typename Family::Outcome;
    static constexpr bool has_posterior = false, is_ensemble = true;

    struct Options {
        double scale;  // of the mean square of an input; 0: that of the first one that is not zero
        double share;
        bool sleep;
        long threads;
    };

    struct Plan {
        PosteriorShape shape;
        std::unique_ptr<Readings<Outcome>> readings;
        bool vigilant;  // never sleeps
        long view = 0;  // which part of the input it sees
        bool awake =
            true;  // at the start; not so only where a state is to be restored in which it sleeps
    };

    /// An input has `views` parts of d numbers each, several descriptions of the same; each
    /// posterior sees one of them.
    Ensemble(const PosteriorShape& shape, const Blas& blas, const Options& options, Family family,
             std::vector<Plan> plans, long views)
        : k(shape.k),
          d(shape.d),
          row(views * d),
          blas_(blas),
          options_(options),
          family_(std::move(family)),
          scale_(options.scale),
          z_(roll_period * row),
          kept_(settling * (row + 3)),
          squares_(roll_period) {
        for (Plan& plan : plans) {
            const long count = plan.readings->count();
            members_.push_back({plan.shape, std::move(plan.readings), plan.vigilant, plan.view * d,
                                readouts_, count, plan.awake});
            readouts_ += count;
        }
        weights_ = Weights(readouts_, options.share);
        active_ = Buffer(readouts_);
        reading_ = Buffer(readouts_ * roll_period * family_.width());
        start_over();
    }

    const long k, d, row;

    long row_length() const { return row; }
    long outputs() const { return family_.outputs(); }
    long steps() const { return steps_; }
    static constexpr double largest_square() { return 1e280; }

    void predict(const double* x, double* p) {
        look(x);
        mix(0, p);
    }

    void predict_many(const double* X, long n, double* out) {
        forget_reading();
        for (long t = 0; t < n; t += roll_period) {
            const long count = std::min(roll_period, n - t);
            for (long i = 0; i < count; ++i) normalise(X + (t + i) * row, z_ + i * row);
            on_every_member(count, [&](Member& member, long i, long end) {
                Posterior& state = *member.state;
                while (i < end) {
                    const long block = std::min(state.room(), end - i);
                    state.prepare(z_ + i * row + member.offset, row, block, false);
                    for (long j = 0; j < block; ++j, ++i) read(member, i, j);
                }
                state.forget_prepared();
            });
            for (long i = 0; i < count; ++i) mix(i, out + (t + i) * outputs());
        }
    }

    /// An example of weight 0 leaves no trace but in the number of steps.
    void learn(const double* x, Outcome y, double weight) {
        if (!acceptable(y, weight)) refuse();
        if (weight == 0) {
            forget_reading();
            ++steps_;
            return call_roll_if_due();
        }
        look(x);
        if (readings_are_settled()) reweigh(0, y, weight);
        if (settle_scale(x, y, weight)) look(x);
        note_size(z_);
        fresh_ = false;
        for (Member& member : members_)
            if (member.awake) take(member, z_, y, weight);
        ++steps_;
        call_roll_if_due();
    }

    void run(const double* X, const Outcome* y, const double* weight, long n, double* out) {
        forget_reading();
        for (long t = 0; t < n;) {
            // Up to the next roll call, posteriors need not hear of each other; as long as the
            // scale may change, one row at a time.
            const bool settled =
                (inputs_ >= settling || options_.scale > 0) && readings_are_settled();
            long count = settled ? std::min(n - t, roll_period - steps_ % roll_period) : 1;
            for (long i = 0; i < count; ++i)
                if (!acceptable(y[t + i], weight ? weight[t + i] : 1.0)) count = i;
            if (count == 0) refuse();
            if (weight)
                count = std::max(1L, long(std::find(weight + t, weight + t + count, 0.0) -
                                          (weight + t)));  // those of weight 0 by themselves
            if (count == 1) {
                predict(X + t * row, out + t * outputs());
                learn(X + t * row, y[t], weight ? weight[t] : 1.0);
                ++t;
                continue;
            }
            for (long i = 0; i < count; ++i) normalise(X + (t + i) * row, z_ + i * row);
            on_every_member(count, [&](Member& member, long i, long end) {
                Posterior& state = *member.state;
                while (i < end) {
                    state.prepare(z_ + i * row + member.offset, row,
                                  std::min(state.room(), end - i));
                    do {
                        read(member, i, 0);
                        take(member, z_ + i * row, y[t + i], weight ? weight[t + i] : 1.0);
                        ++i;
                    } while (state.has_prepared());
                }
            });
            for (long i = 0; i < count; ++i) {
                mix(i, out + (t + i) * outputs());
                reweigh(i, y[t + i], weight ? weight[t + i] : 1.0);
                note_size(z_ + i * row);
            }
            t += count;
            steps_ += count;
            call_roll_if_due();
        }
    }

    /// The mean of the weights under the mixture, for inputs as they come.
    void mean(double* out) const {
        std::memset(out, 0, std::size_t(k * d) * 8);
        Buffer one(k * d);
        for (const Member& member : members_)
            if (member.awake) {
                member.state->mean(one);
                for (long i = 0; i < k * d; ++i) out[i] += trust(member) * one[i];
            }
        for (long i = 0; i < k * d; ++i) out[i] *= factor();
    }

    /// The covariance of the weights (D x D) under the mixture, for inputs as they come: that of
    /// the posteriors, and of their means.
    void covariance(double* out) const {
        const long D = k * d;
        std::memset(out, 0, std::size_t(D * D) * 8);
        Buffer centre(D), one(D), within(D * D);
        mean(centre);
        const double unit = factor();
        for (const Member& member : members_)
            if (member.awake) {
                double width = 0;
                for_readouts(member, [&](long r) {
                    width += weights_.trust(r) * member.readings->width(r - member.first);
                });
                member.state->mean(one);
                member.state->covariance(within);
                for (long i = 0; i < D; ++i)
                    for (long j = 0; j < D; ++j)
                        out[i * D + j] += unit * unit * width * within[i * D + j] +
                                          trust(member) * (unit * one[i] - centre[i]) *
                                              (unit * one[j] - centre[j]);
            }
    }

    /// The trust in each read-out (they sum to 1), and whether it is awake.
    void weights(double* weight, double* awake) const {
        weights_.all(weight);
        std::memset(awake, 0, std::size_t(readouts_) * 8);
        for_awake_readouts([&](long r) { awake[r] = 1.0; });
    }
    long posteriors() const { return long(members_.size()); }
    long reading_width() const { return family_.width(); }
    long readouts() const { return readouts_; }
    /// The mean square that inputs are measured by, at present.
    double scale() const { return scale_ * unit_; }

    /// The read-outs of x that are awake, each `width` numbers, after its weight; returns how many.
    long components(const double* x, double* out) {
        look(x);
        long n = 0;
        const long width = family_.width();
        for_awake_readouts([&](long r) {
            double* component = out + n++ * (width + 1);
            component[0] = weights_.trust(r);
            std::memcpy(component + 1, reading(r, 0), std::size_t(width) * 8);
        });
        return n;
    }

    /// Takes over what a smaller ensemble has learned. Since the newcomers may change who is best,
    /// everyone is to wake at the next roll call.
    void adopt(const Ensemble& other) {
        forget_reading();
        copy_counters(other);
        weights_.adopt(other.weights_);
        std::memcpy(squares_, other.squares_, std::size_t(roll_period) * 8);
        std::memcpy(active_, other.active_, std::size_t(readouts_) * 8);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            members_[i].awake = other.members_[i].awake;
            members_[i].until = other.members_[i].until;
            members_[i].led = other.members_[i].led;
            members_[i].gain = other.members_[i].gain;
            members_[i].unit = other.members_[i].unit;
        }
        build();
        for (std::size_t i = 0; i < members_.size(); ++i) {
            remember(members_[i], other.members_[i]);
            if (members_[i].awake) members_[i].state->adopt(*other.members_[i].state);
        }
        for (long i = 0; i < kept_rows(); ++i) {
            for (long v = 0; v < row / d; ++v)
                std::memcpy(kept_ + i * (row + 3) + v * d,
                            other.kept_ + i * (other.row + 3) + v * other.d,
                            std::size_t(other.d) * 8);
            std::memcpy(kept_ + i * (row + 3) + row, other.kept_ + i * (other.row + 3) + other.row,
                        3 * 8);
        }
        muster_ = first_probation();
    }

    template <class F>
    void visit(F&& f) {
        f("steps", steps_);
        f("inputs", inputs_);
        f("scale", scale_);
        f("leader", leader_);
        f("next_trial", next_trial_);
        f("doubts", doubts_);
        f("muster", muster_);
        f("unit", unit_);
        f("sizes", sizes_);
        weights_.visit_counters(f);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            f((std::to_string(i) + ".awake").c_str(), members_[i].awake);
            f((std::to_string(i) + ".until").c_str(), members_[i].until);
            f((std::to_string(i) + ".led").c_str(), members_[i].led);
            f((std::to_string(i) + ".gain").c_str(), members_[i].gain);
            f((std::to_string(i) + ".unit").c_str(), members_[i].unit);
            long j = 0;
            for (double* number : members_[i].readings->memory())
                f((std::to_string(i) + ".memory" + std::to_string(j++)).c_str(), *number);
        }
        f("kept", kept_, kept_rows(), row + 3, row + 3);
        f("sizes_kept", squares_, 1L, sizes_, roll_period);
        weights_.visit_arrays(f);
        f("active", active_, 1L, readouts_, readouts_);
        build();  // what was read up to here says which posteriors there are
        for (std::size_t i = 0; i < members_.size(); ++i)
            if (members_[i].state)
                members_[i].state->visit(Prefixed<F>{f, std::to_string(i) + "."});
    }
    bool counters_are_valid() const {
        bool valid = steps_ >= 0 && steps_ <= most_steps && inputs_ >= 0 && inputs_ <= settling &&
                     muster_ >= 0 && muster_ <= longest_probation;
        valid = valid && (scale_ == 0 || (scale_ >= 1e-300 && scale_ <= 1e300)) &&
                (options_.scale > 0 ? scale_ == options_.scale : inputs_ == 0 || scale_ > 0);
        valid = valid && (doubts_ == 0 || doubts_ == 1) && sizes_ >= 0 && sizes_ <= roll_period &&
                is_unit(unit_);
        for (long index : {leader_, next_trial_})
            valid = valid && index >= 0 && index < long(members_.size());
        bool someone = false;
        for (const Member& member : members_) {
            valid = valid && (member.awake == 0 || member.awake == 1) && member.led >= 0 &&
                    member.led <= steps_ && std::fabs(member.gain) <= 1e6;
            valid = valid && is_unit(member.unit) && member.until >= 0 &&
                    member.until <= steps_ + probation + longest_probation;
            valid = valid && (!member.state || member.state->counters_are_valid()) &&
                    member.readings->memory_is_valid();
            someone = someone || member.awake;
        }
        return valid && someone;
    }
    /// Whether the arrays, as just read from a saved state, make sense.
    bool contents_are_valid() const {
        bool valid = weights_.sound();
        for (long i = 0; i < sizes_; ++i) valid = valid && is_unit(squares_[i]);
        for (long r = 0; r < readouts_; ++r) valid = valid && (active_[r] == 0 || active_[r] == 1);
        for (const Member& member : members_)
            valid = valid && (!member.awake ||
                              (trust(member) > 0 && member.state->contents_are_valid(1e150)));
        for (long i = 0; i < kept_rows(); ++i) {
            const double *x = kept_ + i * (row + 3), outcome = x[row], weight = x[row + 1],
                         square = x[row + 2];
            valid = valid && family_.has(outcome) && weight > 0 && weight <= most_weight &&
                    square > 0 && std::fabs(mean_square(x) / square - 1) < 1e-6;
        }
        return valid;
    }
    /// Forgets everything.
    void start_over() {
        steps_ = inputs_ = leader_ = next_trial_ = doubts_ = muster_ = sizes_ = 0;
        scale_ = options_.scale;
        unit_ = 1;
        weights_.start_over();
        for (long r = 0; r < readouts_; ++r) active_[r] = 1.0;
        for (Member& member : members_) {
            member.unit = 1;
            member.awake = member.awake_at_first;
            member.until = first_probation();
            member.led = 0;
            member.gain = 0;
        }
        restart_posteriors();
    }
    void clear_block() {
        for (Member& member : members_)
            if (member.state) member.state->clear_block();
    }
    bool may_be_restored() const { return steps_ == 0; }

    void forget_reading() {
        for (Member& member : members_)
            if (member.state) member.state->forget_prepared();
        fresh_ = false;
    }

   private:
    static constexpr long roll_period = 64;
    static constexpr long settling = 16;  // inputs that may still change the scale
    static constexpr long most_steps = 1L << 53;
    static constexpr long longest_probation = 2048;
    static constexpr double most_weight = 1e12;
    static constexpr long early = 4096;  // steps in which `early_crew` posteriors may be awake
                                         // besides the vigilant ones, then `late_crew`
    static constexpr long early_crew = 4, late_crew = 1;
    static constexpr long probation = 512;  // steps that a posterior stays awake, once woken
    static constexpr long patience = 256;   // the same for a leader that has lost the lead
    static constexpr long trial_period =
        1024;  // steps between trials, in which one sleeper and the resting read-outs may show that
               // they are wanted again
    static constexpr double jump =
        1e4;  // the factor of the mean square by which inputs have changed their size
    static constexpr double foreign = 1e6;  // the factor beyond which an input is of another unit,
                                            // and is not learned by a posterior
    static constexpr double negligible = 0.02;  // the trust below which a posterior is put to sleep
    static constexpr double memory = 128;       // steps that `gain` looks back
    static constexpr double promising =
        1;  // the gain of a posterior that is catching up, which is not put to sleep
    static constexpr long most_readouts = 2;  // of a posterior, that do not rest
    static constexpr double least_readout =
        0.1;  // the trust, relative to the best read-out of the posterior, below which one rests

    struct Member {
        PosteriorShape shape;
        std::unique_ptr<Readings<Outcome>> readings;
        bool vigilant;
        long offset;        // of its view in an input
        long first, count;  // its read-outs among all
        bool awake_at_first;
        long until = 0;   // the step before which it is not put to sleep
        long led = 0;     // the last roll call at which it was the leader or the anchor
        double gain = 0;  // nats by which it has lately foretold better than the mixture
        double unit =
            1;  // its lam and drift are for inputs of this mean square, in units of the scale
        long awake = 1;
        std::unique_ptr<Posterior> state = nullptr;  // of those awake
        Buffer v{}, F{};

        PosteriorShape shape_in_unit() const {
            PosteriorShape out = shape;
            out.lam *= unit;
            out.drift /= unit;
            return out;
        }
        /// The guard stands for a bound: it learns everything, and never starts afresh.
        bool is_guard() const { return vigilant && shape.drift == 0; }
    };

    template <class F>
    struct Prefixed {
        F& f;
        std::string prefix;
        template <class... Arguments>
        void operator()(const char* name, Arguments&&... arguments) {
            f((prefix + name).c_str(), std::forward<Arguments>(arguments)...);
        }
    };

    double* reading(long readout, long row) {
        return reading_ + (readout * roll_period + row) * family_.width();
    }
    double factor() const { return scale_ > 0 ? 1.0 / std::sqrt(scale_) : 0.0; }

    double trust(const Member& member) const {
        double s = 0;
        for_readouts(member, [&](long r) { s += weights_.trust(r); });
        return s;
    }

    /// Gives those awake a state in their unit if they have none, and takes it from those asleep.
    /// To be called when any of that has changed.
    void build() {
        for (Member& member : members_) {
            if (!member.awake ||
                (member.state && member.state->shape().lam != member.shape_in_unit().lam))
                member.state.reset();
            if (member.awake && !member.state) {
                member.state = std::make_unique<Posterior>(member.shape_in_unit(), blas_);
                member.v = Buffer(member.state->sk);
                member.F = Buffer(member.state->k * member.state->sr);
            }
        }
        std::vector<long> awake;
        for_awake_readouts([&](long r) { awake.push_back(r); });
        weights_.set_awake(std::move(awake));
    }

    /// The mean square of the entries of x that are not zero; 0 if there is none.
    double mean_square(const double* x) const {
        double s = 0;
        long n = 0;
        for (long i = 0; i < row; ++i)
            if (x[i] != 0) s += x[i] * x[i], ++n;
        return s > 1e-280 ? s / double(n) : 0.0;
    }

    /// z = x in units of the scale.
    void normalise(const double* x, double* z) const {
        double s = 0;
        const double by = factor();
        for (long i = 0; i < row; ++i) {
            z[i] = by * x[i];
            s += z[i] * z[i];
        }
        if (s > 1e100)  // or its square would overflow
            for (long i = 0; i < row; ++i) z[i] *= s < 1e300 ? std::sqrt(1e100 / s) : 0.0;
    }

    /// Whether the unit follows the inputs: not if it was given, nor where everyone is to stay what
    /// it is.
    bool watches_unit() const { return options_.sleep && options_.scale == 0; }
    static bool is_unit(double unit) { return unit > 1e-100 && unit < 1e100; }

    /// Keeps the mean square of an input z, in units of the scale, until the roll call.
    void note_size(const double* z) {
        if (!watches_unit()) return;
        const double square = mean_square(z);
        if (is_unit(square) && sizes_ < roll_period) squares_[sizes_++] = square;
    }

    /// Whether the inputs since the last roll call have another size than before; if so, the unit
    /// is theirs.
    bool unit_has_changed() {
        const long n = std::exchange(sizes_, 0);
        if (n < roll_period / 2) return false;
        std::nth_element(squares_ + 0, squares_ + n / 2, squares_ + n);
        const double present = squares_[n / 2];
        if (is_near(present, unit_)) return false;
        unit_ = present;
        return true;
    }
    static bool is_near(double square, double unit) {
        return square < jump * unit && jump * square > unit;
    }

    bool acceptable(Outcome y, double weight) const {
        return weight <= most_weight && family_.accepts(y);
    }
    [[noreturn]] static void refuse() {
        throw std::domain_error(
            "this example cannot be learned in double precision: its weight must be at most 1e12 "
            "and its target at most 1e100");
    }

    bool readings_are_settled() const {
        return std::all_of(members_.begin(), members_.end(), [](const Member& member) {
            return !member.awake || member.readings->settled();
        });
    }
    long kept_rows() const { return options_.scale > 0 || inputs_ >= settling ? 0 : inputs_; }

    /// The unit of the inputs is the mean square of the first one that is not zero. Should it turn
    /// out to be far from the median of the first few, as after an outlier, that is taken instead,
    /// and those few are learned again. Returns whether the unit has changed.
    bool settle_scale(const double* x, Outcome y, double weight) {
        const double square = options_.scale > 0 || inputs_ >= settling ? 0.0 : mean_square(x);
        if (square == 0) return false;
        const auto kept = [&](long i) { return kept_ + i * (row + 3); };
        std::memcpy(kept(inputs_), x, std::size_t(row) * 8);
        kept(inputs_)[row] = double(y);
        kept(inputs_)[row + 1] = weight;
        kept(inputs_)[row + 2] = square;
        std::vector<double> squares;
        for (long i = 0; i <= inputs_; ++i) squares.push_back(kept(i)[row + 2]);
        std::sort(squares.begin(), squares.end());
        const double median = squares[std::size_t(inputs_ / 2)];
        const long before = inputs_++;
        if (scale_ > 0 && median < 1e4 * scale_ && median > 1e-4 * scale_) return false;
        scale_ = median;
        restart_posteriors();
        for (long i = 0; i < before; ++i) {
            normalise(kept(i), z_);
            for (Member& member : members_)
                if (member.awake) {
                    member.state->prepare(z_ + member.offset, row, 1);
                    begin(member, 0);
                    take(member, z_, Outcome(kept(i)[row]), kept(i)[row + 1]);
                }
        }
        return true;
    }
    void restart_posteriors() {
        for (Member& member : members_) {
            member.state.reset();
            for (double* number : member.readings->memory()) *number = 0;
        }
        build();
        forget_reading();
    }

    void look(const double* x) {
        normalise(x, z_);
        if (fresh_ && std::memcmp(z_, last_.data(), std::size_t(row) * 8) == 0) return;
        for (Member& member : members_)
            if (member.awake) {
                member.state->prepare(z_ + member.offset, row, 1);
                read(member, 0, 0);
            }
        last_.assign(z_ + 0, z_ + row);
        fresh_ = true;
    }

    void begin(Member& member, long ahead) {
        member.state->read(ahead);
        member.readings->begin(member.state->m, member.state->G, member.state->steps());
    }

    void read(Member& member, long row, long ahead) {
        begin(member, ahead);
        for_readouts(member,
                     [&](long r) { member.readings->read(r - member.first, reading(r, row)); });
    }

    /// Learns the example whose input is z; a posterior for which it is too large in double
    /// precision lets it pass.
    void take(Member& member, const double* z, Outcome y, double weight) {
        double square = 0;
        for (long i = 0; i < d; ++i) square += z[member.offset + i] * z[member.offset + i];
        member.readings->learn(y, weight, member.v, member.F);
        const bool own =
            !watches_unit() || member.is_guard() || square <= foreign * member.unit * double(d);
        if (own && square <= member.state->largest_square()) {
            try {
                return member.state->push(member.v, member.F);
            } catch (const std::domain_error&) {
            }
        }
        for (Buffer* buffer : {&member.v, &member.F})
            std::memset(*buffer, 0, std::size_t(buffer->size()) * 8);
        member.state->push(member.v, member.F);
    }

    /// f(member, first, end) on every posterior that is awake, over `count` rows.
    template <class F>
    void on_every_member(long count, F&& f) {
        std::vector<Member*> awake;
        for (Member& member : members_)
            if (member.awake) awake.push_back(&member);
        in_parallel(options_.threads, awake.size(), count,
                    [&](std::size_t i, long first, long end) { f(*awake[i], first, end); });
    }

    /// f on the read-outs of a posterior that do not rest; none if it sleeps.
    template <class F>
    void for_readouts(const Member& member, F&& f) const {
        if (member.awake)
            for (long r = member.first; r < member.first + member.count; ++r)
                if (active_[r] != 0) f(r);
    }
    template <class F>
    void for_awake_readouts(F&& f) const {
        for (const Member& member : members_) for_readouts(member, f);
    }

    void mix(long row, double* p) {
        family_.begin_mix(p);
        for_awake_readouts([&](long r) {
            family_.add(Family::trims ? weights_.earned(r) : weights_.trust(r), reading(r, row), p);
        });
        family_.end_mix(p);
    }

    void reweigh(long row, Outcome y, double weight) {
        for_awake_readouts([&](long r) {
            *reading(r, row) = std::max(family_.log_likelihood(reading(r, row), y), -1e300);
        });
        double top = -std::numeric_limits<double>::infinity(), mixture = 0;
        for_awake_readouts([&](long r) { top = std::max(top, *reading(r, row)); });
        std::vector<double> own(members_.size());
        for (std::size_t i = 0; i < members_.size(); ++i) {
            for_readouts(members_[i], [&](long r) {
                own[i] += weights_.trust(r) * std::exp(weight * (*reading(r, row) - top));
            });
            mixture += own[i];
        }
        for (std::size_t i = 0; i < members_.size(); ++i) {
            Member& member = members_[i];
            if (member.awake)
                member.gain = (1 - 1.0 / memory) * member.gain +
                              std::log(std::max(own[i] / trust(member) / mixture, 1e-300));
        }
        weights_.learn([&](long r) { return *reading(r, row); }, weight);
    }

    void call_roll_if_due() {
        if (options_.sleep && steps_ % roll_period == 0) call_roll();
    }

    void call_roll() {
        std::vector<Member*> crew;  // those awake, the most trusted first
        for (Member& member : members_)
            if (member.awake) crew.push_back(&member);
        std::stable_sort(crew.begin(), crew.end(),
                         [&](const Member* a, const Member* b) { return trust(*a) > trust(*b); });
        Member &leader = *crew[0], &leader_before = members_[std::size_t(leader_)];
        // The stream has begun to change if a posterior that drifts more takes the lead, at two
        // roll calls in a row.
        const bool faster = leader.shape.drift > members_[std::size_t(leader_)].shape.drift,
                   alarm = faster && doubts_;
        doubts_ = faster && !alarm;
        if (!doubts_) leader_ = &leader - members_.data();
        const bool jumped = watches_unit() && unit_has_changed();
        long kept = 0;
        bool anchored = false;  // the most trusted posterior that does not drift stays awake: only
                                // it remembers everything
        for (Member* member : crew) {
            const bool anchor = !anchored && !member->vigilant && member->shape.drift == 0;
            anchored = anchored || anchor;
            if (anchor || member == &leader) member->led = steps_;
            const bool settled = steps_ >= member->until;
            const bool superfluous =
                trust(*member) < negligible || kept >= (steps_ < early ? early_crew : late_crew);
            if (superfluous && settled && steps_ - member->led >= patience && !member->vigilant &&
                member->gain < promising) {
                member->awake = 0;
                continue;
            }
            if (!member->vigilant) ++kept;
            if (Family::costly_readouts && settled) rest_readouts(*member);
            if (steps_ % trial_period == 0) call_readouts(*member);
        }
        if (alarm) muster_ = std::max(muster_, probation);
        if (jumped) muster_ = first_probation();
        if (muster_ > 0) {
            for (Member& member : members_) {
                if (jumped && !stays(member, leader_before)) {
                    start_afresh(member);
                    remember(member, leader_before);
                } else if (!member.awake) {
                    wake(member, leader);
                }
                call_readouts(member);
                member.until = std::max(member.until, steps_ + muster_);
            }
            muster_ = 0;
        } else if (steps_ % trial_period == 0) {
            for (std::size_t i = 0; i < members_.size(); ++i) {
                Member& member = members_[std::size_t(next_trial_)];
                next_trial_ = (next_trial_ + 1) % long(members_.size());
                if (member.awake) continue;
                wake(member, leader);
                break;
            }
        }
        build();
    }

    void call_readouts(const Member& member) {
        for (long r = member.first; r < member.first + member.count; ++r) active_[r] = 1.0;
    }

    long first_probation() const { return std::min(std::max(16 * k * d, 512L), longest_probation); }

    /// Keeps the most trusted read-outs of a posterior, unless even they are far behind the first.
    void rest_readouts(const Member& member) {
        std::vector<long> order;
        for_readouts(member, [&](long r) { order.push_back(r); });
        std::stable_sort(order.begin(), order.end(),
                         [&](long a, long b) { return weights_.trust(a) > weights_.trust(b); });
        for (std::size_t i = 1; i < order.size(); ++i)
            if (long(i) >= most_readouts ||
                weights_.trust(order[i]) < least_readout * weights_.trust(order[0]))
                active_[order[i]] = 0.0;
    }

    static void remember(Member& member, const Member& other) {
        const std::vector<double*> mine = member.readings->memory(),
                                   theirs = other.readings->memory();
        for (std::size_t i = 0; i < mine.size(); ++i) *mine[i] = *theirs[i];
    }

    void wake(Member& member, const Member& leader) {
        start_afresh(member);
        member.unit = leader.unit;
        member.until = steps_ + probation;
        build();
        remember(member, leader);
        try {
            member.state->adopt(*leader.state, true);
        } catch (const std::domain_error&) {  // nothing to be learned from a leader that has lost
                                              // its digits
            start_afresh(member);
        }
    }

    /// Wakes a posterior that knows nothing, in the present unit; `build` gives it a state.
    void start_afresh(Member& member) {
        member.awake = 1;
        call_readouts(member);
        member.gain = 0;
        member.unit = unit_;
        member.state.reset();
    }

    /// Whether a posterior goes on after a change of the unit: the guard, one that knows inputs of
    /// this size, and the leader of before, for which they may still mean the same.
    bool stays(const Member& member, const Member& leader_before) const {
        return member.is_guard() ||
               (member.awake && (&member == &leader_before || is_near(unit_, member.unit)));
    }

    void copy_counters(const Ensemble& other) {
        steps_ = other.steps_;
        inputs_ = other.inputs_;
        scale_ = other.scale_;
        leader_ = other.leader_;
        next_trial_ = other.next_trial_;
        doubts_ = other.doubts_;
        unit_ = other.unit_;
        sizes_ = other.sizes_;
    }

    Blas blas_;
    Options options_;
    Family family_;
    std::vector<Member> members_;
    long readouts_ = 0, steps_ = 0, inputs_ = 0, leader_ = 0, next_trial_ = 0, doubts_ = 0,
         muster_ = 0, sizes_ = 0;
    double scale_ = 0, unit_ = 1;  // the scale is that of the first inputs; the unit, of the
                                   // present ones, is a multiple of it
    Weights weights_{0, 0};
    Buffer active_;              // of the read-outs: 0 for those that rest
    Buffer reading_, z_, kept_;  // kept_: the examples that may yet be learned again, with outcome,
                                 // weight and mean square
    Buffer
        squares_;  // the mean squares of the inputs since the last roll call, in units of the scale
    std::vector<double> last_;  // the input whose readings are at hand, if fresh_
    bool fresh_ = false;
};

}  // namespace MIXABLE_ISA
