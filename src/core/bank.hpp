// Members of a mixture whose posteriors are in the lanes of the same vectors: they are read and
// learned together.
#pragma once

#include "member.hpp"

namespace MIXABLE_ISA {

template <class Outcome>
class Bank {
   public:
    /// Members, at most W, of the same shape, that rules in lanes suit.
    Bank(std::vector<Member<Outcome>*> members, const Blas& blas)
        : members_(std::move(members)),
          lanes_(make_lane_group(members_[0]->shape, members_[0]->readings->in_lanes()->settings,
                                 blas)),
          d_(members_[0]->shape.d),
          reading_(lanes_->outputs() * W) {
        for (std::size_t lane = 0; lane < members_.size(); ++lane) {
            members_[lane]->lanes = lanes_;
            members_[lane]->lane = long(lane);
            lanes_->set(long(lane), members_[lane]->readings->in_lanes()->own);
            one_view_ = one_view_ && members_[lane]->offset == members_[0]->offset;
        }
    }

    /// Some of a bank cost as much as all of it.
    void sleep_if_all_are_drowsy() const {
        const auto stays = [](const Member<Outcome>* member) {
            return member->awake && !member->drowsy;
        };
        if (std::any_of(members_.begin(), members_.end(), stays)) return;
        for (Member<Outcome>* member : members_) member->awake = 0;
    }
    bool is_awake() const {
        return std::any_of(members_.begin(), members_.end(),
                           [](const Member<Outcome>* member) { return member->awake != 0; });
    }

    /// Reads an input; `deliver(expert, numbers, stride)` has the forecast of each expert.
    template <class Deliver>
    void read(const double* z, Deliver&& deliver) {
        const double* first = z + members_[0]->offset;
        double* x = lanes_->inputs();
        for (long l = 0; l < d_; ++l) store(x + l * W, splat(first[l]));
        for (std::size_t lane = 1; lane < members_.size() && !one_view_; ++lane)
            for (long l = 0; l < d_; ++l) x[l * W + long(lane)] = z[members_[lane]->offset + l];
        lanes_->read();
        for (long j = 0; j < lanes_->count(); ++j) {
            lanes_->predict(j, reading_);
            for (std::size_t lane = 0; lane < members_.size(); ++lane)
                if (members_[lane]->awake)
                    deliver(members_[lane]->first + j, reading_ + long(lane), long(W));
        }
    }

    /// Learns what was read last. `most(member)` is the largest |z|^2 that it learns.
    template <class Most>
    void learn(Outcome y, double weight, Most&& most) {
        vec limit = splat(HUGE_VAL);
        for (std::size_t lane = 0; lane < members_.size(); ++lane)
            limit[lane] = most(*members_[lane]);
        lanes_->learn(long(y), weight, limit);
    }

   private:
    std::vector<Member<Outcome>*> members_;
    std::shared_ptr<LaneGroup> lanes_;
    const long d_;
    Buffer reading_;
    bool one_view_ = true;  // whether all members see the same part of an input
};

/// The banks of some members: two in a bank take less time than two by themselves.
template <class Outcome>
std::vector<Bank<Outcome>> banks_of(std::vector<Member<Outcome>>& members, const Blas& blas) {
    std::vector<Bank<Outcome>> banks;
    for (const Structure kind : {Structure::full, Structure::blocks, Structure::shared}) {
        std::vector<Member<Outcome>*> group;
        const auto close = [&] {
            if (group.size() >= 2) banks.emplace_back(std::move(group), blas);
            group.clear();
        };
        for (Member<Outcome>& member : members) {
            const auto rule = member.readings->in_lanes();
            if (!rule || rule->settings.structure != kind || !member.joins) continue;
            if (!Lanes::suits(member.shape)) continue;
            if (!group.empty() && !(group[0]->readings->in_lanes()->settings == rule->settings))
                close();
            group.push_back(&member);
            if (long(group.size()) == W) close();
        }
        close();
    }
    return banks;
}

}  // namespace MIXABLE_ISA
