// Who of a mixture is active.
//
// Members whose weight has become negligible are put to sleep at a review, every `period` steps.
// They are forgotten, and when they wake they start from what the leader has learned. When the
// inputs have changed their size, members start afresh in the new unit, beside those that know the
// old one.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "bank.hpp"
#include "core/numbers/parallel.hpp"
#include "unit.hpp"
#include "weights.hpp"

namespace MIXABLE_ISA {

template <class Outcome>
class Roster {
   public:
    static constexpr long period = Unit::period;

    /// `experts_rest`: whether reading an expert is costly, so that some are left out.
    Roster(std::vector<Plan<Outcome>> plans, const Blas& blas, double share, bool experts_rest)
        : blas_(blas), experts_rest_(experts_rest) {
        long experts = 0;
        for (Plan<Outcome>& plan : plans) {
            plan.shape.phase = phases * long(members.size());
            members.emplace_back(std::move(plan), experts);
            experts += members.back().count;
        }
        banks = banks_of(members, blas_);
        weights = Weights(experts, share);
        active_ = Buffer(experts);
    }

    std::vector<Member<Outcome>> members;
    std::vector<Bank<Outcome>> banks;
    Weights weights{0, 0};

    /// f on the experts of a member that do not rest; none if it sleeps.
    template <class F>
    void for_experts(const Member<Outcome>& member, F&& f) const {
        if (member.active)
            for (long r = member.first; r < member.first + member.count; ++r)
                if (active_[r] != 0) f(r);
    }
    template <class F>
    void for_experts(F&& f) const {
        for (const Member<Outcome>& member : members) for_experts(member, f);
    }
    template <class F>
    void for_active(F&& f) {
        for (Member<Outcome>& member : members)
            if (member.active) f(member);
    }
    template <class F>
    void for_active(F&& f) const {
        for (const Member<Outcome>& member : members)
            if (member.active) f(member);
    }

    /// f on those active: on banks, and on the members that are in none.
    template <class F>
    void for_teams(F&& f) {
        for (Bank<Outcome>& bank : banks)
            if (bank.is_active()) f(bank);
        for_active([&](Member<Outcome>& member) {
            if (member.state) f(member);
        });
    }
    /// f(team, first, end) on each of them, over `count` rows. Threads share them in halves, so
    /// that all have as much to do.
    template <class F>
    void in_each_team(long count, F&& f) {
        std::vector<std::function<void(long, long)>> work;
        for_teams([&](auto& team) {
            work.push_back([&f, &team](long first, long end) { f(team, first, end); });
        });
        in_parallel(long(work.size()), 2, [&](long i, long part) {
            const long half = count / 2;
            work[std::size_t(i)](part == 0 ? 0 : half, part == 0 ? half : count);
        });
    }

    bool readings_are_settled() const {
        bool settled = true;
        for_active([&](const Member<Outcome>& member) {
            settled = settled && member.readings->settled();
        });
        return settled;
    }
    /// A sum over all members, active or inactive.
    double total(double (PosteriorShape::*of)() const) const {
        double sum = 0;
        for (const Member<Outcome>& member : members) sum += (member.shape.*of)();
        return sum;
    }

    double expert_weights(const Member<Outcome>& member) const {
        double s = 0;
        for_experts(member, [&](long r) { s += weights.expert_weights(r); });
        return s;
    }

    void start_over() {
        leader_ = next_trial_ = doubts_ = wake_all_ = 0;
        weights.start_over();
        for (long r = 0; r < active_.size(); ++r) active_[r] = 1.0;
        for (Member<Outcome>& member : members) {
            member.unit = 1;
            member.active = member.active_at_first;
            member.until = first_probation();
            member.led = 0;
            member.gain = 0;
        }
        restart();
    }

    /// Lets all that are active know nothing.
    void restart() {
        for (Member<Outcome>& member : members) {
            member.forget();
            member.clear_memory();
        }
        build();
    }

    /// Gives those active a state in their unit if they have none, and takes it from those
    /// inactive. To be called when any of that has changed.
    void build() {
        for (Member<Outcome>& member : members) {
            if (!member.active) member.forget();
            if (member.active && !member.has_state()) member.make_state(blas_);
        }
        std::vector<long> active;
        for_experts([&](long r) { active.push_back(r); });
        weights.set_active(std::move(active));
    }

    /// Decides who is active after `step` steps. `jumped` says that the unit is new.
    void review(long step, double unit, bool jumped) {
        std::vector<Member<Outcome>*> active;  // the heaviest first
        for_active([&](Member<Outcome>& member) { active.push_back(&member); });
        const auto heavier = [&](const Member<Outcome>* a, const Member<Outcome>* b) {
            return expert_weights(*a) > expert_weights(*b);
        };
        std::stable_sort(active.begin(), active.end(), heavier);
        Member<Outcome>&leader = *active[0], &leader_before = members[std::size_t(leader_)];
        // The stream has begun to change if a member that drifts more takes the lead, at two
        // reviews in a row.
        const bool faster = leader.shape.drift > leader_before.shape.drift;
        const bool changes = faster && doubts_ != 0;
        doubts_ = faster && !changes ? 1 : 0;
        if (doubts_ == 0) leader_ = &leader - members.data();
        deactivate(active, step);
        if (changes) {
            wake_all_ = std::max(wake_all_, probation);
            forget_what_is_stale(active, unit);
        }
        if (jumped) wake_all_ = first_probation();
        if (wake_all_ > 0) {
            for (Member<Outcome>& member : members) {
                if (jumped && !stays(member, leader_before, unit)) {
                    start_afresh(member, unit);
                    member.copy_memory(leader_before);
                } else if (!member.active) {
                    wake(member, active, step, unit);
                }
                wake_experts(member);
                member.until = std::max(member.until, step + wake_all_);
            }
            wake_all_ = 0;
        } else if (step % trial_period == 0) {
            try_an_inactive_one(active, step, unit);
        }
        build();
    }

    /// Takes over a smaller roster. Since the newcomers may change who is best, everyone is to wake
    /// at the next review.
    void adopt(const Roster& other) {
        leader_ = other.leader_;
        next_trial_ = other.next_trial_;
        doubts_ = other.doubts_;
        weights.adopt(other.weights);
        copy(other.active_, active_.size(), active_);
        for (std::size_t i = 0; i < members.size(); ++i) {
            Member<Outcome>& mine = members[i];
            const Member<Outcome>& theirs = other.members[i];
            mine.active = theirs.active;
            mine.until = theirs.until;
            mine.led = theirs.led;
            mine.gain = theirs.gain;
            mine.unit = theirs.unit;
            mine.copy_memory(theirs);
        }
        build();
        for (std::size_t i = 0; i < members.size(); ++i) {
            // One that had averages (averaged.hpp) may have a smaller lam without them.
            Member<Outcome>& mine = members[i];
            const bool less = mine.shape.drift == 0 && mine.shape.lam < other.members[i].shape.lam;
            if (mine.active) mine.known->adopt(*other.members[i].known, less);
        }
        wake_all_ = first_probation();
    }

    [[gnu::cold]] void visit_counters(Visitor& visitor) {
        visitor("leader", leader_);
        visitor("next_trial", next_trial_);
        visitor("doubts", doubts_);
        visitor("muster", wake_all_);  // its name in files
        weights.visit_counters(visitor);
        for (std::size_t i = 0; i < members.size(); ++i) {
            Prefixed prefixed(visitor, std::to_string(i) + ".");
            members[i].visit_counters(prefixed);
        }
    }
    /// What was visited before says which members have a state.
    [[gnu::cold]] void visit_arrays(Visitor& visitor) {
        weights.visit_arrays(visitor);
        visitor("active", active_, 1L, active_.size(), active_.size());
        build();
        for (std::size_t i = 0; i < members.size(); ++i)
            if (members[i].known) {
                Prefixed prefixed(visitor, std::to_string(i) + ".");
                members[i].known->visit(prefixed);
            }
    }
    [[gnu::cold]] bool counters_are_valid(long step) const {
        bool valid = wake_all_ >= 0 && wake_all_ <= longest_probation;
        valid = valid && (doubts_ == 0 || doubts_ == 1);
        for (long index : {leader_, next_trial_})
            valid = valid && index >= 0 && index < long(members.size());
        bool someone = false;
        for (const Member<Outcome>& member : members) {
            valid = valid && (member.active == 0 || member.active == 1) && member.led >= 0 &&
                    member.led <= step && std::fabs(member.gain) <= 1e6;
            valid = valid && Unit::is_unit(member.unit) && member.until >= 0 &&
                    member.until <= step + probation + longest_probation;
            valid = valid && (!member.known || member.known->counters_are_valid()) &&
                    member.readings->memory_is_valid();
            someone = someone || member.active;
        }
        return valid && someone;
    }
    [[gnu::cold]] bool contents_are_valid() const {
        bool valid = weights.sound();
        for (long r = 0; r < active_.size(); ++r)
            valid = valid && (active_[r] == 0 || active_[r] == 1);
        for_active([&](const Member<Outcome>& member) {
            valid = valid && expert_weights(member) > 0 && member.known->contents_are_valid(1e150);
        });
        return valid;
    }

   private:
    static constexpr long probation = 512;  // steps that a member stays active, once woken
    static constexpr long longest_probation = 2048;
    static constexpr long phases = 3;  // blocks of members end so many steps apart: no long pauses
    static constexpr long patience = 256;  // the same for a leader that has lost the lead
    // In the first `early` steps `most_early` members may be active besides those that always are,
    // then `most_late`.
    static constexpr long early = 4096, most_early = 4, most_late = 1;
    // Steps between trials, in which one sleeper and the resting experts may show that they are
    // wanted again.
    static constexpr long trial_period = 1024;
    static constexpr double negligible = 0.02;  // the weight below which a member is put to sleep
    static constexpr double promising = 1;   // the gain of a member that is catching up: it stays
    static constexpr long most_experts = 2;  // of a member, that do not rest
    // The weight, relative to the best expert of the member, below which one rests.
    static constexpr double least_expert = 0.1;

    long first_probation() const {
        const PosteriorShape& shape = members[0].shape;
        return std::min(std::max(16 * shape.D(), 512L), longest_probation);
    }

    /// Of those active, the heaviest first. The heaviest member that does not drift, the
    /// anchor, stays active: only it remembers everything.
    void deactivate(const std::vector<Member<Outcome>*>& active, long step) {
        const long most = step < early ? most_early : most_late;
        long kept = 0;
        bool anchored = false;
        for (Member<Outcome>* member : active) {
            const bool anchor = !anchored && !member->always_active && member->shape.drift == 0;
            anchored = anchored || anchor;
            if (anchor || member == active[0]) member->led = step;
            member->is_leaving = false;
            if (!member->tires) continue;
            const bool superfluous = expert_weights(*member) < negligible || kept >= most;
            const bool settled = step >= member->until;
            member->is_leaving = superfluous && settled && step - member->led >= patience &&
                                 !member->always_active && member->gain < promising;
            if (member->is_leaving && !member->lanes) member->active = 0;
            if (member->is_leaving) continue;
            if (!member->always_active) ++kept;
            if (experts_rest_ && settled && !member->lanes) rest_experts(*member);
            if (step % trial_period == 0) wake_experts(*member);
        }
        for (const Bank<Outcome>& bank : banks) bank.sleep_if_all_are_drowsy();
    }

    /// When the stream has changed, members that never sleep and have lost all weight start again
    /// from what the leader has learned, as if they had slept. Those that know inputs of another
    /// size are kept.
    void forget_what_is_stale(const std::vector<Member<Outcome>*>& active, double unit) {
        for (Member<Outcome>* member : active)
            if (!member->tires && !member->always_active && expert_weights(*member) < negligible &&
                Unit::is_near(unit, member->unit))
                member->active = 0;
    }

    void wake_experts(const Member<Outcome>& member) {
        for (long r = member.first; r < member.first + member.count; ++r) active_[r] = 1.0;
    }

    /// Keeps the heaviest experts of a member, unless even they are far behind the first.
    void rest_experts(const Member<Outcome>& member) {
        std::vector<long> order;
        for_experts(member, [&](long r) { order.push_back(r); });
        std::stable_sort(order.begin(), order.end(), [&](long a, long b) {
            return weights.expert_weights(a) > weights.expert_weights(b);
        });
        for (std::size_t i = 1; i < order.size(); ++i)
            if (long(i) >= most_experts ||
                weights.expert_weights(order[i]) < least_expert * weights.expert_weights(order[0]))
                active_[order[i]] = 0.0;
    }

    /// Wakes a member with what the heaviest one of its kind has learned, its own lam in place
    /// of the other's; without such a teacher it sleeps on. `active` has the heaviest first.
    bool wake(Member<Outcome>& member, const std::vector<Member<Outcome>*>& active, long step,
              double unit) {
        const auto teacher =
            std::find_if(active.begin(), active.end(), [&](Member<Outcome>* other) {
                return other->known && other != &member && member.can_learn_from(*other);
            });
        if (teacher == active.end()) return false;
        start_afresh(member, (*teacher)->unit);
        member.until = step + probation;
        member.make_state(blas_);
        member.copy_memory(**teacher);
        try {
            member.known->adopt(*(*teacher)->known, true);
        } catch (const std::domain_error&) {  // the teacher has lost its digits
            start_afresh(member, unit);
        }
        return true;
    }

    /// Wakes a member that knows nothing; `build` gives it a state.
    void start_afresh(Member<Outcome>& member, double unit) {
        member.active = 1;
        wake_experts(member);
        member.gain = 0;
        member.unit = unit;
        member.forget();
    }

    void try_an_inactive_one(const std::vector<Member<Outcome>*>& active, long step, double unit) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            Member<Outcome>& member = members[std::size_t(next_trial_)];
            next_trial_ = (next_trial_ + 1) % long(members.size());
            if (!member.active && member.returns && wake(member, active, step, unit)) return;
        }
    }

    /// Whether a member goes on after a change of the unit: the fallback, one that knows inputs of
    /// this size, and the leader of before, for which they may still mean the same.
    bool stays(const Member<Outcome>& member, const Member<Outcome>& leader_before,
               double unit) const {
        return member.is_fallback() ||
               (member.active && (&member == &leader_before || Unit::is_near(unit, member.unit)));
    }

    Blas blas_;
    bool experts_rest_;
    Buffer active_;  // 0 for experts that rest
    long leader_ = 0, next_trial_ = 0, doubts_ = 0;
    long wake_all_ = 0;  // if above 0, everyone wakes at the next review, for that many steps
};

}  // namespace MIXABLE_ISA
