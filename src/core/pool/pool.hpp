// The protocol, for rows, tables and streams, for labels and numbers: each expert makes its own
// inputs of a record by what was learned before and predicts, the judge pools what they say, all
// learn, then the inputs of each learn the record. A pool of one expert has no judge. Beside the
// pool may stand its fallback, which is always active.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "core/inputs/categories.hpp"
#include "core/numbers/parallel.hpp"
#include "experts.hpp"
#include "fallback.hpp"
#include "judge.hpp"

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
        categories_.assign(record.categories, record.categories + record.n_categories);
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
               same(values, one.values, one.nnz) && same(values + one.nnz, two.values, two.nnz) &&
               record.n_categories == long(categories_.size()) &&
               same(categories_.data(), record.categories, record.n_categories);
    }

   private:
    std::vector<double> numbers_;
    std::vector<std::uint64_t> keys_, categories_;
    long first_ = 0;
};

/// Experts and their judge, which decides who of them is active.
template <class Outcome, class Judge>
class Pool {
   public:
    using Member = Expert<Outcome>;
    static constexpr bool of_labels = std::is_same_v<Outcome, long>;

    /// Records have d numbers. `judge` is null for one expert; `fallback` may be null. Experts may
    /// see what `categories` makes of a record, `room` indicators; null: none does.
    Pool(long d, std::vector<std::unique_ptr<Member>> experts, Judge* judge, Fallback* fallback,
         Categories* categories = nullptr, long room = 0)
        : d(d),
          experts_(std::move(experts)),
          judge_(judge),
          fallback_(fallback),
          categories_(categories),
          room_(room),
          N_(long(experts_.size())),
          K_(experts_.at(0)->outputs()),
          said_(N_ * K_),
          pooled_(K_),
          made_(categories ? categories->width() : 0) {
        bool fit = judge ? judge->N == N_ && judge->outputs() == K_ : N_ == 1;
        for (const auto& each : experts_) {
            fit = fit && each->outputs() == K_;
            if (each->kept()) remembering_ = each.get();
        }
        for (long e = 0; fit && judge && e < N_; ++e)
            if (experts_[std::size_t(e)]->grows()) judge->activity().set_growing(e);
        if (remembering_) history_ = Buffer(remembering_->kept());
        if (fallback) fit = fit && fallback->K == K_ && fallback->d == d;
        if (categories) fit = fit && categories->K == (of_labels ? K_ : 0);
        if (!fit) throw std::invalid_argument("experts, judge and fallback do not go together");
    }

    const long d;
    long experts() const { return N_; }
    /// Whether it must be made anew: more indicators were given than there is room for; or it has
    /// learned so many examples that experts are to be looked at.
    bool is_to_grow() const {
        return (categories_ && categories_->given() > room_) || steps() >= stop_;
    }
    /// After so many examples it stops.
    void stop_at(long steps) { stop_ = steps; }
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
        if (categories_) {
            for (long t = 0; t < n; ++t) make(records[t], t);
            records = seen(records, n);
        }
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
    long kept() const { return history_at() + (remembering_ ? remembering_->kept() : 0); }
    /// Predicts a record and writes them: its numbers as the first expert, which is always active,
    /// scales them, and what judge, experts and fallback say.
    void predict(const Record& record, double* p, double* kept) {
        pool(record, p);
        scale(record, kept);
        if (judge_) judge_->keep(said_, kept + d);
        if (remembering_) {
            std::fill(kept + history_at(), kept + this->kept(), -1.0);
            if (is_remembering()) remembering_->keep(kept + history_at());
        }
        if (!fallback_) return;
        fallback_->said(p, kept + d + judge_->kept());
        fallback_->mix(p);
    }

    /// What one expert sees of a record; see `Expert::row`.
    std::vector<double> row(const Record& record, long e) {
        has_heard_ = false;
        const Record own = with_made(record);
        expert(0).read(own);  // it leads the stage, if there is one
        if (e > 0) expert(e).read(own);
        return expert(e).row();
    }

    /// All learn a record, or none: it is refused before the first does.
    void learn(const Record& record, Outcome y, double weight) {
        if (!(weight >= 0 && weight <= 1e12)) refuse_example();
        Record own = record;
        if (remembering_ && record.scaled) own.history = record.scaled + history_at();
        listen(own);
        push(own, y, weight);
    }

    /// `predict`, then `learn`; `look` is called in between, where there is a judge to be asked.
    void step(const Record& record, Outcome y, double weight, double* p) {
        step(record, y, weight, p, [] {});
    }
    template <class Look>
    void step(const Record& record, Outcome y, double weight, double* p, Look&& look) {
        if (is_alone() && expert(0).runs_as_one_by_one()) {
            const bool counts = weight > 0;
            scaled_.begin(&counts, 1);
            has_heard_ = false;
            expert(0).take(&record, 0, 1, &y, &weight, scaled_);
            expert(0).run(&record, 0, 1, &y, &weight, p);
            note_alone(y, weight, p);
            miss(record, y, weight);
            fall_back(record, y, weight, p);
            learn_categories(record, y, weight);
            after(1);
            return;
        }
        predict(record, p);
        look();
        push(record, y, weight);
    }

    /// The same of the next n records, for less; returns how many were done: at
    /// most `most_rows`, and none after the next review of who is active, or once it is to grow.
    long run(const Record* records, const Outcome* y, const double* weight, long n, double* p) {
        constexpr long block = Member::block;
        static_assert(Activity::period % block == 0);
        const long N = N_, K = K_, done = steps();
        if (most_rows() == 1) {  // a forecaster in Python may refuse the row
            step(records[0], y[0], weight ? weight[0] : 1.0, p);
            return 1;
        }
        n = std::min(n, most_rows());
        if (judge_) n = std::min(n, judge_->activity().until_due(done));
        n = std::min(n, std::max(stop_ - done, 1L));
        if (categories_) {
            long t = 0;
            while (t < n && !is_to_grow()) {
                make(records[t], t);
                learn_categories(records[t], y[t], weight ? weight[t] : 1.0);
                ++t;
            }
            n = t;
            records = seen(records, n);
        }
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
        for (long t = 0; t < n; ++t) miss(records[t], y[t], weight ? weight[t] : 1.0);
        listen_in_blocks(n, blocks, start, run_block, p, [&](long b) {
            const long t = start(b);
            judge_->run(said_ + t * N * K, y + t, weight_from(t), length(b), p + t * K);
        });
        for (long t = 0; t < n; ++t) note_alone(y[t], weight ? weight[t] : 1, p + t * K);
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
    /// Where what an expert keeps of a record stands among the numbers that are kept.
    long history_at() const {
        return d + (judge_ ? judge_->kept() : 0) + (fallback_ ? Fallback::members * K_ : 0);
    }
    bool is_remembering() const {
        return std::any_of(active().begin(), active().end(),
                           [&](long e) { return experts_[std::size_t(e)].get() == remembering_; });
    }
    /// Whether an expert that was asked just before has seen the same history.
    bool has_same_history(const Record& record) {
        if (!record.history || record.history[0] < 0 || !is_remembering()) return true;
        remembering_->keep(history_);
        return std::memcmp(history_, record.history,
                           std::size_t(history_.size()) * sizeof(double)) == 0;
    }

    long steps() const { return judge_ ? judge_->steps() : experts_[0]->steps(); }
    /// Whether the pool is its first expert.
    bool is_alone() const { return !judge_ || (Judge::pauses && judge_->activity().is_alone()); }
    /// Who is active is reviewed after the steps at which that is due.
    void after(long steps_done) {
        if (!judge_) return;
        if (is_alone()) judge_->activity().add_alone(steps_done);
        if (judge_->activity().is_due(judge_->steps())) judge_->review();
    }

    /// Tells the loss of the first expert while it is alone, so that a jump is noticed.
    void note_alone(Outcome y, double weight, const double* p) {
        if constexpr (of_labels)
            if (judge_ && is_alone() && weight > 0)
                judge_->activity().note(
                    -std::log(std::max(p[y], std::numeric_limits<double>::min())));
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
        for (const long e : active()) expert(e).take(records, first, n, y, weight, scaled_);
    }
    const std::vector<long>& active() const { return judge_ ? judge_->activity().active() : one_; }

    /// say(e, b, out) writes what an expert says of block b, which begins with record start(b), to
    /// `out`; judge(b) makes forecasts of what all have said. If the first is alone, `p` has what
    /// it says.
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
        const auto listen_to = [&](long i, long b) {
            const long e = active()[std::size_t(i)];
            double* own = own_ + e * Member::block * K;
            say(e, b, own);
            for (long t = start(b); t < std::min(start(b + 1), n); ++t, own += K)
                copy(own, K, said_ + (t * N + e) * K);
        };
        in_parallel(long(active().size()), blocks, listen_to, judge);
    }

    /// Makes columns of the categories of a record, the t-th of several.
    void make(const Record& record, long t) {
        make_room((t + 1) * categories_->width(), made_);
        categories_->make(record.categories, record.n_categories, made_ + t * categories_->width());
    }
    void learn_categories(const Record& record, Outcome y, double weight) {
        if (!categories_) return;
        const long label = of_labels ? long(y) : -1;
        categories_->learn(record.categories, record.n_categories, label, weight);
    }
    /// The records with the columns that were made of them.
    const Record* seen(const Record* records, long n) {
        seen_.assign(records, records + n);
        for (long t = 0; t < n; ++t) seen_[std::size_t(t)].made = made_ + t * categories_->width();
        return seen_.data();
    }
    Record with_made(Record record) {
        if (!categories_) return record;
        make(record, 0);
        record.made = made_;
        return record;
    }

    /// Shows a record to the experts that are not active.
    void miss(const Record& record, Outcome y, double weight) {
        for (long e = 0; e < N_; ++e)
            if (!is_active(e)) expert(e).miss(record, y, weight);
    }
    bool is_active(long e) const { return !judge_ || judge_->activity().is_active(e); }

    /// Sets what the experts that are active say of a record. They may have said it just before.
    void listen(const Record& record) {
        if (has_heard_ && heard_.is(record, d) && is_scaled_now(record) && has_same_history(record))
            return;
        has_heard_ = false;
        const Record own = with_made(record);
        say_nothing(said_);
        for (const long e : active()) expert(e).read(own);
        for (const long e : active()) expert(e).predict(said_ + e * K_);
        if (fallback_) fallback_->read(record);
        heard_.set(record, d);
        has_heard_ = true;
    }

    /// Writes NaN for what those say who are not active.
    void say_nothing(double* said) const {
        if (!is_alone()) std::fill(said, said + N_ * K_, std::nan(""));
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
        for (const long e : active()) expert(e).learn(record, y, weight);
        miss(record, y, weight);
        if (is_alone()) {
            copy(said_, K_, pooled_);
            note_alone(y, weight, pooled_);
        } else if (then) {
            judge_->predict(said_, pooled_);
            judge_->learn(said_, y, weight, then);
        } else {
            judge_->run(said_, &y, &weight, 1, pooled_);
        }
        if constexpr (of_labels)
            if (fallback_)
                fallback_->learn(pooled_, y, weight, then ? then + judge_->kept() : nullptr);
        learn_categories(record, y, weight);
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
    Categories* categories_;
    long room_, stop_ = std::numeric_limits<long>::max();
    long N_, K_;
    ScaledBlock scaled_{Member::block};
    Member* remembering_ = nullptr;  // the expert that keeps something of a record, if one does
    Buffer said_, own_, now_, history_, pooled_;  // pooled_: what the pool said of one record
    Buffer made_;                                 // of categories: a row for each record
    std::vector<Record> seen_;
    std::vector<long> one_{0};  // who is active where there is no judge
    RecordCopy heard_;
    bool has_heard_ = false;
};

}  // namespace MIXABLE_ISA
