// The protocol of a pool: each expert makes its own inputs of a record and predicts, the judge
// pools what they say, all learn, then the inputs of each learn the record. Beside the pool stands
// its fallback, which never rests; pools of early files have none.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "fallback.hpp"
#include "follow.hpp"
#include "parallel.hpp"
#include "pool.hpp"
#include "pool_experts.hpp"

namespace MIXABLE_ISA {

/// A record that is kept, to be compared with another, bit by bit.
class RecordCopy {
   public:
    void set(const Record& record, long d) {
        numbers_.assign(record.x, record.x + d);
        keys_.clear();
        for (const SparseRow& row : {record.features, record.crosses}) {
            keys_.insert(keys_.end(), row.keys, row.keys + row.nnz);
            numbers_.insert(numbers_.end(), row.values, row.values + row.nnz);
        }
        first_ = record.features.nnz;
    }
    bool is(const Record& record, long d) const {
        const SparseRow &one = record.features, &two = record.crosses;
        const auto same = [](const auto* a, const auto* b, long n) {
            return n == 0 || std::memcmp(a, b, std::size_t(n) * sizeof *a) == 0;
        };
        const double* values = numbers_.data() + d;
        return one.nnz == first_ && one.nnz + two.nnz == long(keys_.size()) &&
               d + one.nnz + two.nnz == long(numbers_.size()) &&
               same(numbers_.data(), record.x, d) && same(keys_.data(), one.keys, one.nnz) &&
               same(keys_.data() + one.nnz, two.keys, two.nnz) &&
               same(values, one.values, one.nnz) && same(values + one.nnz, two.values, two.nnz);
    }

   private:
    std::vector<double> numbers_;
    std::vector<std::uint64_t> keys_;
    long first_ = 0;
};

/// Experts and their judge. While they rest, the pool is its first expert.
class Pooled {
   public:
    /// Records have d numbers. `fallback` may be null.
    Pooled(long d, std::vector<std::unique_ptr<PoolExpert>> experts, Judge& judge,
           Fallback* fallback)
        : d(d),
          experts_(std::move(experts)),
          judge_(judge),
          fallback_(fallback),
          said_(judge.N * judge.K),
          pooled_(judge.K) {
        if (long(experts_.size()) != judge.N ||
            (fallback && (fallback->K != judge.K || fallback->d != d)))
            throw std::invalid_argument("experts, judge and fallback do not go together");
    }

    const long d;
    long outputs() const { return judge_.K; }

    void predict(const Record& record, double* p) {
        pool(record, p);
        if (fallback_) fallback_->mix(p);
    }

    /// The same of n records, at most `most_rows`, for less.
    void predict_many(const Record* records, long n, double* p) {
        constexpr long block = PoolExpert::block;
        const long K = judge_.K;
        const auto length = [&](long b) { return std::min(block, n - b * block); };
        has_heard_ = false;
        listen_in_blocks(
            n, (n + block - 1) / block, [&](long b) { return b * block; },
            [&](long e, long b, double* out) {
                expert(e).predict_many(records + b * block, length(b), out);
            },
            p,
            [&](long b) {
                for (long t = b * block; t < b * block + length(b); ++t)
                    judge_.predict(said_ + t * judge_.N * K, p + t * K);
            });
        for (long t = 0; fallback_ && t < n; ++t) {
            fallback_->read(records[t]);
            fallback_->mix(p + t * K);
        }
    }

    /// Numbers that are kept of a record until its label comes.
    long kept() const {
        return d + (judge_.judged() + (fallback_ ? Fallback::members : 0)) * judge_.K;
    }
    /// Predicts a record and writes them: its numbers as the first expert, which is always awake,
    /// scales them, and what pools, experts and the fallback say; -1 of those at rest.
    void predict(const Record& record, double* p, double* kept) {
        pool(record, p);
        scale(record, kept);
        const long K = judge_.K, all = judge_.judged() * K;
        double* said = kept + d;
        if (judge_.rest().is_resting()) {
            std::fill(said, said + all, -1.0);
            copy(said_, K, said + (judge_.judged() - judge_.N) * K);
        } else {
            copy(judge_.forecasts(), all, said);
        }
        if (!fallback_) return;
        fallback_->said(p, said + all);
        fallback_->mix(p);
    }

    /// All learn a record, or none: it is refused before the first does.
    void learn(const Record& record, long y, double weight) {
        if (!(weight >= 0 && weight <= 1e12)) refuse_example();
        listen(record);
        push(record, y, weight);
    }

    /// `predict`, then `learn` if y is not negative.
    void step(const Record& record, long y, double weight, double* p) {
        Rest& rest = judge_.rest();
        if (y >= 0 && rest.is_resting() && expert(0).runs_as_one_by_one()) {
            const bool counts = weight > 0;
            scaled_.begin(&counts, 1);
            has_heard_ = false;
            expert(0).take(&record, 0, 1, scaled_);
            expert(0).run(&record, 0, 1, &y, &weight, p);
            fall_back(record, y, weight, p);
            rest.add_alone(1);
            if (judge_.steps() % Rest::period == 0) rest.review();
            return;
        }
        predict(record, p);
        if (y >= 0) push(record, y, weight);
    }

    /// The same of the next n records, all with labels, for less; returns how many were done: at
    /// most `most_rows`, and none after the next review of who rests.
    long run(const Record* records, const long* y, const double* weight, long n, double* p) {
        constexpr long block = PoolExpert::block;
        static_assert(Rest::period % block == 0);
        const long N = judge_.N, K = judge_.K, steps = judge_.steps();
        Rest& rest = judge_.rest();
        n = std::min({n, most_rows(), Rest::period - steps % Rest::period});
        // Blocks end where the number of steps is a multiple of their length.
        const long before = steps % block, blocks = (before + n + block - 1) / block;
        const auto start = [&](long b) { return std::max(b * block - before, 0L); };
        const auto length = [&](long b) { return std::min(start(b + 1), n) - start(b); };
        const auto weight_from = [&](long t) { return weight ? weight + t : nullptr; };
        const auto run_block = [&](long e, long b, double* out) {
            const long t = start(b);
            expert(e).run(records, t, length(b), y + t, weight_from(t), out);
        };
        has_heard_ = false;
        for (long b = 0; b < blocks; ++b) take(records, start(b), length(b), weight);
        const bool alone = rest.is_resting();
        listen_in_blocks(n, blocks, start, run_block, p, [&](long b) {
            const long t = start(b);
            judge_.run(said_ + t * N * K, y + t, weight_from(t), length(b), p + t * K);
        });
        for (long t = 0; t < n; ++t) fall_back(records[t], y[t], weight ? weight[t] : 1, p + t * K);
        if (alone) rest.add_alone(n);
        if (judge_.steps() % Rest::period == 0) rest.review();
        return n;
    }

    /// Rows that are run at a time: a moment's work, and little memory.
    long most_rows() const {
        const long numbers = std::max(d, judge_.N * judge_.K);
        return std::max(most_numbers / numbers / PoolExpert::block, 1L) * PoolExpert::block;
    }

   private:
    /// The forecast of the pool, without the fallback.
    void pool(const Record& record, double* p) {
        listen(record);
        if (judge_.rest().is_resting())
            copy(said_, judge_.K, p);
        else
            judge_.predict(said_, p);
    }
    void scale(const Record& record, double* s) const { experts_[0]->scaler().scale(record.x, s); }

    static constexpr long most_numbers = 1L << 16;

    PoolExpert& expert(long e) { return *experts_[std::size_t(e)]; }

    /// Lets those who are awake scale a block of records.
    void take(const Record* records, long first, long n, const double* weight) {
        bool counts[PoolExpert::block] = {};
        for (long t = 0; t < n; ++t) counts[t] = !weight || weight[first + t] > 0;
        scaled_.begin(counts, n);
        for (long e = 0; e < awake(); ++e) expert(e).take(records, first, n, scaled_);
    }
    long awake() const { return judge_.rest().is_resting() ? 1 : judge_.N; }

    /// say(e, b, out) writes what an expert says of block b, which begins with record start(b), to
    /// `out`; judge(b) makes forecasts of what all have said. If all but the first rest, `p` has
    /// what it says.
    template <class Start, class Say, class Decide>
    void listen_in_blocks(long n, long blocks, Start&& start, Say&& say, double* p,
                          Decide&& judge) {
        const long N = judge_.N, K = judge_.K;
        if (judge_.rest().is_resting()) {
            for (long b = 0; b < blocks; ++b) say(0, b, p + start(b) * K);
            return;
        }
        if (said_.size() < n * N * K) said_ = Buffer(n * N * K);
        if (!own_.size()) own_ = Buffer(N * PoolExpert::block * K);
        const auto listen_to = [&](long e, long b) {
            double* own = own_ + e * PoolExpert::block * K;
            say(e, b, own);
            for (long t = start(b); t < std::min(start(b + 1), n); ++t, own += K)
                copy(own, K, said_ + (t * N + e) * K);
        };
        in_parallel(N, blocks, listen_to, judge);
    }

    /// Sets what the experts that are awake say of a record. They may have said it just before.
    void listen(const Record& record) {
        if (has_heard_ && heard_.is(record, d) && is_scaled_now(record)) return;
        has_heard_ = false;
        for (long e = 0; e < awake(); ++e) expert(e).read(record);
        for (long e = 0; e < awake(); ++e) expert(e).predict(said_ + e * judge_.K);
        if (fallback_) fallback_->read(record);
        heard_.set(record, d);
        has_heard_ = true;
    }

    /// Whether a record that was scaled earlier would be scaled to the same bits now.
    bool is_scaled_now(const Record& record) {
        if (!record.scaled || !d) return true;
        if (!now_.size()) now_ = Buffer(d);
        scale(record, now_);
        return std::memcmp(now_, record.scaled, std::size_t(d) * sizeof(double)) == 0;
    }

    void push(const Record& record, long y, double weight) {
        has_heard_ = false;
        for (long e = 0; e < awake(); ++e) expert(e).learn(record, y, weight);
        Rest& rest = judge_.rest();
        if (rest.is_resting()) {
            copy(said_, judge_.K, pooled_);
            rest.add_alone(1);
        } else if (record.scaled) {
            judge_.predict(said_, pooled_);
            judge_.learn(said_, y, weight, record.scaled + d);
        } else {
            judge_.run(said_, &y, &weight, 1, pooled_);
        }
        const double* then =
            record.scaled ? record.scaled + d + judge_.judged() * judge_.K : nullptr;
        if (fallback_) fallback_->learn(pooled_, y, weight, then);
        if (judge_.steps() % Rest::period == 0) rest.review();
    }

    /// Turns the pool's forecast into that of all, and lets the fallback learn.
    void fall_back(const Record& record, long y, double weight, double* p) {
        if (!fallback_) return;
        copy(p, judge_.K, pooled_);
        fallback_->read(record);
        fallback_->mix(p);
        fallback_->learn(pooled_, y, weight);
    }

    std::vector<std::unique_ptr<PoolExpert>> experts_;
    Judge& judge_;
    Fallback* fallback_;
    ScaledBlock scaled_{PoolExpert::block};
    Buffer said_, own_, now_, pooled_;  // pooled_: what the pool said of one record
    RecordCopy heard_;
    bool has_heard_ = false;
};

}  // namespace MIXABLE_ISA
