// Members of a mixture whose posteriors are in the lanes of the same vectors: they are read and
// learned together.
#pragma once

#include <variant>

#include "core/rule/class_rules.hpp"
#include "core/rule/gaf.hpp"
#include "member.hpp"

namespace MIXABLE_ISA {

template <class Outcome>
class Bank {
   public:
    /// Members, at most W, of the same shape, that rules in lanes suit.
    Bank(std::vector<Member<Outcome>*> members, const Blas& blas)
        : members_(std::move(members)),
          settings_(members_[0]->readings->in_lanes()->settings),
          rule_(rule_with(settings_)),
          lanes_(std::make_shared<Lanes>(members_[0]->shape, blas)),
          reading_(settings_.classes * W),
          v_(lanes_->m.size()),
          F_(lanes_->g.size()) {
        for (std::size_t lane = 0; lane < members_.size(); ++lane) {
            members_[lane]->lanes = lanes_;
            members_[lane]->lane = long(lane);
            set(lane, members_[lane]->readings->in_lanes()->own);
            one_view_ = one_view_ && members_[lane]->offset == members_[0]->offset;
        }
    }

    /// Some of a bank cost as much as all of it.
    void sleep_if_all_are_drowsy() const {
        const auto stays = [](const Member<Outcome>* member) {
            return member->active && !member->is_leaving;
        };
        if (std::any_of(members_.begin(), members_.end(), stays)) return;
        for (Member<Outcome>* member : members_) member->active = 0;
    }
    bool is_active() const {
        return std::any_of(members_.begin(), members_.end(),
                           [](const Member<Outcome>* member) { return member->active != 0; });
    }

    /// Reads an input; `deliver(expert, numbers, stride)` has the forecast of each expert.
    template <class Deliver>
    void read(const double* z, Deliver&& deliver) {
        const double* first = z + members_[0]->offset;
        double* x = lanes_->x;
        const long d = lanes_->d;
        for (long l = 0; l < d; ++l) store(x + l * W, splat(first[l]));
        for (std::size_t lane = 1; lane < members_.size() && !one_view_; ++lane)
            for (long l = 0; l < d; ++l) x[l * W + long(lane)] = z[members_[lane]->offset + l];
        lanes_->read();
        const auto predict = [&](auto& rule) {
            rule.begin(lanes_->m, lanes_->g);
            for (std::size_t j = 0; j < settings_.alphas.size(); ++j) {
                rule.predict(settings_.alphas[j], reading_);
                for (std::size_t lane = 0; lane < members_.size(); ++lane)
                    if (members_[lane]->active)
                        deliver(members_[lane]->first + long(j), reading_ + long(lane), long(W));
            }
        };
        std::visit(predict, rule_);
    }

    /// Learns what was read last. `most(member)` is the largest |z|^2 that it learns.
    template <class Most>
    void learn(Outcome y, double weight, Most&& most) {
        vec limit = splat(HUGE_VAL);
        for (std::size_t lane = 0; lane < members_.size(); ++lane)
            limit[lane] = most(*members_[lane]);
        std::visit([&](auto& rule) { rule.learn(long(y), weight, v_, F_); }, rule_);
        lanes_->push(v_, F_, limit);
    }

   private:
    using Rule = std::variant<GafRule<vec>, ClassGafRule<vec>>;

    static Rule rule_with(const InLanes::Settings& settings) {
        const long K = settings.classes;
        if (settings.structure == Structure::full)
            return GafRule<vec>(K, 1.0, 1.0, settings.mu, nullptr);
        const bool shared = settings.structure == Structure::shared;
        return ClassGafRule<vec>(K, splat(1.0), 1.0, settings.mu, shared);
    }
    void set(std::size_t lane, const InLanes::Own& own) {
        std::visit([&](auto& rule) { rule.beta[lane] = own.beta; }, rule_);
        if (auto* full = std::get_if<GafRule<vec>>(&rule_)) {
            full->is_averaged[lane] = own.averaged ? -1 : 0;
            full->wider[lane] = own.wider;
        }
    }

    std::vector<Member<Outcome>*> members_;
    InLanes::Settings settings_;
    Rule rule_;
    std::shared_ptr<Lanes> lanes_;
    Buffer reading_, v_, F_;  // v_, F_: what is to be learned
    bool one_view_ = true;    // whether all members see the same part of an input
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
