// Trees: their code, and their names in Python.
#include "core/trees/growing.hpp"
#include "module.hpp"
#include "trees_model.hpp"

namespace MIXABLE_ISA {

std::unique_ptr<Trees> make_trees(long d, long C, long K) {
    if (d < 0 || C < 0 || d > 1L << 20 || C > 1L << 20 || K < 0 || K == 1)
        throw std::invalid_argument("trees cannot have this shape");
    return std::make_unique<trees::Growing>(d, C, K);
}

namespace {

/// The values of an array, in place of those of a vector; what it had reserved stays.
template <class T>
void take(const nb::dict& from, const std::string& name, std::vector<T>& values) {
    const nb::object array = from[name.c_str()];
    if (!is_plain<T>(array, 1))
        throw nb::value_error(("the saved " + name + " is not an array of its type").c_str());
    values.assign(data<T>(array), data<T>(array) + length(array));
}

/// f(name, value) for all that trees know.
template <class F>
class Visiting final : public TreeVisitor {
   public:
    explicit Visiting(F f) : f_(std::move(f)) {}
    using Name = const std::string&;
    void operator()(Name name, long& x) override { f_(name, x); }
    void operator()(Name name, double& x) override { f_(name, x); }
    void operator()(Name name, std::vector<double>& x) override { f_(name, x); }
    void operator()(Name name, std::vector<float>& x) override { f_(name, x); }
    void operator()(Name name, std::vector<std::int32_t>& x) override { f_(name, x); }
    void operator()(Name name, std::vector<std::uint8_t>& x) override { f_(name, x); }
    void operator()(Name name, std::vector<std::uint64_t>& x) override { f_(name, x); }

   private:
    F f_;
};

}  // namespace

/// Rows of numbers and keys.
struct TreesModel::Table {
    Table(const Trees& trees, nb::handle X, nb::handle keys)
        : n(length(X)), d(trees.d), C(trees.C), x(checked(X, 2)) {
        if (length(X, 1) != d) throw nb::value_error("X has the wrong number of columns");
        if (C == 0) return;
        if (!is_plain<std::uint64_t>(keys, 2) || length(keys) != n || length(keys, 1) != C)
            throw nb::value_error("X and the keys of categories do not go together");
        key = data<std::uint64_t>(keys);
    }
    const double* row(long t) const { return x + t * d; }
    const std::uint64_t* keys(long t) const { return key + t * C; }

    /// f(t) for each row, without the GIL; now and then it looks for Ctrl-C.
    template <class F>
    void each(double cost, F&& f) const {
        const long slice = std::max(long(5e7 / cost), 1L);
        for (long t = 0; t < n;) {
            {
                WithoutGil without_gil;
                for (const long end = std::min(t + slice, n); t < end; ++t) f(t);
            }
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
    }

    long n, d, C;
    const double* x;
    const std::uint64_t* key = nullptr;
};

namespace {

void check_example(const Trees& trees, double y, double weight) {
    if (trees.K ? !(y >= 0 && y < double(trees.K) && y == std::floor(y)) : !(std::fabs(y) <= 1e100))
        throw nb::value_error("y has an outcome out of range");
    if (!(weight >= 0 && weight <= 1e12))
        throw nb::value_error("a weight must be between 0 and 1e12");
}

}  // namespace

Array<> TreesModel::predict(Array<> X, Array<std::uint64_t> keys) {
    Use use(*this, Job::predict);
    const Table table(*trees_, X, keys);
    const long outputs = trees_->outputs();
    nb::object out = new_array({table.n, outputs});
    double* p = data(out);
    table.each(trees_->cost(), [&](long t) {
        trees_->read(table.row(t), table.keys(t));
        trees_->predict(p + t * outputs);
    });
    return out;
}

void TreesModel::learn(Array<> X, Array<std::uint64_t> keys, double y, double weight) {
    Use use(*this);
    const Table table(*trees_, X, keys);
    if (table.n != 1) throw nb::value_error("expected one row");
    check_example(*trees_, y, weight);
    trees_->read(table.row(0), table.keys(0));
    trees_->learn(table.row(0), table.keys(0), y, weight);
}

Array<> TreesModel::run(Array<> X, Array<std::uint64_t> keys, Array<> y_, Array<> weight_) {
    Use use(*this);
    const Table table(*trees_, X, keys);
    const double *y = checked(y_), *weight = weight_.is_none() ? nullptr : checked(weight_);
    if (length(y_) != table.n || (weight && length(weight_) != table.n))
        throw nb::value_error("X, y and weight do not go together");
    for (long t = 0; t < table.n; ++t) check_example(*trees_, y[t], weight ? weight[t] : 1);
    const long outputs = trees_->outputs();
    nb::object out = new_array({table.n, outputs});
    double* p = data(out);
    table.each(trees_->cost(), [&](long t) {
        trees_->read(table.row(t), table.keys(t));
        trees_->predict(p + t * outputs);
        trees_->learn(table.row(t), table.keys(t), y[t], weight ? weight[t] : 1);
    });
    return out;
}

void TreesModel::finish() {
    Use use(*this);
    trees_->begin_anew();
    for (bool goes_on = true; goes_on;) {
        {
            WithoutGil without_gil;
            for (long i = 0; i < 100 && goes_on; ++i) goes_on = trees_->work();
        }
        if (PyErr_CheckSignals()) throw nb::python_error();
    }
}

void TreesModel::adopt(TreesModel& other) {
    Use use(*this), other_use(other);
    trees_->adopt(*other.trees_);
}

Array<> TreesModel::gains() {
    Use use(*this);
    return array_of(trees_->gains());
}

RowsOfTrees TreesModel::rows(long first, long most) {
    Use use(*this);
    const TreeRows rows = trees_->rows(first, std::max(most, 0L));
    nb::dict out;
    out["x"] = array_of(rows.x);
    out["keys"] = array_of(rows.keys);
    out["y"] = array_of(rows.y);
    out["weight"] = array_of(rows.weight);
    return out;
}

void TreesModel::set_rows(const RowsOfTrees& from, long steps) {
    Use use(*this);
    TreeRows rows;
    take(from, "x", rows.x);
    take(from, "keys", rows.keys);
    take(from, "y", rows.y);
    take(from, "weight", rows.weight);
    const std::size_t n = rows.y.size();
    if (rows.x.size() != n * std::size_t(trees_->d) ||
        rows.keys.size() != n * std::size_t(trees_->C) || rows.weight.size() != n || steps < 0)
        throw nb::value_error("rows do not go with these trees");
    for (std::size_t t = 0; t < n; ++t) check_example(*trees_, rows.y[t], rows.weight[t]);
    trees_->set_rows(rows, steps);
}

Saved TreesModel::state() {
    Use use(*this);
    nb::dict out;
    Visiting saving([&](const std::string& name, auto& x) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(x)>>)
            out[name.c_str()] = x;
        else
            out[name.c_str()] = array_of(x);
    });
    trees_->visit(saving);
    out["n_categories"] = trees_->C;
    return out;
}

/// All or nothing: when something does not fit, the model is as it was before.
void TreesModel::restore(const Saved& state) {
    Use use(*this);
    const long C = nb::cast<long>(state["n_categories"]);  // a pool lets them come
    if (C < trees_->C) throw nb::value_error("the saved trees have fewer categories");
    auto fresh = make_trees(trees_->d, C, trees_->K);
    Visiting loading([&](const std::string& name, auto& x) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(x)>>)
            x = nb::cast<std::decay_t<decltype(x)>>(state[name.c_str()]);
        else
            take(state, name, x);
    });
    fresh->visit(loading);
    if (!fresh->complete())
        throw nb::value_error("the saved state's contents do not fit this model");
    trees_ = std::move(fresh);
}

void bind_trees(nb::module_& m) {
    using M = TreesModel;
    auto model =
        nb::class_<M>(m, "Trees", "Boosted trees that grow; see core/trees/growing.hpp.")
            .def(nb::init<long, long, long>(), nb::arg("n_numbers"), nb::arg("n_categories"),
                 nb::arg("n_classes"))
            .def("predict", &M::predict, nb::arg("X"), nb::arg("keys").none(),
                 "Probabilities (n, K), or mean and standard deviation (n, 2), of rows of numbers "
                 "and "
                 "keys of categories.")
            .def("learn", &M::learn, nb::arg("X"), nb::arg("keys").none(), nb::arg("y"),
                 nb::arg("weight"), "Learns one row.")
            .def("run", &M::run, nb::arg("X"), nb::arg("keys").none(), nb::arg("y"),
                 nb::arg("weight").none(),
                 "Forecasts of rows, each made before its outcome is learned.")
            .def("finish", &M::finish,
                 "Builds a new ensemble on all rows that are kept, to its end.")
            .def("adopt", &M::adopt, nb::arg("other"),
                 "Takes over what trees of fewer columns or classes have learned.")
            .def("gains", &M::gains, "What splits on each column have gained, numbers first.")
            .def_prop_ro(
                "came", [](M& self) { return self.trees()->came(); }, "Rows that have come.")
            .def_prop_ro(
                "oldest", [](M& self) { return self.trees()->oldest(); },
                "The first of them that is kept.")
            .def("rows", &M::rows, nb::arg("first") = 0, nb::arg("most") = 1L << 62,
                 "Rows that are kept, the oldest first, from the row `first` on.")
            .def("set_rows", &M::set_rows, nb::arg("rows"), nb::arg("steps"),
                 "Puts others in their place, of so many examples.")
            .def_prop_ro(
                "categories", [](M& self) { return self.trees()->C; }, "Columns of categories.")
            .def_prop_ro("steps", &M::steps, "Examples learned.")
            .def_prop_ro(
                "trees", [](M& self) { return self.trees()->trees(); }, "Trees that predict.")
            .def_prop_ro(
                "loss", [](M& self) { return self.trees()->loss(); },
                "The recent loss: nats, or a mean square.")
            .def_prop_ro(
                "bytes", [](M& self) { return self.trees()->bytes(); },
                "Bytes that everything takes.");
    bind_saved(model);
}

}  // namespace MIXABLE_ISA
