// The protocol, for rows, tables and streams, for labels and numbers: each expert makes its own
// inputs of a record by what was learned before and predicts, the judge pools what they say, all
// learn, then the inputs of each learn the record. A pool of one expert has no judge. Beside the
// pool may stand its fallback, which is always active.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "experts.hpp"
#include "fallback.hpp"
#include "judge.hpp"
#include "parallel.hpp"

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

/// Experts and their judge. While the others rest, those that are always active are the pool.
template <class Outcome, class Judge>
class Pool {
   public:
    using Member = Expert<Outcome>;
    static constexpr bool of_labels = std::is_same_v<Outcome, long>;

    /// Records have d numbers. `judge` is null for one expert; `fallback` may be null.
    Pool(long d, std::vector<std::unique_ptr<Member>> experts, Judge* judge, Fallback* fallback)
        : d(d),
          experts_(std::move(experts)),
          judge_(judge),
          fallback_(fallback),
          N_(long(experts_.size())),
          K_(experts_.at(0)->outputs()),
          said_(N_ * K_),
          pooled_(K_) {
        bool fit = judge ? judge->N == N_ && judge->outputs() == K_ : N_ == 1;
        for (const auto& each : experts_) fit = fit && each->outputs() == K_;
        if (fallback) fit = fit && fallback->K == K_ && fallback->d == d;
        if (!fit) throw std::invalid_argument("experts, judge and fallback do not go together");
    }

    const long d;
    long experts() const { return N_; }
    /// Numbers in a forecast.
    long outputs() const { return K_; }
    /// What the judge knows of the record that was predicted last.
    const Judge* judge() const { return judge_; }

    void predict(const Record& record, double* p) {
        pool(record, p);
        if (fallback_) fallback_->mix(p);
    }

    /// The same of n records, at most `most_rows`, for less.
    void predict_many(const Record* records, long n, double* p) {
        constexpr long block = Member::block;
        const long K = K_;
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
                    judge_->predict(said_ + t * N_ * K, p + t * K);
            });
        for (long t = 0; fallback_ && t < n; ++t) {
            fallback_->read(records[t]);
            fallback_->mix(p + t * K);
        }
    }

    /// Numbers that are kept of a record until its outcome comes.
    long kept() const {
        return d + (judge_ ? judge_->kept() : 0) + (fallback_ ? Fallback::members * K_ : 0);
    }
    /// Predicts a record and writes them: its numbers as the first expert, which is always active,
    /// scales them, and what judge, experts and fallback say.
    void predict(const Record& record, double* p, double* kept) {
        pool(record, p);
        scale(record, kept);
        if (judge_) judge_->keep(said_, kept + d);
        if (!fallback_) return;
        fallback_->said(p, kept + d + judge_->kept());
        fallback_->mix(p);
    }

    /// What one expert sees of a record; see `Expert::row`.
    std::vector<double> row(const Record& record, long e) {
        has_heard_ = false;
        expert(0).read(record);  // it leads the stage, if there is one
        if (e > 0) expert(e).read(record);
        return expert(e).row();
    }

    /// All learn a record, or none: it is refused before the first does.
    void learn(const Record& record, Outcome y, double weight) {
        if (!(weight >= 0 && weight <= 1e12)) refuse_example();
        listen(record);
        push(record, y, weight);
    }

    /// `predict`, then `learn`.
    void step(const Record& record, Outcome y, double weight, double* p) {
        if (is_alone() && expert(0).runs_as_one_by_one()) {
            const bool counts = weight > 0;
            scaled_.begin(&counts, 1);
            has_heard_ = false;
            expert(0).take(&record, 0, 1, &y, &weight, scaled_);
            expert(0).run(&record, 0, 1, &y, &weight, p);
            fall_back(record, y, weight, p);
            after(1);
            return;
        }
        predict(record, p);
        push(record, y, weight);
    }

    /// The same of the next n records, for less; returns how many were done: at
    /// most `most_rows`, and none after the next review of who rests.
    long run(const Record* records, const Outcome* y, const double* weight, long n, double* p) {
        constexpr long block = Member::block;
        static_assert(Rest::period % block == 0);
        const long N = N_, K = K_, done = steps();
        if (most_rows() == 1) {  // a forecaster in Python may refuse the row
            step(records[0], y[0], weight ? weight[0] : 1.0, p);
            return 1;
        }
        n = std::min(n, most_rows());
        if (judge_) n = std::min(n, Rest::period - done % Rest::period);
        // Blocks end where the number of steps is a multiple of their length.
        const long before = done % block, blocks = (before + n + block - 1) / block;
        const auto start = [&](long b) { return std::max(b * block - before, 0L); };
        const auto length = [&](long b) { return std::min(start(b + 1), n) - start(b); };
        const auto weight_from = [&](long t) { return weight ? weight + t : nullptr; };
        const auto run_block = [&](long e, long b, double* out) {
            const long t = start(b);
            expert(e).run(records, t, length(b), y + t, weight_from(t), out);
        };
        has_heard_ = false;
        for (long b = 0; b < blocks; ++b) take(records, start(b), length(b), y, weight);
        listen_in_blocks(n, blocks, start, run_block, p, [&](long b) {
            const long t = start(b);
            judge_->run(said_ + t * N * K, y + t, weight_from(t), length(b), p + t * K);
        });
        for (long t = 0; t < n; ++t) fall_back(records[t], y[t], weight ? weight[t] : 1, p + t * K);
        after(n);
        return n;
    }

    /// Rows that are run at a time: a moment's work, and little memory.
    long most_rows() const {
        const long rows = std::max(most_numbers / std::max(d, N_ * K_) / Member::block, 1L);
        double cost = 1e4;
        for (const auto& each : experts_) cost += each->cost();
        return std::min(rows * Member::block, std::max(long(2e8 / cost), 1L));
    }

   private:
    long steps() const { return judge_ ? judge_->steps() : experts_[0]->steps(); }
    /// Whether the pool is its first expert.
    bool is_alone() const { return !judge_ || (Judge::pauses && judge_->rest().is_resting()); }
    /// Who is active is reviewed after the steps at which that is due.
    void after(long steps_done) {
        if (!judge_) return;
        Rest& rest = judge_->rest();
        if (is_alone()) rest.add_alone(steps_done);
        if (judge_->steps() % Rest::period == 0) rest.review();
    }

    /// The forecast of the pool, without the fallback.
    void pool(const Record& record, double* p) {
        listen(record);
        if (is_alone())
            copy(said_, K_, p);
        else
            judge_->predict(said_, p);
    }
    void scale(const Record& record, double* s) const { experts_[0]->scaler().scale(record.x, s); }

    static constexpr long most_numbers = 1L << 16;

    Member& expert(long e) { return *experts_[std::size_t(e)]; }

    /// Lets those who are active scale a block of records.
    void take(const Record* records, long first, long n, const Outcome* y, const double* weight) {
        bool counts[Member::block] = {};
        for (long t = 0; t < n; ++t) counts[t] = !weight || weight[first + t] > 0;
        scaled_.begin(counts, n);
        for (long e = 0; e < active(); ++e) expert(e).take(records, first, n, y, weight, scaled_);
    }
    long active() const { return !judge_ ? 1 : judge_->rest().is_resting() ? judge_->first() : N_; }

    /// say(e, b, out) writes what an expert says of block b, which begins with record start(b), to
    /// `out`; judge(b) makes forecasts of what all have said. If all but the first rest, `p` has
    /// what it says.
    template <class Start, class Say, class Decide>
    void listen_in_blocks(long n, long blocks, Start&& start, Say&& say, double* p,
                          Decide&& judge) {
        const long N = N_, K = K_;
        if (is_alone()) {
            for (long b = 0; b < blocks; ++b) say(0, b, p + start(b) * K);
            return;
        }
        if (said_.size() < n * N * K) said_ = Buffer(n * N * K);
        if (!own_.size()) own_ = Buffer(N * Member::block * K);
        for (long t = 0; t < n; ++t) say_nothing(said_ + t * N * K);
        const auto listen_to = [&](long e, long b) {
            double* own = own_ + e * Member::block * K;
            say(e, b, own);
            for (long t = start(b); t < std::min(start(b + 1), n); ++t, own += K)
                copy(own, K, said_ + (t * N + e) * K);
        };
        in_parallel(active(), blocks, listen_to, judge);
    }

    /// Sets what the experts that are active say of a record. They may have said it just before.
    void listen(const Record& record) {
        if (has_heard_ && heard_.is(record, d) && is_scaled_now(record)) return;
        has_heard_ = false;
        for (long e = 0; e < active(); ++e) expert(e).read(record);
        for (long e = 0; e < active(); ++e) expert(e).predict(said_ + e * K_);
        say_nothing(said_);
        if (fallback_) fallback_->read(record);
        heard_.set(record, d);
        has_heard_ = true;
    }

    /// Writes NaN for those who are not active.
    void say_nothing(double* said) const {
        if (!is_alone()) std::fill(said + active() * K_, said + N_ * K_, std::nan(""));
    }

    /// Whether a record that was scaled earlier would be scaled to the same bits now.
    bool is_scaled_now(const Record& record) {
        if (!record.scaled || !d) return true;
        if (!now_.size()) now_ = Buffer(d);
        scale(record, now_);
        return std::memcmp(now_, record.scaled, std::size_t(d) * sizeof(double)) == 0;
    }

    void push(const Record& record, Outcome y, double weight) {
        has_heard_ = false;
        const double* then = record.scaled ? record.scaled + d : nullptr;
        for (long e = 0; e < active(); ++e) expert(e).learn(record, y, weight);
        if (is_alone()) {
            copy(said_, K_, pooled_);
        } else if (then) {
            judge_->predict(said_, pooled_);
            judge_->learn(said_, y, weight, then);
        } else {
            judge_->run(said_, &y, &weight, 1, pooled_);
        }
        if constexpr (of_labels)
            if (fallback_)
                fallback_->learn(pooled_, y, weight, then ? then + judge_->kept() : nullptr);
        after(1);
    }

    /// Turns the pool's forecast into that of all, and lets the fallback learn.
    void fall_back(const Record& record, Outcome y, double weight, double* p) {
        if constexpr (of_labels) {
            if (!fallback_) return;
            copy(p, K_, pooled_);
            fallback_->read(record);
            fallback_->mix(p);
            fallback_->learn(pooled_, y, weight);
        }
    }

    std::vector<std::unique_ptr<Member>> experts_;
    Judge* judge_;
    Fallback* fallback_;
    long N_, K_;
    ScaledBlock scaled_{Member::block};
    Buffer said_, own_, now_, pooled_;  // pooled_: what the pool said of one record
    RecordCopy heard_;
    bool has_heard_ = false;
};

}  // namespace MIXABLE_ISA
