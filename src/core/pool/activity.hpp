// Which experts of a pool are active. Those are not that the pool can do without: for twice as long
// as it has learned so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/visitor.hpp"

namespace MIXABLE_ISA {

/// What the pool would lose without its least useful expert, without the two least useful ones, and
/// so on; and for how long some are still inactive. The first ones are always active.
class Activity {
   public:
    static constexpr long period = 1024;  // steps between two reviews

    /// Experts become inactive without which the pool loses less than this share of the loss. They
    /// are ranked after `early` steps, so that the first review knows what they are worth.
    Activity(long experts, long first, double least_gain, long early = period)
        : N(experts),
          first(first),
          early(early),
          least_gain_(least_gain),
          cost_(N),
          level_(N),
          left_(N),
          saved_order_(N),
          grows_(std::size_t(N)) {
        start_over();
    }

    const long N, first, early;

    /// Says that an expert is made anew as rows come, so that what it gained with fewer rows says
    /// little. It becomes inactive if it gains nothing at all, not in the first reviews, and for a
    /// shorter time; and then it has time to be made anew before anyone is judged.
    void set_growing(long e) { grows_[std::size_t(e)] = true; }

    /// Whether `review` is to be called after so many steps, and how many there are until then.
    bool is_due(long steps) const { return steps % period == 0 || steps == early; }
    long until_due(long steps) const {
        return steps < early ? early - steps : period - steps % period;
    }

    /// The experts that are active.
    const std::vector<long>& active() const { return active_; }
    bool is_active(long e) const { return left_[e] == 0; }
    /// Whether all but the first ones are inactive.
    bool is_alone() const { return long(active_.size()) == first; }
    /// Those that may become inactive, the least useful one first. Nobody before the first review.
    const std::vector<long>& order() const { return order_; }

    /// Takes in one example: cost[j] is what the pool would have lost without the first j + 1 of
    /// `order`. With it come the loss that costs are compared with, and a loss whose jumps are
    /// noticed.
    void note(const double* cost, double loss, double level) {
        for (std::size_t j = 0; j < order_.size(); ++j) cost_[long(j)] += cost[j];
        loss_ += loss;
        note(level);
    }
    void note(double level) { recent_ += level; }
    /// Steps of the first expert by itself.
    long alone() const { return alone_; }
    void add_alone(long steps) { alone_ += steps; }

    /// Decides who is active, when that `is_due`. `rank` returns some experts in the order in
    /// which a pool can do without them; `changed(e)` is called for one that has become inactive,
    /// or active.
    template <class Rank, class Changed>
    void review(Rank&& rank, Changed&& changed) {
        if (!std::isfinite(least_gain_)) return;
        if (reviews_ == 0 && order_.empty() && !is_alone() && early < period) {
            order_.assign(active_.begin() + first, active_.end());
            order_ = rank(order_);
            return;
        }
        ++reviews_;
        std::vector<long> woken, unripe;
        for (long e = first; e < N; ++e) {
            if (is_active(e)) {
                if (reviews_ == 1 && early == period) order_.push_back(e);
                continue;
            }
            left_[e] = recent_ > jump * level_[e] ? 0 : left_[e] - 1;
            if (!is_active(e)) continue;
            woken.push_back(e);
            if (grows_[std::size_t(e)]) trial_ = std::clamp(reviews_ / 8, 1L, 16L) + 1;
        }
        // At first little is known, and some learn slowly: the most useful one goes on, and so does
        // whoever gains anything.
        const bool is_first = reviews_ == 1 && early < period;
        const double least = is_first ? 0 : least_gain_ * loss_;
        trial_ = std::max(trial_ - 1, 0L);
        bool grows = false;
        long drop = 0;
        for (long j = 0; j < long(order_.size()) - (is_first ? 1 : 0) && trial_ == 0; ++j) {
            grows = grows || (reviews_ >= ripe && grows_[std::size_t(order_[std::size_t(j)])]);
            if (cost_[j] < (grows ? 0 : least)) drop = j + 1;
        }
        for (long j = 0; j < drop; ++j) {
            const long e = order_[std::size_t(j)];
            if (reviews_ < ripe && grows_[std::size_t(e)]) {
                unripe.push_back(e);
                continue;
            }
            const double times = grows_[std::size_t(e)] ? 0.5 : 2;
            left_[e] = std::clamp(std::floor(times * double(reviews_)), 4.0, longest);
            level_[e] = recent_;
            changed(e);
        }
        const double before = drop ? cost_[drop - 1] : 0.0;
        for (long j = 0; j < N; ++j)
            cost_[j] = j + drop < N ? keep * (cost_[j + drop] - before) : 0;
        loss_ *= keep;
        order_.erase(order_.begin(), order_.begin() + drop);
        order_ = rank(order_);
        for (const long e : woken) changed(e);
        woken.insert(woken.end(), unripe.begin(), unripe.end());
        if (!woken.empty()) {  // a trial: all is measured anew
            order_.insert(order_.begin(), woken.begin(), woken.end());
            cost_.clear();
            loss_ = 0;
        }
        recent_ = 0;
        list();
    }

    /// Makes an expert inactive until it is made active; or active, on trial.
    void set_active(long e, bool active) {
        if (e < first || e >= N) throw std::out_of_range("no such expert");
        const bool are_ranked = reviews_ > 0 || !order_.empty();
        const auto place = std::find(order_.begin(), order_.end(), e);
        if (place != order_.end()) order_.erase(place);
        if (active && are_ranked) order_.insert(order_.begin(), e);
        left_[e] = active ? 0 : longest;
        level_[e] = std::numeric_limits<double>::max();
        cost_.clear();
        loss_ = 0;
        list();
    }

    void start_over() {
        for (Buffer* each : {&cost_, &level_, &left_}) each->clear();
        loss_ = recent_ = 0;
        reviews_ = alone_ = trial_ = 0;
        order_.clear();
        list();
    }
    void adopt(const Activity& other) {
        copy(other.cost_, N, cost_);
        copy(other.level_, N, level_);
        copy(other.left_, N, left_);
        loss_ = other.loss_, recent_ = other.recent_;
        reviews_ = other.reviews_, alone_ = other.alone_, trial_ = other.trial_;
        order_ = other.order_;
        list();
    }

    [[gnu::cold]] void visit(Visitor& visitor) {
        for (long j = 0; j < N; ++j)
            saved_order_[j] = j < long(order_.size()) ? double(order_[std::size_t(j)]) : -1.0;
        visitor("loss", loss_);
        visitor("recent", recent_);
        visitor("reviews", reviews_);
        visitor("alone", alone_);
        visitor("trial", trial_);
        visitor("cost", cost_, 1, N, N);
        visitor("level", level_, 1, N, N);
        visitor("left", left_, 1, N, N);
        visitor("order", saved_order_, 1, N, N);
        list();
        order_.clear();  // experts that are no longer active are left out
        for (long j = 0; j < N; ++j)
            for (const long e : active_)
                if (saved_order_[j] == double(e)) order_.push_back(e);
    }
    /// Whether the numbers, as just read from a saved state, can be some that it had.
    [[gnu::cold]] bool is_valid(long most_steps) const {
        std::vector<long> those(active_.begin() + std::min(first, long(active_.size())),
                                active_.end()),
            ranked = order_;
        std::sort(ranked.begin(), ranked.end());
        for (long e = 0; e < N; ++e)
            if (!(left_[e] >= 0 && left_[e] <= longest && left_[e] == std::floor(left_[e])) ||
                (e < first && left_[e] > 0) || !(std::fabs(cost_[e]) <= 1e12))
                return false;
        return (ranked == those || (ranked.empty() && reviews_ == 0)) && std::fabs(loss_) <= 1e12 &&
               std::isfinite(recent_) && reviews_ >= 0 && reviews_ <= most_steps && trial_ >= 0 &&
               trial_ <= most_steps && alone_ >= 0 && alone_ <= most_steps;
    }

   private:
    static constexpr double keep = 0.75;    // what counts of earlier periods, at each review
    static constexpr double jump = 2;       // a loss so many times as large lets them be tried
    static constexpr double longest = 256;  // reviews without an expert
    static constexpr long ripe = 3;         // the first review at which one that grows is judged

    void list() {
        active_.clear();
        for (long e = 0; e < N; ++e)
            if (is_active(e)) active_.push_back(e);
    }

    double least_gain_;
    Buffer cost_;         // of doing without the first of `order_`, decayed
    Buffer level_;        // of the period after which an expert became inactive
    Buffer left_;         // reviews to come before it is tried again
    Buffer saved_order_;  // as it is saved
    double loss_ = 0;     // decayed
    double recent_ = 0;   // the level since the last review
    long reviews_ = 0, alone_ = 0;
    long trial_ = 0;           // reviews to come before the next that drops anyone
    std::vector<char> grows_;  // experts that are made anew as rows come
    std::vector<long> active_, order_;
};

}  // namespace MIXABLE_ISA
