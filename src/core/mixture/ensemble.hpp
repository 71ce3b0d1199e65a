// A mixture in one compiled loop: many posteriors of one stream, each read by several experts, all
// mixed by how well they have predicted. weights.hpp has the bound, roster.hpp says who is active,
// unit.hpp what lam and drift are measured by.
#pragma once

#include "core/rule/any_forecaster.hpp"
#include "roster.hpp"

namespace MIXABLE_ISA {

/// What a Family must have is said in auto_rules.hpp.
template <class Family>
class Ensemble final : public AnyMixture<typename Family::Outcome> {
   public:
    using Outcome = typename Family::Outcome;

    using Options = MixtureOptions;

    /// An input has `views` views of d numbers each; each member sees one of them.
    Ensemble(long features, const Blas& blas, const Options& options, Family family,
             std::vector<Plan<Outcome>> plans, long views)
        : d(features),
          row(views * d),
          options_(options),
          family_(std::move(family)),
          unit_(d, views, options.scale, options.sleep),
          roster_(std::move(plans), blas, options.share, Family::experts_may_rest),
          reading_(experts() * family_.width()),
          z_(row),
          likelihood_(experts()) {
        start_over();
    }

    const long d, row;

    long predictions() const override { return family_.predictions(); }
    long features() const override { return d; }
    long row_length() const override { return row; }
    long outputs() const override { return family_.outputs(); }
    /// Numbers of a row of what `run` returns: the forecast, and its log score.
    long columns() const override { return outputs() + (Family::scores ? 1 : 0); }
    double score() const override { return score_; }
    long steps() const override { return steps_; }
    long block() const override { return period; }
    double largest_square() const override { return 1e280; }
    double cost() const override { return roster_.total(&PosteriorShape::cost); }
    double seconds() const override { return roster_.total(&PosteriorShape::seconds); }
    long threads() const override { return options_.threads; }

    void predict(const double* x, double* p) override {
        read_input(x);
        mix(0, p);
    }

    void predict_many(const double* X, long n, double* out) override {
        forget_reading();
        make_room(n);
        for (long t = 0; t < n; t += period) {
            const long count = std::min(period, n - t);
            for (long i = 0; i < count; ++i) unit_.normalise(X + (t + i) * row, z_ + i * row);
            roster_.in_each_team(count,
                                 [&](auto& team, long i, long end) { read_rows(team, i, end); });
            for (long i = 0; i < count; ++i) mix(i, out + (t + i) * outputs());
        }
    }

    /// An example of weight 0 leaves no trace but in the number of steps.
    void learn(const double* x, Outcome y, double weight) override {
        if (!is_acceptable(y, weight)) refuse();
        score_ = 0;
        if (weight == 0) {
            forget_reading();
            ++steps_;
            return review_if_due();
        }
        read_input(x);
        if (roster_.readings_are_settled()) reweigh(0, y, weight);
        if (unit_.keep(x, double(y), weight)) {
            learn_again();
            read_input(x);
        }
        unit_.note(z_);
        fresh_ = false;
        roster_.for_teams([&](auto& team) { learn(team, z_, y, weight); });
        ++steps_;
        review_if_due();
    }

    void run(const double* X, const Outcome* y, const double* weights, long n,
             double* out) override {
        forget_reading();
        make_room(n);
        const auto weight = [&](long t) { return weights ? weights[t] : 1.0; };
        for (long t = 0; t < n;) {
            const long count = together(y + t, weights ? weights + t : nullptr, n - t);
            double* p = out + t * columns();
            if (count == 1) {
                predict(X + t * row, p);
                learn(X + t * row, y[t], weight(t));
                if (Family::scores) p[outputs()] = score_;
                ++t;
                continue;
            }
            for (long i = 0; i < count; ++i) unit_.normalise(X + (t + i) * row, z_ + i * row);
            roster_.in_each_team(count, [&](auto& team, long i, long end) {
                run_rows(team, i, end, [&](long j) { return std::pair(y[t + j], weight(t + j)); });
            });
            for (long i = 0; i < count; ++i, p += columns()) {
                mix(i, p);
                reweigh(i, y[t + i], weight(t + i));
                if (Family::scores) p[outputs()] = score_;
                unit_.note(z_ + i * row);
            }
            t += count;
            steps_ += count;
            review_if_due();
        }
    }

    /// The mean of the members' means, by weight, for inputs as they come.
    [[gnu::cold]] void mean(double* out) const override {
        const long D = predictions() * d;
        set_to_zero(out, D);
        Buffer one(D);
        roster_.for_active([&](const Member<Outcome>& member) {
            family_.mean(*member.known, one);
            for (long i = 0; i < D; ++i) out[i] += roster_.expert_weights(member) * one[i];
        });
        for (long i = 0; i < D; ++i) out[i] *= unit_.factor();
    }
    /// The covariances of the posteriors, and of their means.
    [[gnu::cold]] void feature_covariances(double* out) const override {
        const long K = predictions(), D = K * d;
        const double unit =
            unit_.factor();  // what inputs are multiplied by before members see them
        set_to_zero(out, D * K);
        Buffer centre(D), one(D), within(D * K);
        mean(centre);
        roster_.for_active([&](const Member<Outcome>& member) {
            double width = 0;
            roster_.for_experts(member, [&](long r) {
                width +=
                    roster_.weights.expert_weights(r) * member.readings->width(r - member.first);
            });
            const double expert_weights = roster_.expert_weights(member);
            family_.mean(*member.known, one);
            family_.feature_covariances(*member.known, within);
            const auto off = [&](long c, long l) {
                return unit * one[c * d + l] - centre[c * d + l];
            };
            for (long l = 0; l < d; ++l)
                for (long i = 0; i < K; ++i)
                    for (long j = 0; j < K; ++j) {
                        const long at = (l * K + i) * K + j;
                        out[at] += unit * unit * width * within[at] +
                                   expert_weights * off(i, l) * off(j, l);
                    }
        });
    }

    long experts() const override { return roster_.weights.size(); }
    [[gnu::cold]] void weights(double* weight, double* active) const override {
        roster_.weights.all(weight);
        set_to_zero(active, experts());
        roster_.for_experts([&](long r) { active[r] = 1.0; });
    }
    long reading_width() const override { return family_.width(); }
    double scale() const override { return unit_.mean_square(); }

    [[gnu::cold]] long components(const double* x, double* out) override {
        read_input(x);
        long n = 0;
        const long width = family_.width();
        roster_.for_experts([&](long r) {
            double* component = out + n++ * (width + 1);
            component[0] = roster_.weights.expert_weights(r);
            copy(reading(r, 0), width, component + 1);
        });
        return n;
    }

    /// Takes over what a smaller ensemble has learned.
    [[gnu::cold]] void adopt(const AnyForecaster<Outcome>& from) override {
        const auto& other = static_cast<const Ensemble&>(from);
        forget_reading();
        steps_ = other.steps_;
        unit_.adopt(other.unit_);
        roster_.adopt(other.roster_);
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        unit_.visit_counters(visitor);
        roster_.visit_counters(visitor);
        unit_.visit_arrays(visitor);
        roster_.visit_arrays(visitor);
    }
    [[gnu::cold]] bool counters_are_valid() const override {
        return steps_ >= 0 && steps_ <= most_steps && unit_.counters_are_valid() &&
               roster_.counters_are_valid(steps_);
    }
    /// Whether the arrays, as just read from a saved state, make sense.
    [[gnu::cold]] bool contents_are_valid() const override {
        const auto is_example = [&](double y, double weight) {
            return family_.has(y) && weight > 0 && weight <= most_weight;
        };
        return roster_.contents_are_valid() && unit_.contents_are_valid(is_example);
    }
    /// Forgets everything.
    void start_over() {
        steps_ = 0;
        unit_.start_over();
        roster_.start_over();
        forget_reading();
    }
    void clear() override {
        roster_.for_active([](Member<Outcome>& member) { member.known->clear(); });
    }
    bool may_be_restored() const override { return steps_ == 0; }

    void forget_reading() override {
        roster_.for_active([](Member<Outcome>& member) {
            if (member.state) member.state->forget_prepared();
        });
        fresh_ = false;
    }

   private:
    static constexpr long period = Roster<Outcome>::period;
    static constexpr double most_weight = 1e12;
    // The factor of the mean square beyond which an input is of another unit, and not learned.
    static constexpr double foreign = 1e6;
    static constexpr double memory = 128;  // steps that the gain of a member goes back

    double* reading(long expert, long row) {
        return reading_ + (expert * rows_ + row) * family_.width();
    }
    /// Room for the rows of tables, once one comes: many models learn row by row.
    void make_room(long n) {
        if (n <= rows_) return;
        rows_ = period;
        reading_ = Buffer(experts() * rows_ * family_.width());
        z_ = Buffer(rows_ * row);
    }

    bool is_acceptable(Outcome y, double weight) const {
        return weight <= most_weight && family_.accepts(y);
    }
    [[noreturn]] static void refuse() {
        throw std::domain_error(
            "this example cannot be learned in double precision: its weight must be at most 1e12 "
            "and its target at most 1e100");
    }

    /// How many of the next n rows can be learned at once. Up to the next review, members need not
    /// hear of each other; as long as the scale may change, one row at a time, and those of weight
    /// 0 by themselves.
    long together(const Outcome* y, const double* weights, long n) const {
        const bool settled = unit_.is_settled() && roster_.readings_are_settled();
        const long most = settled ? std::min(n, period - steps_ % period) : 1;
        for (long i = 0; i < most; ++i) {
            const double weight = weights ? weights[i] : 1.0;
            if (is_acceptable(y[i], weight) && weight > 0) continue;
            if (i == 0 && !is_acceptable(y[i], weight)) refuse();
            return std::max(i, 1L);
        }
        return most;
    }

    /// Learns the first examples again, in a new scale.
    void learn_again() {
        roster_.restart();
        forget_reading();
        unit_.replay([&](const double* x, double y, double weight) {
            unit_.normalise(x, z_);
            roster_.for_teams([&](auto& team) {
                read_one(team);
                learn(team, z_, Outcome(y), weight);
            });
        });
    }

    void read_input(const double* x) {
        unit_.normalise(x, z_);
        if (fresh_ && one_row(z_).begins_with(last_.data(), row)) return;
        roster_.for_teams([&](auto& team) { read_one(team); });
        last_.assign(z_ + 0, z_ + row);
        fresh_ = true;
    }

    void read_one(Member<Outcome>& member) {
        member.state->prepare(one_row(z_ + member.offset));
        read(member, 0, 0);
    }
    void read_one(Bank<Outcome>& bank) { read(bank, 0); }

    void read(Member<Outcome>& member, long row, long after) {
        member.begin(after);
        roster_.for_experts(
            member, [&](long r) { member.readings->read(r - member.first, reading(r, row)); });
    }
    void read(Bank<Outcome>& bank, long i) {
        bank.read(z_ + i * row, [&](long r, const double* numbers, long stride) {
            double* out = reading(r, i);
            for (long c = 0; c < family_.width(); ++c) out[c] = numbers[c * stride];
        });
    }

    /// Reads rows [i, end) of z_.
    void read_rows(Member<Outcome>& member, long i, long end) {
        while (i < end) {
            const long block = std::min(member.state->room(), end - i);
            member.state->prepare({z_ + i * row + member.offset, block, row}, false);
            for (long j = 0; j < block; ++j, ++i) read(member, i, j);
        }
        member.state->forget_prepared();
    }
    void read_rows(Bank<Outcome>& bank, long i, long end) {
        for (; i < end; ++i) read(bank, i);
    }

    /// Reads rows [i, end) of z_ and learns each in its turn; `example(i)` is outcome and weight.
    template <class F>
    void run_rows(Member<Outcome>& member, long i, long end, F&& example) {
        while (i < end) {
            const long block = std::min(member.state->room(), end - i);
            member.state->prepare({z_ + i * row + member.offset, block, row});
            do {
                read(member, i, 0);
                const auto [y, weight] = example(i);
                learn(member, z_ + i * row, y, weight);
                ++i;
            } while (member.state->has_prepared());
        }
    }
    template <class F>
    void run_rows(Bank<Outcome>& bank, long i, long end, F&& example) {
        for (; i < end; ++i) {
            read(bank, i);
            const auto [y, weight] = example(i);
            learn(bank, nullptr, y, weight);
        }
    }

    /// The largest |z|^2 that a member learns.
    double most_square(const Member<Outcome>& member) const {
        const bool everything = !unit_.follows() || member.is_fallback();
        return everything ? HUGE_VAL : foreign * member.unit * double(d);
    }
    void learn(Member<Outcome>& member, const double* z, Outcome y, double weight) {
        member.learn(z, y, weight, most_square(member));
    }
    void learn(Bank<Outcome>& bank, const double*, Outcome y, double weight) {
        bank.learn(y, weight, [&](const Member<Outcome>& member) { return most_square(member); });
    }

    void mix(long row, double* p) {
        const Weights& weights = roster_.weights;
        family_.begin_mix(p);
        roster_.for_experts([&](long r) {
            family_.add(Family::trims ? weights.earned(r) : weights.expert_weights(r),
                        reading(r, row), p);
        });
        family_.end_mix(p);
    }

    void reweigh(long row, Outcome y, double weight) {
        const std::vector<long>& active = roster_.weights.active();
        double top = -std::numeric_limits<double>::infinity(), mixture = 0;
        family_.log_likelihoods(active, [&](long r) { return reading(r, row); }, y, likelihood_);
        for (const long r : active) top = std::max(top, likelihood_[r]);
        for (long r = 0; r < experts(); r += W)  // those inactive have some number, unused
            store(likelihood_ + r, exp(weight * (load(likelihood_ + r) - top)));
        own_.assign(roster_.members.size(), 0.0);
        for (std::size_t i = 0; i < own_.size(); ++i) {
            roster_.for_experts(roster_.members[i], [&](long r) {
                own_[i] += roster_.weights.expert_weights(r) * likelihood_[r];
            });
            mixture += own_[i];
        }
        score_ = top + std::log(mixture) / weight;
        for (std::size_t i = 0; i < own_.size(); ++i) {
            Member<Outcome>& member = roster_.members[i];
            if (!member.active || !member.tires) continue;
            // NaN if a forged file leaves it no weight at all
            const double better =
                std::max(1e-300, own_[i] / roster_.expert_weights(member) / mixture);
            member.gain = (1 - 1.0 / memory) * member.gain + std::log(better);
        }
        roster_.weights.learn(likelihood_);
    }

    void review_if_due() {
        if (!options_.sleep || steps_ % period != 0) return;
        const bool jumped = unit_.has_changed();
        roster_.review(steps_, unit_.unit(), jumped);
    }

    Options options_;
    Family family_;
    Unit unit_;
    Roster<Outcome> roster_;
    long steps_ = 0;
    double score_ = 0;
    long rows_ = 1;  // of an input, that there is room for
    Buffer reading_, z_;
    Buffer likelihood_;         // of the outcome, by each expert, over that of the best
    std::vector<double> own_;   // the same by each member
    std::vector<double> last_;  // the input whose readings are at hand, if fresh_
    bool fresh_ = false;
};

}  // namespace MIXABLE_ISA
