// E softmax(Q (m + w)), w ~ N(0, S), S = G / (2 alpha): Eq. (6) of the paper.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/numbers/normal.hpp"
#include "pairwise.hpp"
#include "softmax.hpp"

namespace MIXABLE_ISA {

/// One way to take the expectation, used while the Frobenius norm of S is at most `reach`.
struct Rung {
    enum Kind { taylor, symmetric, random, pairwise, envelope } kind;
    double reach;
    long m;            // points; of a symmetric set, one of each pair +-w
    Buffer w, weight;  // (k x m, 1 x m of an envelope; padded with zeros to whole vectors), (m)
    std::uint64_t seed = 0;
    /// Whether these are points in one dimension, from the middle outwards, and those beyond `near`
    /// are there for rare classes only.
    bool ascends = false;
    static constexpr double near = 9;

    /// Whether both are the same to the bit.
    bool operator==(const Rung& other) const {
        return kind == other.kind && reach == other.reach && m == other.m && seed == other.seed &&
               w == other.w && weight == other.weight;
    }
};

class Expectation {
   public:
    explicit Expectation(long classes)
        : work_(5 * classes * W),
          zm_(pad_to(classes, 8)),
          lower_(classes * classes),
          own_(pad_to(classes, 8)) {}

    static bool is_in_closed_form(const std::vector<Rung>& ladder) {
        return ladder.size() == 1 && ladder.front().kind == Rung::pairwise;
    }

    /// p (K) from the mean m and the factorised G held by `geometry`; `width` is 1 / (2 alpha).
    /// `step` seeds the random points.
    void operator()(const std::vector<Rung>& ladder, const Softmax<double>& geometry,
                    const double* m, double width, std::uint64_t step, double* p) {
        const long k = geometry.k, sk = geometry.sk;
        const double root = std::sqrt(width);
        // Row j of the lower factor of S; its rows are the columns of C.
        for (long j = 0; j < k; ++j)
            for (long i = 0; i <= j; ++i) lower_[j * k + i] = root * geometry.factor[i * sk + j];
        geometry.expand(m, zm_);
        const Rung& rung = pick(ladder, k);
        switch (rung.kind) {
            case Rung::taylor:
                return taylor(geometry, root, p);
            case Rung::symmetric:
                return points<true>(geometry, rung.m, rung.w, rung.weight, p, rung.ascends);
            case Rung::random:
                make_room(fresh_, pad(rung.m) * k);
                normal_points(rung.seed, step, k, rung.m, fresh_, pad(rung.m));
                return points<false>(geometry, rung.m, fresh_, rung.weight, p);
            case Rung::pairwise:
                return in_closed_form(geometry, width, p);
            case Rung::envelope:
                return against_the_rest(geometry, root, rung, p);
        }
    }

   private:
    static void make_room(Buffer& buffer, long n) {
        if (buffer.size() < n) buffer = Buffer(n);
    }

    const Rung& pick(const std::vector<Rung>& ladder, long k) const {
        if (ladder.size() == 1) return ladder.front();
        // |S|_F, an upper bound of the largest eigenvalue, from S = L L^T.
        double square = 0;
        for (long a = 0; a < k; ++a)
            for (long b = 0; b <= a; ++b) {
                double s = 0;
                for (long i = 0; i <= b; ++i) s += lower_[a * k + i] * lower_[b * k + i];
                square += (a == b ? 1 : 2) * s * s;
            }
        const double norm = std::sqrt(square);
        for (const Rung& rung : ladder)
            if (norm <= rung.reach) return rung;
        return ladder.back();
    }

    /// Second order: p_c (1 + 1/2 sum_j [(N_cj - pN_j)^2 - sum_a p_a (N_aj - pN_j)^2]), N N^T the
    /// covariance of the logits.
    void taylor(const Softmax<double>& geometry, double root, double* p) const {
        const long K = geometry.K, k = geometry.k, sk = geometry.sk;
        double top = zm_[0], total = 0;
        for (long c = 1; c < K; ++c) top = std::max(top, zm_[c]);
        for (long c = 0; c < K; ++c) total += p[c] = std::exp(zm_[c] - top);
        for (long c = 0; c < K; ++c) p[c] /= total;
        Buffer spread(K);
        double variance = 0;
        for (long j = 0; j < k; ++j) {
            double centre = 0;
            for (long c = 0; c < K; ++c) centre += p[c] * geometry.N[c * sk + j];
            for (long c = 0; c < K; ++c) {
                const double t = root * (geometry.N[c * sk + j] - centre);
                spread[c] += t * t;
                variance += p[c] * t * t;
            }
        }
        for (long c = 0; c < K; ++c) p[c] *= 1.0 + 0.5 * (spread[c] - variance);
    }

    /// The variances of differences of logits are |N_c - N_j|^2.
    void in_closed_form(const Softmax<double>& geometry, double width, double* p) {
        const long K = geometry.K, ld = pad_to(K, 8), sk = geometry.sk;
        make_room(gram_, K * ld);
        dots(geometry.k, K, geometry.N, sk, K, geometry.N, sk, gram_, ld);
        for (long c = 0; c < K; ++c) own_[c] = gram_[c * ld + c];
        const auto spread = [&](long c, long j) {
            const vec v = own_[c] + load(own_ + j) - 2.0 * load(gram_ + c * ld + j);
            return 1.0 + pi_by_8 * (width * max(v, vec{}));
        };
        pairwise<double>(K, zm_, spread, p);
    }

    /// Each class against the tangent of the log of the sum of the others' exp, at the mean: a
    /// bound of its probability from above. The forecast is these bounds over their sum.
    void against_the_rest(const Softmax<double>& geometry, double root, const Rung& rung,
                          double* p) {
        const long K = geometry.K, k = geometry.k, sk = geometry.sk;
        double *e = work_, *sums = work_ + K, total = 0, all = 0;
        const long first = std::max_element(zm_ + 0, zm_ + K) - zm_;
        // All but the first class are measured by the second: however far ahead the first is, what
        // it stands against is not lost.
        double second = -std::numeric_limits<double>::infinity();
        for (long c = 0; c < K; ++c)
            if (c != first) second = std::max(second, zm_[c]);
        set_to_zero(sums, k);
        for (long c = 0; c < K; ++c) {
            e[c] = c == first ? 0.0 : std::exp(zm_[c] - second);
            total += e[c];
            for (long j = 0; j < k; ++j) sums[j] += e[c] * geometry.N[c * sk + j];
        }
        const double behind = std::exp(second - zm_[first]);
        for (long c = 0; c < K; ++c) {
            const double others = c == first ? total : 1 + behind * (total - e[c]);
            double square = 0;
            for (long j = 0; j < k; ++j) {
                const double own = geometry.N[c * sk + j], lead = geometry.N[first * sk + j];
                const double rest = c == first ? sums[j] : lead + behind * (sums[j] - e[c] * own);
                const double against = rest / others - own;
                square += against * against;
            }
            const double odds = zm_[c] - (c == first ? second : zm_[first]) - std::log(others),
                         s = root * std::sqrt(square);
            vec bound{};
            for (long l = 0; l < rung.m; l += W) {
                const vec moved = s * load(rung.w + l), share = load(rung.weight + l);
                bound += share / (1.0 + exp(-odds - moved)) + share / (1.0 + exp(moved - odds));
            }
            all += p[c] = sum(bound);
        }
        for (long c = 0; c < K; ++c) p[c] /= all;
    }

    /// The weighted mean of softmax over a point set, W points at a time; both signs of each point
    /// if Symmetric.
    template <bool Symmetric>
    void points(const Softmax<double>& geometry, long m, const double* w, const double* weight,
                double* p, bool ascends = false) {
        const long K = geometry.K, k = geometry.k, ld = pad(m);
        if (K == 2) return points_of_two<Symmetric>(m, w, weight, p, ascends);
        double *v = work_, *t = work_ + K * W, *e = work_ + 2 * K * W, *total = work_ + 3 * K * W;
        for (long c = 0; c < K; ++c) store(total + c * W, vec{});
        for (long l = 0; l < m; l += W) {
            for (long j = 0; j < k; ++j) {
                vec s{};
                for (long i = 0; i <= j; ++i) s += lower_[j * k + i] * load(w + i * ld + l);
                store(v + j * W, s);
            }
            geometry.expand<vec>(v, t, W);
            const vec share = load(weight + l);
            add_softmax(K, t, 1.0, share, e, total);
            if (Symmetric) add_softmax(K, t, -1.0, share, e, total);
        }
        for (long c = 0; c < K; ++c) p[c] = sum(load(total + c * W));
    }

    /// The same of two classes: one number, the difference of their logits, is all there is.
    ///
    /// What counts for the rarer class is largest at a point of norm min(|z| / spread, spread) + 1
    /// or less, and from there on falls as exp(-t^2 / 2): 8 farther out there is 1e-13 left. A
    /// lattice has points beyond, for means that are farther off.
    template <bool Symmetric>
    [[gnu::flatten]] void points_of_two(long m, const double* w, const double* weight, double* p,
                                        bool ascends) const {
        const double z = zm_[0] - zm_[1], spread = std::sqrt(2.0) * lower_[0];
        if (ascends) {
            const double most = std::min(spread, std::fabs(z) / spread) + Rung::near;
            m = std::upper_bound(w, w + m, most) - w;
        }
        vec first{}, second{};
        const auto add = [&](vec lead, vec share) {
            const ivec leads = lead > 0.0;
            const vec e = exp(leads ? -lead : lead), high = share / (1.0 + e), low = e * high;
            first += leads ? high : low;
            second += leads ? low : high;
        };
        for (long l = 0; l < m; l += W) {
            const vec moved = spread * load(w + l), share = load(weight + l);
            add(z + moved, share);
            if (Symmetric) add(z - moved, share);
        }
        p[0] = sum(first);
        p[1] = sum(second);
    }

    void add_softmax(long K, const double* t, double sign, vec share, double* e,
                     double* total) const {
        vec top = zm_[0] + sign * load(t);
        store(e, top);
        for (long c = 1; c < K; ++c) {
            const vec z = zm_[c] + sign * load(t + c * W);
            store(e + c * W, z);
            top = max(top, z);
        }
        vec s{};
        for (long c = 0; c < K; ++c) {
            const vec x = exp(load(e + c * W) - top);
            store(e + c * W, x);
            s += x;
        }
        share /= s;
        for (long c = 0; c < K; ++c)
            store(total + c * W, load(total + c * W) + share * load(e + c * W));
    }

    Buffer work_, zm_, lower_, fresh_;
    Buffer gram_, own_;  // N N^T, its diagonal
};

}  // namespace MIXABLE_ISA
