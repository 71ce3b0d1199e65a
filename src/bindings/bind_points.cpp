// The points of an integrator, from Python.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/rule/expectation.hpp"
#include "from_python.hpp"

namespace MIXABLE_ISA {
namespace {

/// (kind, reach, m, points (k x m, 1 x m of an envelope) or None, weights (m) or None, seed): see
/// mixable.integrals.Rung.
Rung rung_from(nb::handle h, long k) {
    const nb::tuple t = nb::cast<nb::tuple>(h);
    const auto kind = nb::cast<std::string>(t[0]);
    Rung rung;
    rung.kind = Rung::random;
    if (kind == "taylor") rung.kind = Rung::taylor;
    if (kind == "symmetric") rung.kind = Rung::symmetric;
    if (kind == "pairwise") rung.kind = Rung::pairwise;
    if (kind == "envelope") rung.kind = Rung::envelope;
    rung.reach = nb::cast<double>(t[1]);
    rung.m = nb::cast<long>(t[2]);
    rung.seed = nb::cast<std::uint64_t>(t[5]);
    const long m = rung.m, ld = pad(m);
    rung.weight = Buffer(ld);
    if (rung.kind == Rung::symmetric || rung.kind == Rung::envelope) {
        const double *w = checked(t[3], 2), *weight = checked(t[4], 1);
        const long rows = rung.kind == Rung::symmetric ? k : 1;
        rung.w = Buffer(rows * ld);
        for (long j = 0; j < rows; ++j) copy(w + j * m, m, rung.w + j * ld);
        copy(weight, m, rung.weight);
        const long near = std::upper_bound(w, w + m, Rung::near) - w;
        rung.ascends = rows == 1 && std::is_sorted(w, w + m) &&
                       std::accumulate(weight + near, weight + m, 0.0) < 1e-15;
    } else {
        for (long i = 0; i < m; ++i) rung.weight[i] = 1.0 / double(m);
    }
    return rung;
}

}  // namespace

Ladder ladder_from(const nb::list& rungs, long k) {
    using Rungs = std::vector<Rung>;
    static std::vector<std::weak_ptr<const Rungs>> known;
    static nb::ft_mutex guard;
    Rungs made;
    for (nb::handle h : rungs) made.push_back(rung_from(h, k));
    const nb::ft_lock_guard alone(guard);
    Ladder same;
    const auto is_gone = [&](const std::weak_ptr<const Rungs>& each) {
        Ladder ladder = each.lock();
        if (ladder && std::equal(ladder->begin(), ladder->end(), made.begin(), made.end()))
            same = ladder;
        return !ladder;
    };
    known.erase(std::remove_if(known.begin(), known.end(), is_gone), known.end());
    if (!same) {
        same = std::make_shared<const Rungs>(std::move(made));
        known.push_back(same);
    }
    return same;
}

}  // namespace MIXABLE_ISA
