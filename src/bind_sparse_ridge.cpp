// Regressions on sparse features of records, as a Python object.
#include "bindings.hpp"
#include "core/scaler.hpp"
#include "core/shapes.hpp"
#include "core/sparse_ridge.hpp"
#include "slot_model.hpp"

namespace MIXABLE_ISA {

namespace {

class SparseRidgeModel : public SlotModel<SparseRidge> {
   public:
    SparseRidgeModel(const std::vector<std::tuple<double, double>>& grid, long most)
        : SlotModel(std::make_unique<SparseRidge>(settings_of<RidgeSetting>(grid), most)) {}

    /// Rows (n, S + 2 + d): what the regressions say of each record, then its numbers, scaled, each
    /// as if it were the next.
    nb::object predict(Scaler& scaler, const Shapes& shapes, nb::handle X, nb::handle features) {
        Use use(*this, Job::predict);
        const Table table(scaler, X, features);
        return each(table, scaler, shapes, [](long, const SparseRow&) {});
    }

    /// The same of records one after the other: each is learned before the next.
    nb::object run(Scaler& scaler, const Shapes& shapes, nb::handle X, nb::handle features,
                   nb::handle y_, nb::handle weight_) {
        Use use(*this);
        const Table table(scaler, X, features);
        const double* y = plain<double>(y_, NPY_DOUBLE, "float64");
        const double* weight =
            weight_.is_none() ? nullptr : plain<double>(weight_, NPY_DOUBLE, "float64");
        if (length(y_) != table.n || (weight && length(weight_) != table.n))
            throw nb::value_error("records, y and weight do not go together");
        for (long t = 0; t < table.n; ++t) {
            if (!(std::fabs(y[t]) <= 1e100)) throw nb::value_error("y is out of range");
            if (weight && !(weight[t] >= 0 && weight[t] <= 1e12))
                throw nb::value_error("a weight must be between 0 and 1e12");
        }
        return each(table, scaler, shapes, [&](long t, const SparseRow& row) {
            const double w = weight ? weight[t] : 1.0;
            core_->learn(row, y[t], w);
            if (w > 0) scaler.learn(table.x + t * scaler.d, scaled_.data());
        });
    }

   private:
    /// Numbers (n, d); sparse features, their crosses and what is shown of the numbers, if there
    /// are any.
    struct Table {
        Table(const Scaler& scaler, nb::handle X, nb::handle features)
            : n(length(X)), x(checked(X, 2)) {
            if (length(X, 1) != scaler.d)
                throw nb::value_error("X has the wrong number of columns");
            if (features.is_none()) return;
            for (std::size_t i = 0; i < 2; ++i) {
                const nb::object rows = features[i];
                sparse[i] = std::make_unique<SparseRows>(rows[0], rows[1], rows[2]);
                if (sparse[i]->n != n)
                    throw nb::value_error("numbers and features do not go together");
            }
            const nb::bytes given = nb::cast<nb::bytes>(features[2]);
            if (!given.size()) return;
            shown.assign(std::size_t(scaler.d), shown_all);
            std::copy_n(given.c_str(), std::min(given.size(), shown.size()), shown.begin());
        }
        long n;
        const double* x;
        std::unique_ptr<SparseRows> sparse[2];
        std::vector<char> shown;  // empty: all
    };

    /// Makes the features of each record, writes what is said of it, and calls f(t, features).
    template <class F>
    nb::object each(const Table& table, Scaler& scaler, const Shapes& shapes, F&& f) {
        const long d = scaler.d, said = core_->outputs();
        scaled_.resize(std::size_t(scaler.views * scaler.width));
        const double* last = scaled_.data() + (long(scaled_.size()) - d);
        const char* shown = table.shown.empty() ? nullptr : table.shown.data();
        nb::object out = new_array({table.n, said + d});
        double* p = data(out);
        for (long t = 0; t < table.n; ++t, p += said + d) {
            keys_.clear();
            values_.clear();
            for (std::size_t i = 0; i < 2; ++i) {
                const bool wanted = i == 0 ? shapes.takes_features : shapes.takes_crosses;
                if (!wanted || !table.sparse[i]) continue;
                const SparseRow row = (*table.sparse[i])[t];
                keys_.insert(keys_.end(), row.keys, row.keys + row.nnz);
                values_.insert(values_.end(), row.values, row.values + row.nnz);
            }
            const double* x = table.x + t * d;
            scaler.transform(x, scaled_.data());
            shapes.add(x, last, d, shown, keys_, values_);
            const SparseRow row{keys_.data(), values_.data(), long(keys_.size())};
            core_->predict(row, p);
            std::copy_n(last, d, p + said);
            f(t, row);
        }
        return out;
    }

    std::vector<double> scaled_, values_;
    std::vector<std::uint64_t> keys_;
};

}  // namespace

void bind_sparse_ridge(nb::module_& m) {
    using M = SparseRidgeModel;
    auto model =
        nb::class_<M>(m, "SparseRidge", "Regressions on sparse rows; see core/sparse_ridge.hpp.")
            .def(nb::init<const std::vector<std::tuple<double, double>>&, long>(), nb::arg("grid"),
                 nb::arg("max_features"),
                 nb::sig(
                     "def __init__(self, grid: Sequence[tuple[float, float]], max_features: int) "
                     "-> None"))
            .def(
                "predict", &M::predict, nb::arg("scaler"), nb::arg("shapes"), nb::arg("X"),
                nb::arg("features").none(),
                nb::sig("def predict(self, scaler: Scaler, shapes: Shapes, X: NDArray[np.float64], "
                        "features: Features | None) -> NDArray[np.float64]"),
                "What is said of records, and their numbers, scaled: a row each.")
            .def("run", &M::run, nb::arg("scaler"), nb::arg("shapes"), nb::arg("X"),
                 nb::arg("features").none(), nb::arg("y"), nb::arg("weight").none(),
                 nb::sig("def run(self, scaler: Scaler, shapes: Shapes, X: NDArray[np.float64], "
                         "features: Features | None, y: NDArray[np.float64], "
                         "weight: NDArray[np.float64] | None) -> NDArray[np.float64]"),
                 "The same, each made before its target is learned; the scaler learns, too.");
    bind_slots(model);
}

}  // namespace MIXABLE_ISA
