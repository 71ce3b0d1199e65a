// A pool with its inputs as a Python object: it works on the parts that Python owns and saves.
#pragma once

#include "core/pooled.hpp"
#include "fallback_model.hpp"
#include "model.hpp"
#include "sparse_model.hpp"

namespace MIXABLE_ISA {

/// The judge of a pool.
class JudgeModel : public ModelOf<Judge> {
   public:
    using ModelOf<Judge>::ModelOf;
    nb::object trust() {
        Use use(*this);
        return filled({core().judged()}, [&](double* out) { core().trust(out); });
    }
};

class PooledModel {
   public:
    /// An expert is (Scaler, Landmarks or None, amplitude of their features, whether the inputs
    /// stand beside them, AutoGAF), or (Scaler, Shapes, Sparse). The fallback may be None.
    /// `threads` may share tables; 0: as many as are usual.
    PooledModel(const nb::list& experts, const nb::object& judge, const nb::object& fallback,
                long threads)
        : owners_(nb::make_tuple(experts, judge, fallback)),
          judge_(nb::cast<JudgeModel&>(judge)),
          threads_(threads) {
        users_.push_back(&judge_);
        std::vector<std::unique_ptr<PoolExpert>> parts;
        long d = -1;
        for (nb::handle item : experts) {
            Scaler& scaler = nb::cast<Scaler&>(item[0]);
            if (d >= 0 && scaler.d != d)
                throw nb::value_error("experts see rows of different lengths");
            d = scaler.d;
            if (nb::len(item) == 3) {
                SparseModel& forecaster = nb::cast<SparseModel&>(item[2]);
                users_.push_back(&forecaster);
                parts.push_back(std::make_unique<SparseExpert>(scaler, forecaster.core(),
                                                               nb::cast<Shapes&>(item[1])));
                continue;
            }
            Model<long>& forecaster = nb::cast<Model<long>&>(item[4]);
            Landmarks* map = item[1].is_none() ? nullptr : &nb::cast<Landmarks&>(item[1]);
            users_.push_back(&forecaster);
            parts.push_back(std::make_unique<ScaledExpert>(scaler, forecaster.forecaster(), map,
                                                           nb::cast<double>(item[2]),
                                                           nb::cast<bool>(item[3])));
        }
        FallbackModel* beside = nullptr;
        if (!fallback.is_none()) users_.push_back(beside = &nb::cast<FallbackModel&>(fallback));
        pooled_ = std::make_unique<Pooled>(d, std::move(parts), judge_.core(),
                                           beside ? &beside->core() : nullptr);
    }

    /// The forecasts (n, K) of records: numbers X (n, d), sparse features, their crosses and
    /// what is shown of the numbers (a byte each, those at the end may lack), or None.
    nb::object predict(nb::handle X, const nb::object& features) {
        const Records records(*this, X, features);
        const Uses uses(*this, Job::predict);
        nb::object out = new_array({records.n, pooled_->outputs()});
        double* p = data(out);
        if (records.n == 1)
            pooled_->predict(records[0], p);
        else
            in_chunks(records, [&](const Record* next, long t, long most) {
                pooled_->predict_many(next, most, p + t * pooled_->outputs());
                return most;
            });
        if (!std::all_of(p, p + records.n * pooled_->outputs(), [](double q) { return q >= 0; }))
            throw std::domain_error("the forecast is not finite: x is too large");
        return out;
    }

    /// Learns one record; with what was kept of its forecast, if that is given.
    void learn(nb::handle X, const nb::object& features, long y, double weight, nb::handle kept_) {
        const Records records(*this, X, features);
        if (records.n != 1) throw nb::value_error("expected one record");
        if (y < 0 || y >= pooled_->outputs()) throw nb::value_error("y is out of range");
        Record record = records[0];
        record.scaled = kept_.is_none() ? nullptr : kept_rows(kept_, 1);
        const Uses uses(*this, Job::other);
        pooled_->learn(record, y, weight);
    }

    /// Numbers that are kept of a record until its label comes.
    long kept_length() const { return pooled_->kept(); }

    /// What is kept of one record until its label comes.
    nb::object kept(nb::handle X, const nb::object& features) {
        const Records records(*this, X, features);
        if (records.n != 1) throw nb::value_error("expected one record");
        const Uses uses(*this, Job::predict);
        nb::object out = new_array({1, pooled_->kept()});
        std::vector<double> p(std::size_t(pooled_->outputs()));
        pooled_->predict(records[0], p.data(), data(out));
        return out;
    }

    /// (P, done, reason): steps one after the other. Step t is with record order[t]: it is
    /// predicted, and learned if it has a label y >= 0. If order[t] is negative, the label of
    /// record -1 - order[t] has come: it is learned with what was kept of its forecast, which
    /// `kept` has; that is written for records without a label. Stops before the first step that
    /// is refused, and says why. The bits do not depend on how steps are spread
    /// over calls.
    nb::tuple follow(nb::handle X, const nb::object& features, nb::handle order_, nb::handle y_,
                     nb::handle kept_) {
        const Records records(*this, X, features);
        const Steps order(order_, records.n);
        const long n = order.n, K = pooled_->outputs();
        const long* y = checked_labels(y_, n, -1);
        double* kept = kept_.is_none() ? nullptr : kept_rows(kept_, records.n);
        order.check(y, kept);
        const Uses uses(*this, Job::other);
        nb::object out = new_array({n, K});
        std::fill_n(data(out), n * K, 0.0);
        const Followed followed = each(n, data(out), [&](long t, double* p) {
            Record record = records[order.row(t)];
            double* own = kept ? kept + order.row(t) * pooled_->kept() : nullptr;
            if (order.is_late(t)) {
                record.scaled = own;
                pooled_->learn(record, y[t], 1.0);
                return;
            }
            if (own && y[t] < 0)
                pooled_->predict(record, p, own);
            else
                pooled_->step(record, y[t], 1.0, p);
        });
        const nb::object reason =
            followed.reason.empty() ? nb::none() : nb::object(nb::str(followed.reason.c_str()));
        return nb::make_tuple(out, followed.done, reason);
    }

    /// The forecasts of records, each made before its label is learned; faster. Numbers must be
    /// known not to be too large.
    nb::object run(nb::handle X, const nb::object& features, nb::handle y_, nb::handle weight_) {
        const Records records(*this, X, features);
        const long n = records.n, K = pooled_->outputs(), *y = checked_labels(y_, n, 0);
        const double* weight =
            weight_.is_none() ? nullptr : plain<double>(weight_, NPY_DOUBLE, "float64");
        if (weight && length(weight_) != n)
            throw nb::value_error("records and weight do not go together");
        for (long t = 0; weight && t < n; ++t)
            if (!(weight[t] >= 0 && weight[t] <= 1e12))
                throw nb::value_error("a weight must be between 0 and 1e12");
        const Uses uses(*this, Job::other);
        nb::object out = new_array({n, K});
        double* p = data(out);
        in_chunks(records, [&](const Record* next, long t, long most) {
            return pooled_->run(next, y + t, weight ? weight + t : nullptr, most, p + t * K);
        });
        return out;
    }

   private:
    double* kept_rows(nb::handle rows, long n) const {
        if (!is_plain(rows, NPY_DOUBLE, 2) || length(rows) != n ||
            length(rows, 1) != pooled_->kept())
            throw nb::value_error("records and what was kept of them do not go together");
        return data(rows);
    }
    const long* checked_labels(nb::handle y, long n, long least) const {
        const long* labels = plain<long>(y, NPY_LONG, "int64");
        if (length(y) != n) throw nb::value_error("records and y do not go together");
        for (long t = 0; t < n; ++t)
            if (labels[t] < least || labels[t] >= pooled_->outputs())
                throw nb::value_error("y has a label out of range");
        return labels;
    }

    static constexpr long slice = 64;  // records between two looks for Ctrl-C

    /// A table of numbers (n, d), and sparse rows if there are any.
    struct Records {
        Records(const PooledModel& pool, nb::handle X, const nb::object& features)
            : n(length(X)), d(pool.pooled_->d), x(checked(X, 2)) {
            if (length(X, 1) != d) throw nb::value_error("X has the wrong number of columns");
            if (features.is_none()) return;
            for (std::size_t i = 0; i < 2; ++i) {
                const nb::object rows = features[i];
                sparse[i] = std::make_unique<SparseRows>(rows[0], rows[1], rows[2]);
                if (sparse[i]->n != n)
                    throw nb::value_error("numbers and features do not go together");
            }
            const nb::bytes given = nb::cast<nb::bytes>(features[2]);
            if (!given.size()) return;
            shown.assign(std::size_t(d), shown_all);
            std::copy_n(given.c_str(), std::min(given.size(), shown.size()), shown.begin());
        }
        Record operator[](long t) const {
            const auto row = [&](std::size_t i) {
                return sparse[i] ? (*sparse[i])[t] : SparseRow{nullptr, nullptr, 0};
            };
            return {x + t * d, row(0), row(1), shown.empty() ? nullptr : shown.data()};
        }
        long n, d;
        const double* x;
        std::unique_ptr<SparseRows> sparse[2];
        std::vector<char> shown;  // empty: all
    };

    /// All models are in use, for one call.
    struct Uses {
        Uses(PooledModel& pool, Job job) {
            for (OneUser* user : pool.users_)
                each.push_back(std::make_unique<OneUser::Use>(*user, job));
        }
        std::vector<std::unique_ptr<OneUser::Use>> each;
    };

    /// f(records, first, n) for the next n of all records, without the GIL and by several threads;
    /// it returns how many it did. Looks for Ctrl-C.
    template <class F>
    void in_chunks(const Records& records, F&& f) {
        const long n = records.n;
        std::vector<Record> next(std::size_t(std::min(n, pooled_->most_rows())));
        const long threads = threads_ ? threads_ : BlasThreads::usual();
        const Crew crew(n >= PoolExpert::block ? threads : 1);
        for (long t = 0; t < n;) {
            {
                WithoutGil without_gil;
                const long most = std::min(n - t, long(next.size()));
                for (long i = 0; i < most; ++i) next[std::size_t(i)] = records[t + i];
                t += f(next.data(), t, most);
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
    }

    /// f(t, p) for each step, with p for its forecast; without the GIL if there are several.
    template <class F>
    Followed each(long n, double* out, F&& f) {
        const long K = pooled_->outputs();
        Followed followed;
        const auto some = [&](long end) {
            try {
                for (long& t = followed.done; t < end; ++t) {
                    double* p = out + t * K;
                    f(t, p);
                    if (!std::all_of(p, p + K, [](double q) { return q >= 0; }))
                        throw std::domain_error("the forecast is not finite: x is too large");
                }
            } catch (const std::exception& error) {
                followed.reason = error.what();
            }
        };
        if (n == 1) {
            some(1);
            return followed;
        }
        while (followed.done < n && followed.reason.empty()) {
            {
                WithoutGil without_gil;
                some(std::min(followed.done + slice, n));
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
        return followed;
    }

    nb::tuple owners_;
    JudgeModel& judge_;
    std::vector<OneUser*> users_;
    std::unique_ptr<Pooled> pooled_;
    long threads_;
};

}  // namespace MIXABLE_ISA
