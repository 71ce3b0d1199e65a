// What stands beside a pool, sees the inputs as they come, and never rests: class frequencies, and
// linear models that have a bound and need no scale. The forecast is the mixture of the pool and
// these by Bayes' rule, so it loses at most ln(1 / share) nats more than each of them, in all.
#pragma once

#include <array>
#include <limits>
#include <optional>

#include "bettor.hpp"
#include "raw_folklore.hpp"

namespace MIXABLE_ISA {

class Fallback {
   public:
    /// What each of them has of the weight at first; the pool has the rest.
    static constexpr double share = 0.05;

    /// Records have d numbers, and up to `most` sparse features that are known. With a lam of 0
    /// there is no Folklore.
    Fallback(long d, long K, long most, double lam, double beta)
        : d(d),
          K(K),
          row_(pad_to(d + 1, 8)),
          counts_(K),
          frequencies_(K),
          expert_weights_(members),
          bettor_(d + 1, K, most) {
        if (lam > 0) folklore_.emplace(d + 1, K, lam, beta);
        for (long i = 1; i < members; ++i) expert_weights_[i] = std::log(share);
        if (!folklore_) expert_weights_[folklore] = nothing;
        expert_weights_[pool] = std::log1p(-share * (folklore_ ? 3 : 2));
        row_[0] = 1;
    }

    const long d, K;
    enum Member { pool, frequencies, bettor, folklore };
    static constexpr long members = 4;

    /// Takes in a record; NaN counts as 0, and so does what has no square.
    template <class Record>
    void read(const Record& record) {
        for (long l = 0; l < d; ++l) {
            const double x = record.x[l];
            row_[1 + l] = std::fabs(x) >= 1e-100 ? bounded(x) : 0.0;  // NaN: false
        }
        double total = 0;  // Krichevsky and Trofimov's (n_c + 1/2) / (n + K/2)
        for (long c = 0; c < K; ++c) total += frequencies_[c] = counts_[c] + 0.5;
        for (long c = 0; c < K; ++c) frequencies_[c] /= total;
        bettor_.read(row_, record.features);
        if (folklore_) folklore_->read(row_);
    }

    /// Turns the forecast of the pool into that of all.
    void mix(double* p) const {
        double weights[members];
        shares(weights);
        for (long c = 0; c < K; ++c) {
            p[c] = weights[pool] * p[c] + weights[frequencies] * frequencies_[c] +
                   weights[bettor] * bettor_.p()[c];
            if (folklore_) p[c] += weights[folklore] * folklore_->p()[c];
        }
    }

    /// What pool and members (members x K) say of the record that was read; -1 of one that is not.
    void said(const double* pooled, double* out) const {
        copy(pooled, K, out);
        copy(frequencies_, K, out + frequencies * K);
        copy(bettor_.p(), K, out + bettor * K);
        if (folklore_)
            copy(folklore_->p(), K, out + folklore * K);
        else
            std::fill_n(out + folklore * K, K, -1.0);
    }

    /// Learns the record that was read; `said` is the pool's forecast. If its label comes late, all
    /// are judged by what they said `then` (members x K, -1 where that is not known), when the
    /// record was forecast.
    void learn(const double* said, long y, double weight, const double* then = nullptr) {
        if (!(weight > 0)) return;
        const auto add = [&](long member, double p) {
            if (then && then[member * K + y] >= 0) p = then[member * K + y];
            expert_weights_[member] +=
                weight * std::log(std::max(p, std::numeric_limits<double>::min()));
        };
        add(pool, said[y]);
        add(frequencies, frequencies_[y]);
        add(bettor, bettor_.p()[y]);
        if (folklore_) add(folklore, folklore_->p()[y]);
        normalise();
        counts_[y] = std::min(counts_[y] + weight, most_count);
        bettor_.learn(row_, y, std::min(weight, 1.0));
        if (folklore_) folklore_->learn(row_, y, std::min(weight, 1.0));
    }

    /// The weight of the pool, in the rates, in the bettor and in Folklore; together 1.
    void expert_weights(double* out) const { shares(out); }

    /// Takes over one of at most as many inputs and classes. If it has a Folklore and we have not,
    /// the bettor inherits its weight.
    void adopt(const Fallback& other) {
        copy(other.counts_, other.K, counts_);
        copy(other.expert_weights_, members, expert_weights_);
        bettor_.adopt(other.bettor_);
        if (folklore_ && other.folklore_) folklore_->adopt(*other.folklore_);
        if (folklore_ || !other.folklore_) return;
        const double a = expert_weights_[bettor], b = expert_weights_[folklore],
                     top = std::max(a, b);
        expert_weights_[bettor] = top + std::log(std::exp(a - top) + std::exp(b - top));
        expert_weights_[folklore] = nothing;
    }
    bool has_folklore() const { return folklore_.has_value(); }

    Bettor& bets() { return bettor_; }
    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("trust", expert_weights_, 1, members, members);
        visitor("counts", counts_, 1, K, K);
        bettor_.visit(visitor);
        if (!folklore_) return;
        Prefixed prefixed(visitor, "folklore.");
        folklore_->visit(prefixed);
    }
    [[gnu::cold]] bool is_valid() const {
        double sum = 0;
        for (long i = 0; i < members; ++i) {
            if (!(expert_weights_[i] >= nothing && expert_weights_[i] <= 1e-6)) return false;
            sum += std::exp(expert_weights_[i]);
        }
        if (!(std::fabs(sum - 1) <= 1e-6) || (!folklore_ && expert_weights_[folklore] != nothing))
            return false;
        for (long c = 0; c < K; ++c)
            if (!(counts_[c] >= 0 && counts_[c] <= most_count)) return false;
        return bettor_.contents_are_valid() && (!folklore_ || folklore_->contents_are_valid());
    }

   private:
    static constexpr double nothing = -1e300, most_count = 1e300;

    void shares(double* out) const {
        for (long i = 0; i < members; ++i) out[i] = std::exp(expert_weights_[i]);
    }
    /// What it says sums to 1, however far behind some are.
    void normalise() {
        const double top = *std::max_element(expert_weights_ + 0, expert_weights_ + members);
        double sum = 0;
        for (long i = 0; i < members; ++i) sum += std::exp(expert_weights_[i] - top);
        for (long i = 0; i < members; ++i)
            expert_weights_[i] = std::max(expert_weights_[i] - top - std::log(sum), nothing);
    }

    Buffer row_, counts_, frequencies_, expert_weights_;  // trust_: logarithms
    Bettor bettor_;
    std::optional<RawFolklore> folklore_;
};

}  // namespace MIXABLE_ISA
