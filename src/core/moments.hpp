// Means and covariances of the weights under a mixture, for inputs as they come: `unit` is what
// inputs are multiplied by before members see them.
#pragma once

#include "roster.hpp"

namespace MIXABLE_ISA {

/// The mean (D) of the members' means, by trust.
template <class Outcome, class Family>
[[gnu::cold]] void mixed_mean(const Roster<Outcome>& roster, const Family& family, double unit,
                              long D, double* out) {
    set_to_zero(out, D);
    Buffer one(D);
    roster.for_awake([&](const Member<Outcome>& member) {
        family.mean(*member.known, one);
        for (long i = 0; i < D; ++i) out[i] += roster.trust(member) * one[i];
    });
    for (long i = 0; i < D; ++i) out[i] *= unit;
}

/// Those of the K weights of each of d features (d x K x K): the covariances of the posteriors, and
/// of their means.
template <class Outcome, class Family>
[[gnu::cold]] void mixed_covariances(const Roster<Outcome>& roster, const Family& family,
                                     double unit, long K, long d, double* out) {
    const long D = K * d;
    set_to_zero(out, D * K);
    Buffer centre(D), one(D), within(D * K);
    mixed_mean(roster, family, unit, D, centre);
    roster.for_awake([&](const Member<Outcome>& member) {
        double width = 0;
        roster.for_experts(member, [&](long r) {
            width += roster.weights.trust(r) * member.readings->width(r - member.first);
        });
        const double trust = roster.trust(member);
        family.mean(*member.known, one);
        family.feature_covariances(*member.known, within);
        const auto off = [&](long c, long l) { return unit * one[c * d + l] - centre[c * d + l]; };
        for (long l = 0; l < d; ++l)
            for (long i = 0; i < K; ++i)
                for (long j = 0; j < K; ++j) {
                    const long at = (l * K + i) * K + j;
                    out[at] += unit * unit * width * within[at] + trust * off(i, l) * off(j, l);
                }
    });
}

}  // namespace MIXABLE_ISA
