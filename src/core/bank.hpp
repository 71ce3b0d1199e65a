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
          lanes_(std::make_shared<Lanes>(members_[0]->shape.k, members_[0]->shape.d, blas)),
          rule_(members_[0]->readings->in_lanes()->first),
          reading_(rule_.K * W) {
        for (std::size_t lane = 0; lane < members_.size(); ++lane) {
            members_[lane]->lanes = lanes_;
            members_[lane]->lane = long(lane);
            rule_.beta[lane] = members_[lane]->readings->in_lanes()->second;
            one_view_ = one_view_ && members_[lane]->offset == members_[0]->offset;
        }
    }

    bool is_awake() const {
        return std::any_of(members_.begin(), members_.end(),
                           [](const Member<Outcome>* member) { return member->awake != 0; });
    }

    /// Reads an input; `deliver(expert, numbers, stride)` has the forecast of each expert.
    template <class Deliver>
    void read(const double* z, Deliver&& deliver) {
        const double* first = z + members_[0]->offset;
        for (long l = 0; l < lanes_->d; ++l) store(lanes_->x + l * W, splat(first[l]));
        for (std::size_t lane = 1; lane < members_.size() && !one_view_; ++lane)
            for (long l = 0; l < lanes_->d; ++l)
                lanes_->x[l * W + long(lane)] = z[members_[lane]->offset + l];
        lanes_->read();
        for (long j = 0; j < rule_.count(); ++j) {
            rule_.predict(lanes_->m, lanes_->g, j, reading_);
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
        rule_.learn(lanes_->m, lanes_->g, long(y), weight);
        lanes_->push(rule_.v, rule_.f, limit);
    }

   private:
    std::vector<Member<Outcome>*> members_;
    std::shared_ptr<Lanes> lanes_;
    LaneRule rule_;
    Buffer reading_;
    bool one_view_ = true;  // whether all members see the same part of an input
};

/// The banks of some members: as many as are full, or half full.
template <class Outcome>
std::vector<Bank<Outcome>> banks_of(std::vector<Member<Outcome>>& members, const Blas& blas) {
    std::vector<Bank<Outcome>> banks;
    std::vector<Member<Outcome>*> group;
    const auto close = [&] {
        if (long(group.size()) > W / 2) banks.emplace_back(std::move(group), blas);
        group.clear();
    };
    for (Member<Outcome>& member : members) {
        const auto settings = member.readings->in_lanes();
        if (!settings || member.tires || !Lanes::suits(member.shape)) continue;
        if (!group.empty() && !(group[0]->readings->in_lanes()->first == settings->first)) close();
        group.push_back(&member);
        if (long(group.size()) == W) close();
    }
    close();
    return banks;
}

}  // namespace MIXABLE_ISA
