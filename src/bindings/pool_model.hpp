// A pool with its inputs as a Python object: it works on the parts that Python owns and saves.
#pragma once

#include "categories_model.hpp"
#include "core/pool/naive_bayes.hpp"
#include "core/pool/pool.hpp"
#include "core/trees/expert.hpp"
#include "fallback_model.hpp"
#include "model.hpp"
#include "number_judge_model.hpp"
#include "sparse_model.hpp"
#include "trees_model.hpp"

namespace MIXABLE_ISA {

/// The judge of a pool.
class JudgeModel : public Model<long> {
   public:
    using Model<long>::Model;
    /// To be used while a `Use` lives.
    Judge& core() { return static_cast<Judge&>(forecaster()); }
    const Judge& core() const { return static_cast<const Judge&>(forecaster()); }
    Array<> expert_weights() {
        Use use(*this);
        return filled({core().judged()}, [&](double* out) { core().expert_weights(out); });
    }
    const std::vector<long>& active() const { return core().activity().active(); }
    void set_active(long e, bool active) {
        Use use(*this);
        core().set_active(e, active);
    }
    void review() {
        Use use(*this);
        core().review();
    }
};

/// Regressions on sparse rows; a pool of numbers lets them learn.
class SparseRidgeModel : public SlotModel<SparseRidge> {
   public:
    SparseRidgeModel(const std::vector<std::tuple<double, double>>& grid, long most)
        : SlotModel(std::make_unique<SparseRidge>(settings_of<RidgeSetting>(grid), most)) {}
};

/// A forecaster written in Python: what makes its rows and calls it is compiled.
class PythonForecaster final : public AnyForecaster<long> {
   public:
    explicit PythonForecaster(nb::object forecaster)
        : forecaster_(std::move(forecaster)),
          length_(nb::cast<long>(forecaster_.attr("_row_length"))),
          K_(nb::cast<long>(forecaster_.attr("n_classes"))),
          largest_(nb::cast<double>(forecaster_.attr("_largest_square")())) {}

    long features() const override { return length_; }
    long row_length() const override { return length_; }
    long predictions() const override { return K_; }
    long outputs() const override { return K_; }
    long block() const override { return 1; }
    double cost() const override { return 1e9; }  // one row at a time
    double largest_square() const override { return largest_; }
    long steps() const override {
        nb::gil_scoped_acquire gil;
        return nb::cast<long>(forecaster_.attr("steps"));
    }
    void predict(const double* x, double* p) override {
        nb::gil_scoped_acquire gil;
        const nb::object out = validated("row", forecaster_.attr("predict")(row(x)), K_);
        copy(data(out), K_, p);
    }
    void predict_many(const double* X, long n, double* out) override {
        for (long t = 0; t < n; ++t) predict(X + t * length_, out + t * K_);
    }
    void learn(const double* x, long y, double weight) override {
        nb::gil_scoped_acquire gil;
        forecaster_.attr("learn")(row(x), y, weight);
    }
    void run(const double* X, const long* y, const double* weight, long n, double* out) override {
        for (long t = 0; t < n; ++t) {
            predict(X + t * length_, out + t * K_);
            learn(X + t * length_, y[t], weight ? weight[t] : 1.0);
        }
    }
    // Python saves it.
    void forget_reading() override {}
    void mean(double*) const override {}
    void adopt(const AnyForecaster&) override {}
    void visit(Visitor&) override {}
    void clear() override {}
    bool counters_are_valid() const override { return true; }
    bool contents_are_valid() const override { return true; }

   private:
    nb::object row(const double* x) const {
        nb::object out = new_array({length_});
        copy(x, length_, data(out));
        return out;
    }

    nb::object forecaster_;
    long length_, K_;
    double largest_;
};

struct NamedFeatures {
    static constexpr auto name = nb::detail::const_name("Features");
};
using Features = As<NamedFeatures>;

/// What judges experts on outcomes of a type.
template <class Outcome>
struct JudgeOf;
template <>
struct JudgeOf<long> {
    using Core = Judge;
    using Model = JudgeModel;
};

template <>
struct JudgeOf<double> {
    using Core = NumberJudge;
    using Model = NumberJudgeModel;
};

template <class Outcome>
class PoolModel {
   public:
    static constexpr bool of_labels = std::is_same_v<Outcome, long>;
    using Core = Pool<Outcome, typename JudgeOf<Outcome>::Core>;
    using Member = Expert<Outcome>;

    /// `judge`, `fallback` and `categories` may be None; there is room for so many indicators.
    /// `threads` may share tables; 0: as many as are usual.
    PoolModel(const nb::list& experts, const nb::object& judge, const nb::object& fallback,
              long threads, const nb::object& categories, long room)
        : owners_(nb::make_tuple(experts, judge, fallback, categories)), threads_(threads) {
        Categories* made = nullptr;
        if (!categories.is_none()) made = &used<CategoriesModel>(categories).core();
        std::vector<std::unique_ptr<Member>> members;
        long d = -1;
        for (nb::handle item : experts) {
            const std::vector<long> picks = picks_of(item);
            members.push_back(expert_of(item, picks));
            const long own = members.back()->numbers();
            if (d < 0) d = own;
            const long columns = stage_ ? stage_->all_columns() : d;
            bool fits = picks.empty() || stage_ ? own == d : own == long(picks.size());
            for (long i : picks)
                fits = fits && (i < 0 ? made && -1 - i < made->width() : i < columns);
            if (!fits) throw nb::value_error("experts see rows of different lengths");
        }
        if (members.empty()) throw nb::value_error("a pool needs an expert");
        typename JudgeOf<Outcome>::Core* judge_core = nullptr;
        if (!judge.is_none()) judge_core = &used<typename JudgeOf<Outcome>::Model>(judge).core();
        Fallback* beside = nullptr;
        if (!fallback.is_none()) beside = &used<FallbackModel>(fallback).core();
        pool_ = std::make_unique<Core>(d, std::move(members), judge_core, beside, made, room);
    }

    /// The forecasts (n, K) of records: numbers X (n, d), sparse features, their crosses and
    /// what is shown of the numbers (a byte each, those at the end may lack), and the keys of their
    /// categories (n, columns of categories), or None.
    Array<> predict(Array<> X, const Features& features) {
        const Records records(*this, X, features);
        const Uses uses(*this, Job::predict);
        nb::object out = new_array({records.n, pool_->outputs()});
        double* p = data(out);
        if (records.n == 1)
            pool_->predict(records[0], p);
        else
            in_chunks(records, [&](const Record* next, long t, long most) {
                pool_->predict_many(next, most, p + t * pool_->outputs());
                return most;
            });
        check(p, records.n);
        return out;
    }

    /// What the forecaster of a dense expert sees of records: where its forecasts begin, then rows.
    Array<> rows(long e, Array<> X, const Features& features) {
        if (e < 0 || e >= pool_->experts()) throw nb::index_error("no such expert");
        const Records records(*this, X, features);
        const Uses uses(*this, Job::predict);
        nb::object out = nb::none();
        for (long t = 0; t < records.n; ++t) {
            const std::vector<double> row = pool_->row(records[t], e);
            if (t == 0) out = new_array({records.n, long(row.size())});
            std::copy(row.begin(), row.end(), data(out) + t * long(row.size()));
        }
        return out.is_none() ? new_array({0L, 0L}) : out;
    }

    /// What the forecasts of numbers are mixtures of (n, parts, 4), as the judge says.
    Array<> components(Array<> X, const Features& features) {
        const Records records(*this, X, features);
        const long parts = pool_->judge()->parts();
        nb::object out = new_array({records.n, parts, 4L});
        ask_judge(records,
                  [&](const auto& judge, long t) { judge.components(data(out) + t * parts * 4); });
        return out;
    }
    /// The ends (n, 2) of the intervals that hold the numbers with this probability.
    Array<> interval(Array<> X, const Features& features, double probability) {
        const Records records(*this, X, features);
        nb::object out = new_array({records.n, 2L});
        ask_judge(records, [&](const auto& judge, long t) {
            judge.interval(probability, data(out) + 2 * t);
        });
        return out;
    }

    /// Learns one record; with what was kept of its forecast, if that is given.
    void learn(Array<> X, const Features& features, Outcome y, double weight, Array<> kept_) {
        const Records records(*this, X, features);
        if (records.n != 1) throw nb::value_error("expected one record");
        check_outcomes(&y, 1, 0);
        Record record = records[0];
        record.scaled = kept_.is_none() ? nullptr : kept_rows(kept_, 1);
        const Uses uses(*this, Job::other);
        pool_->learn(record, y, weight);
    }

    /// Numbers that are kept of a record until its outcome comes.
    long kept_length() const { return pool_->kept(); }

    /// After so many examples it stops, as if it were to grow.
    void stop_at(long steps) { pool_->stop_at(steps); }

    /// What is kept of one record until its outcome comes.
    Array<> kept(Array<> X, const Features& features) {
        const Records records(*this, X, features);
        if (records.n != 1) throw nb::value_error("expected one record");
        const Uses uses(*this, Job::predict);
        nb::object out = new_array({1, pool_->kept()});
        std::vector<double> p(std::size_t(pool_->outputs()));
        pool_->predict(records[0], p.data(), data(out));
        return out;
    }

    /// (P, done, reason): steps one after the other. Step t is with record order[t]: it is
    /// predicted, and learned if it has an outcome (a label y >= 0, a number that is not NaN). If
    /// order[t] is negative, the outcome of record -1 - order[t] has come: it is learned with what
    /// was kept of its forecast, which `kept` has; that is written for records without an outcome.
    /// Stops before the first step that is refused, and says why; or once the pool is to grow. The
    /// bits do not depend on how steps are spread over calls. With a level, forecasts of numbers
    /// have the ends of the interval of that probability, too, if there is a judge.
    Tuple<Array<>, long, std::optional<std::string>> follow(Array<> X, const Features& features,
                                                            Array<long> order_, Array<Outcome> y_,
                                                            Array<> kept_, double level) {
        const Records records(*this, X, features);
        const Steps order(order_, records.n);
        const bool has_ends = !of_labels && level > 0 && pool_->judge();
        const long n = order.n, K = pool_->outputs() + (has_ends ? 2 : 0);
        const Outcome* y = outcomes(y_, n, -1);
        double* kept = kept_.is_none() ? nullptr : kept_rows(kept_, records.n);
        for (long t = 0; t < n; ++t)
            if (order.is_late(t) && !(has_come(y[t]) && kept))
                throw nb::value_error("a late label needs a label and its row as it was");
        const Uses uses(*this, Job::other);
        nb::object out = new_array({n, K});
        std::fill_n(data(out), n * K, 0.0);
        long done = 0;
        std::string reason;
        const auto some = [&](long end) {
            try {
                for (; done < end && !pool_->is_to_grow(); ++done) {
                    const long t = done;
                    Record record = records[order.row(t)];
                    double* own = kept ? kept + order.row(t) * pool_->kept() : nullptr;
                    double* p = data(out) + t * K;
                    const auto look = [&] {
                        if constexpr (!of_labels)
                            if (has_ends) pool_->judge()->interval(level, p + 2);
                    };
                    if (order.is_late(t)) {
                        record.scaled = own;
                        pool_->learn(record, y[t], 1.0);
                    } else if (has_come(y[t])) {
                        pool_->step(record, y[t], 1.0, p, look);
                    } else {
                        own ? pool_->predict(record, p, own) : pool_->predict(record, p);
                        look();
                    }
                    check(p, 1);
                }
            } catch (const std::exception& error) {
                reason = error.what();
            }
        };
        if (n == 1) some(1);
        while (done < n && reason.empty() && !pool_->is_to_grow()) {
            {
                WithoutGil without_gil;
                some(std::min(done + slice, n));
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
        return nb::make_tuple(out, done,
                              reason.empty() ? nb::none() : nb::object(nb::str(reason.c_str())));
    }

    /// The forecasts of records, each made before its outcome is learned; faster. Numbers must be
    /// known not to be too large. Returns how many were done, too: fewer if the pool is to grow.
    Tuple<Array<>, long> run(Array<> X, const Features& features, Array<Outcome> y_,
                             Array<> weight_) {
        const Records records(*this, X, features);
        const long n = records.n, K = pool_->outputs();
        const Outcome* y = outcomes(y_, n, 0);
        const double* weight = weight_.is_none() ? nullptr : checked(weight_);
        if (weight && length(weight_) != n)
            throw nb::value_error("records and weight do not go together");
        for (long t = 0; weight && t < n; ++t)
            if (!(weight[t] >= 0 && weight[t] <= 1e12))
                throw nb::value_error("a weight must be between 0 and 1e12");
        const Uses uses(*this, Job::other);
        nb::object out = new_array({n, K});
        double* p = data(out);
        const long done = in_chunks(records, [&](const Record* next, long t, long most) {
            return pool_->run(next, y + t, weight ? weight + t : nullptr, most, p + t * K);
        });
        check(p, done);
        return nb::make_tuple(out, done);
    }

   private:
    /// The kinds of experts: (Scaler, maps, amplitude, beside, linear, forecaster, stage, picks),
    /// where maps and what follows are as in `Views`, the stage is None or (Scaler, SparseRidge,
    /// Shapes), the same for all, and picks are as in `DenseExpert`, or None; or (Scaler, Shapes,
    /// Sparse, Memory or None); or (Trees,).
    std::unique_ptr<Member> expert_of(nb::handle item, const std::vector<long>& picks) {
        if constexpr (of_labels)
            if (nb::len(item) == 1 && nb::isinstance<Model<long>>(item[0]))
                return std::make_unique<RawExpert>(used<Model<long>>(item[0]).forecaster());
        if (nb::len(item) == 1)
            return std::make_unique<TreeExpert<Outcome>>(used<TreesModel>(item[0]).trees());
        Scaler& scaler = nb::cast<Scaler&>(item[0]);
        if constexpr (of_labels)
            if (nb::len(item) == 4)
                return std::make_unique<SparseExpert>(
                    scaler, used<SparseModel>(item[2]).core(), nb::cast<Shapes&>(item[1]),
                    nb::object(item[3]).is_none() ? nullptr : &nb::cast<Memory&>(item[3]));
        Views views{
            {}, nb::cast<double>(item[2]), nb::cast<bool>(item[3]), nb::cast<bool>(item[4])};
        for (nb::handle map : item[1]) views.maps.push_back(&nb::cast<FeatureMap&>(map));
        if constexpr (!of_labels)
            if (const nb::object parts = item[6]; !parts.is_none()) {
                const bool leads = !stage_;
                Scaler& own = nb::cast<Scaler&>(parts[0]);
                if (leads)
                    stage_ = std::make_unique<SparseStage>(
                        own, used<SparseRidgeModel>(parts[1]).core(), nb::cast<Shapes&>(parts[2]));
                return std::make_unique<DenseExpert<Outcome>>(
                    own, forecaster_of(item[5]), std::move(views), stage_.get(), leads, picks);
            }
        return std::make_unique<DenseExpert<Outcome>>(scaler, forecaster_of(item[5]),
                                                      std::move(views), nullptr, true, picks);
    }
    static std::vector<long> picks_of(nb::handle item) {
        if (nb::len(item) < 8 || nb::object(item[7]).is_none()) return {};
        return nb::cast<std::vector<long>>(item[7]);
    }
    AnyForecaster<Outcome>& forecaster_of(nb::handle forecaster) {
        if constexpr (of_labels)
            if (!nb::isinstance<Model<long>>(forecaster)) {
                python_.push_back(
                    std::make_unique<PythonForecaster>(nb::borrow<nb::object>(forecaster)));
                return *python_.back();
            }
        return used<Model<Outcome>>(forecaster).forecaster();
    }
    /// A model that is in use whenever the pool is.
    template <class M>
    M& used(nb::handle model) {
        M& mine = nb::cast<M&>(model);
        users_.push_back(&mine);
        return mine;
    }

    static bool has_come(long y) { return y >= 0; }
    static bool has_come(double y) { return !std::isnan(y); }
    /// Refuses what is no forecast in double precision.
    void check(const double* p, long n) const {
        const long K = pool_->outputs();
        for (long i = 0; i < n * K; ++i)
            if (of_labels ? !(p[i] >= 0) : i % K == 0 && !std::isfinite(p[i]))
                throw std::domain_error("the forecast is not finite: x is too large");
    }
    void check_outcomes(const Outcome* y, long n, long least) const {
        for (long t = 0; t < n; ++t) {
            bool fits = false;
            if constexpr (of_labels)
                fits = y[t] >= least && y[t] < pool_->outputs();
            else
                fits = std::fabs(y[t]) <= 1e100 || (least < 0 && std::isnan(y[t]));
            if (!fits) throw nb::value_error("y has an outcome out of range");
        }
    }
    const Outcome* outcomes(nb::handle y, long n, long least) const {
        const Outcome* values = checked<Outcome>(y);
        if (length(y) != n) throw nb::value_error("records and y do not go together");
        check_outcomes(values, n, least);
        return values;
    }
    double* kept_rows(nb::handle rows, long n) const {
        if (!is_plain(rows, 2) || length(rows) != n || length(rows, 1) != pool_->kept())
            throw nb::value_error("records and what was kept of them do not go together");
        return data(rows);
    }
    static constexpr long slice = 64;  // records between two looks for Ctrl-C

    /// A table of numbers (n, d), and sparse rows if there are any.
    struct Records {
        Records(const PoolModel& pool, Array<> X, const Features& features)
            : n(length(X)), d(pool.pool_->d), x(checked(X, 2)) {
            if (length(X, 1) != d) throw nb::value_error("X has the wrong number of columns");
            if (features.is_none()) return;
            for (std::size_t i = 0; i < 2; ++i) {
                const nb::object rows = features[i];
                sparse[i] = std::make_unique<SparseRows>(rows[0], rows[1], rows[2]);
                if (sparse[i]->n != n)
                    throw nb::value_error("numbers and features do not go together");
            }
            const nb::object keys = features[3];
            if (!is_plain<std::uint64_t>(keys, 2) || length(keys) != n)
                throw nb::type_error("expected the keys of categories of each record");
            categories = data<std::uint64_t>(keys);
            n_categories = length(keys, 1);
            const nb::bytes given = nb::cast<nb::bytes>(features[2]);
            if (!given.size()) return;
            shown.assign(std::size_t(d), shown_all);
            std::copy_n(given.c_str(), std::min(given.size(), shown.size()), shown.begin());
        }
        Record operator[](long t) const {
            const auto row = [&](std::size_t i) {
                return sparse[i] ? (*sparse[i])[t] : SparseRow{nullptr, nullptr, 0};
            };
            Record out{x + t * d, row(0), row(1), shown.empty() ? nullptr : shown.data()};
            out.categories = categories + t * n_categories;
            out.n_categories = n_categories;
            return out;
        }
        long n, d;
        const double* x;
        std::unique_ptr<SparseRows> sparse[2];
        std::vector<char> shown;  // empty: all
        const std::uint64_t* categories = nullptr;
        long n_categories = 0;
    };
    /// Reads records one after the other; `ask(judge, t)` is for what the judge knows of each.
    template <class Ask>
    void ask_judge(const Records& records, Ask&& ask) {
        const Uses uses(*this, Job::predict);
        double p[2];
        for (long t = 0; t < records.n; ++t) {
            pool_->predict(records[t], p);
            ask(*pool_->judge(), t);
        }
    }

    /// All models are in use, for one call.
    struct Uses {
        Uses(PoolModel& pool, Job job) {
            for (OneUser* user : pool.users_)
                each.push_back(std::make_unique<OneUser::Use>(*user, job));
        }
        std::vector<std::unique_ptr<OneUser::Use>> each;
    };

    /// f(records, first, n) for the next n of all records, without the GIL and by several threads;
    /// it returns how many it did. Looks for Ctrl-C. Stops once the pool is to grow; returns how
    /// many were done.
    template <class F>
    long in_chunks(const Records& records, F&& f) {
        const long n = records.n;
        std::vector<Record> next(std::size_t(std::min(n, pool_->most_rows())));
        const long threads = threads_ ? threads_ : BlasThreads::usual();
        const Crew crew(n >= Member::block ? threads : 1);
        long t = 0;
        while (t < n && !pool_->is_to_grow()) {
            {
                WithoutGil without_gil;
                const long most = std::min(n - t, long(next.size()));
                for (long i = 0; i < most; ++i) next[std::size_t(i)] = records[t + i];
                t += f(next.data(), t, most);
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
        return t;
    }

    nb::tuple owners_;
    std::vector<OneUser*> users_;
    std::vector<std::unique_ptr<PythonForecaster>> python_;
    std::unique_ptr<SparseStage> stage_;
    std::unique_ptr<Core> pool_;
    long threads_;
};

}  // namespace MIXABLE_ISA
