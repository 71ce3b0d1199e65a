// What makes rows of records, as Python objects: scaling, landmarks, shapes; and points.
#include "core/inputs/feature_map.hpp"
#include "core/inputs/memory.hpp"
#include "core/inputs/scaler.hpp"
#include "core/inputs/shapes.hpp"
#include "core/numbers/normal.hpp"
#include "core/posterior/shape.hpp"
#include "from_python.hpp"
#include "module.hpp"
#include "saved.hpp"

namespace MIXABLE_ISA {

/// As in core/forecasters.hpp, whose rules and states this unit does not need.
Structure structure_called(const std::string& name);

namespace {

struct NamedArrays {
    static constexpr auto name = nb::detail::const_name("dict[str, NDArray[np.float64]]");
};
using Arrays = As<NamedArrays, nb::dict>;

/// Scaled rows (n, views * width) of a table, or (views * width) of one row; `learns` says whether
/// they are learned.
Array<> scaled(Scaler& scaler, nb::handle X, bool learns, nb::handle weight) {
    const bool one = is_plain(X, 1);
    const double* x = checked(X, one ? 1 : 2);
    const long n = one ? 1 : length(X), columns = scaler.views * scaler.width;
    if (length(X, one ? 0 : 1) != scaler.d)
        throw nb::value_error("X has the wrong number of columns");
    const double* w = weight.is_none() ? nullptr : checked(weight);
    if (w && length(weight) != n) throw nb::value_error("weight has the wrong length");
    Array<> out = one ? new_array({columns}) : new_array({n, columns});
    double* z = data(out);
    for (long t = 0; t < n; ++t)
        if (learns && (!w || w[t] > 0))
            scaler.learn(x + t * scaler.d, z + t * columns);
        else
            scaler.transform(x + t * scaler.d, z + t * columns);
    return out;
}

/// The numbers of a dictionary x in the order of the columns, if it has these, no others, and each
/// is a finite float or int; else None.
nb::object plain_row(nb::handle columns, nb::handle x) {
    if (!PyDict_Check(columns.ptr())) throw nb::type_error("expected a dictionary of columns");
    const Py_ssize_t n = PyDict_Size(columns.ptr());
    if (!PyDict_CheckExact(x.ptr()) || PyDict_Size(x.ptr()) != n) return nb::none();
    nb::object out = new_array({n});
    double* row = data(out);
    PyObject* name = nullptr;
    Py_ssize_t at = 0, filled = 0;
    while (PyDict_Next(columns.ptr(), &at, &name, nullptr) && filled < n) {
        const nb::object key = nb::borrow(name);  // to compare names may run Python code
        PyObject* value = outliving([&] { return PyDict_GetItemWithError(x.ptr(), key.ptr()); });
        if (value && PyFloat_CheckExact(value))
            row[filled] = PyFloat_AsDouble(value);
        else if (value && PyLong_CheckExact(value))
            row[filled] = PyLong_AsDouble(value);
        if (PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw nb::python_error();
            PyErr_Clear();
            return nb::none();
        }
        const bool is_number = value && (PyFloat_CheckExact(value) || PyLong_CheckExact(value));
        if (!is_number || !std::isfinite(row[filled])) return nb::none();
        ++filled;
    }
    return filled == n ? out : nb::none();
}

/// Features (n, m) of rows (n, d); rows that count may become landmarks, if that is said.
Array<> features(Landmarks& map, nb::handle X, nb::handle counts) {
    const double* x = checked(X, 2);
    const long n = length(X);
    if (length(X, 1) != map.d) throw nb::value_error("X has the wrong number of columns");
    Array<> out = new_array({n, map.m});
    if (counts.is_none()) {
        map.transform_many(x, n, data(out));
        return out;
    }
    if (!is_plain<bool>(counts, 1) || length(counts) != n)
        throw nb::type_error("expected a truth for each row");
    map.learn_many(x, data<bool>(counts), n, data(out));
    return out;
}

void bind_landmarks(nb::module_& m) {
    nb::class_<FeatureMap>(m, "FeatureMap",
                           "Features of scaled inputs; see core/inputs/landmarks.hpp.");
    nb::class_<Waves, FeatureMap>(m, "Waves",
                                  "Random Fourier features; see core/inputs/feature_map.hpp.")
        .def(
            "__init__",
            [](Waves* self, Array<> frequencies, Array<> phases) {
                const double *F = checked(frequencies, 2), *phase = checked(phases);
                if (length(phases) != length(frequencies, 1))
                    throw nb::value_error("frequencies and phases do not go together");
                new (self) Waves(length(frequencies), length(phases), F, phase);
            },
            nb::arg("frequencies"), nb::arg("phases"));
    nb::class_<Landmarks, FeatureMap>(m, "Landmarks",
                                      "Features by landmarks; see core/inputs/landmarks.hpp.")
        .def(
            "__init__",
            [](Landmarks* self, long d, long most, double gamma, double tolerance) {
                new (self) Landmarks(d, most, gamma, tolerance, scipy_blas());
            },
            nb::arg("n_features"), nb::arg("most"), nb::arg("gamma"), nb::arg("tolerance"))
        .def(
            "weigh",
            [](Landmarks& self, Array<> weights) {
                const double* each = checked(weights);
                if (length(weights) != self.d) throw nb::value_error("one weight a column");
                self.weigh(each);
            },
            nb::arg("weights"), "Multiplies each column of all inputs from now on.")
        .def(
            "transform", [](Landmarks& self, Array<> X) { return features(self, X, nb::none()); },
            nb::arg("X"), "The features of each row, as if it were the next.")
        .def(
            "learn",
            [](Landmarks& self, Array<> X, Array<bool> counts) {
                return features(self, X, counts);
            },
            nb::arg("X"), nb::arg("counts"),
            "The features of rows one after the other; those that count may become landmarks.")
        .def(
            "arrays",
            [](const Landmarks& self) {
                const long r = self.count();
                Array<> landmarks = new_array({r, self.d}), factor = new_array({r, r});
                self.write(data(landmarks), data(factor));
                return Tuple<Array<>, Array<>>(nb::make_tuple(landmarks, factor));
            },
            "The landmarks (r, d) and the Cholesky factor (r, r) of their kernel matrix.")
        .def(
            "set",
            [](Landmarks& self, Array<> landmarks, Array<> factor) {
                const double *at = checked(landmarks, 2), *L = checked(factor, 2);
                const long r = length(landmarks), d = length(landmarks, 1);
                if (length(factor) != r || length(factor, 1) != r || r > self.m || d > self.d)
                    throw nb::value_error("landmarks and factor do not fit");
                self.set(at, L, r, d);
            },
            nb::arg("landmarks"), nb::arg("factor"),
            "Takes over landmarks, perhaps of fewer features, and their factor.")
        .def(
            "adopt",
            [](Landmarks& self, const Landmarks& other) {
                if (other.count() > self.m || other.d > self.d)
                    throw nb::value_error("landmarks do not fit");
                self.adopt(other);
            },
            nb::arg("other"), "The same from another map.");
}

void bind_shapes(nb::module_& m) {
    nb::class_<Shapes>(m, "Shapes", "Sparse features of numbers; see core/inputs/shapes.hpp.")
        .def(nb::init<bool, bool, bool, std::vector<double>, long, long, long, bool>(),
             nb::arg("takes_features"), nb::arg("takes_crosses"), nb::arg("linear"),
             nb::arg("bins"), nb::arg("trees"), nb::arg("depth"), nb::arg("numbers"),
             nb::arg("whole"))
        .def(
            "features",
            [](const Shapes& self, Array<> x, Array<> z) {
                const double *raw = checked(x), *scaled = checked(z);
                if (length(x) != length(z)) throw nb::value_error("x and z do not go together");
                std::vector<std::uint64_t> keys;
                std::vector<double> values;
                self.add(raw, scaled, length(x), nullptr, keys, values);
                return std::make_tuple(keys, values);
            },
            nb::arg("x"), nb::arg("z"), "Keys and values of a row of numbers x, scaled to z.");
}

void bind_memory(nb::module_& m) {
    nb::class_<Memory>(m, "Memory", "The labels before; see core/inputs/memory.hpp.")
        .def(nb::init<>())
        .def_prop_ro(
            "numbers", [](const Memory& self) { return array_of(self.numbers()); },
            "What it knows of each class.")
        .def(
            "restore",
            [](Memory& self, Array<> numbers) {
                const double* x = checked(numbers);
                if (!self.restore({x, x + length(numbers)}))
                    throw nb::value_error("the saved labels do not fit this model");
            },
            nb::arg("numbers"), "Goes on from such numbers.")
        .def_static(
            "keys",
            [](long classes) {
                std::vector<std::uint64_t> out;
                for (long i = 0; i < classes * Memory::width; ++i)
                    out.push_back(Memory::key(i / Memory::width, i % Memory::width));
                return out;
            },
            nb::arg("classes"), "The keys of its numbers.");
}

void bind_scaler(nb::module_& m) {
    nb::class_<Scaler>(m, "Scaler", "Causal standardisation; see core/inputs/scaler.hpp.")
        .def(nb::init<long, bool, bool, long, bool, bool, double>(), nb::arg("n_features"),
             nb::arg("intercept"), nb::arg("standardize"), nb::arg("views"),
             nb::arg("logarithms") = false, nb::arg("anchored") = false, nb::arg("bend") = 1.0)
        .def(
            "transform", [](Scaler& self, Array<> X) { return scaled(self, X, false, nb::none()); },
            nb::arg("X"), "Each row scaled as if it were the next.")
        .def(
            "learn",
            [](Scaler& self, Array<> X, Array<> weight) { return scaled(self, X, true, weight); },
            nb::arg("X"), nb::arg("weight").none() = nb::none(),
            "Each row scaled and learned in turn; those of weight 0 are only scaled.")
        .def(
            "moments",
            [](const Scaler& self) {
                Array<> out = new_array({2, self.d});
                self.moments(data(out), data(out) + self.d);
                return out;
            },
            "Mean and standard deviation of each feature: two rows.")
        .def("hold", &Scaler::hold,
             "Rows are scaled by the statistics as they are, while these go on.")
        .def("release", &Scaler::release, "Rows are scaled by all statistics again.")
        .def(
            "adopt",
            [](Scaler& self, const Scaler& other) {
                if (other.d > self.d) throw nb::value_error("the other scaler has more features");
                self.adopt(other);
            },
            nb::arg("other"), "Takes over the statistics of fewer features.")
        .def(
            "state", [](Scaler& self) { return Arrays(saved_of(self)); }, "The statistics.")
        .def(
            "restore",
            [](Scaler& self, const Arrays& state) {
                nb::dict whole;
                whole["early"] = new_array(
                    {self.d,
                     Scaler::kept});  // the first models that were saved did not keep early entries
                std::fill_n(data(whole["early"]), self.d * Scaler::kept, std::nan(""));
                whole["sizes"] = new_array({self.d, 3L});  // nor sizes
                std::fill_n(data(whole["sizes"]), self.d * 3, 0.0);
                whole.update(state);
                Scaler saved = self.empty();
                if (whole.contains("held")) saved.expect_held();
                if (whole.contains("units")) saved.expect_units();
                if (whole.contains("heavy")) saved.expect_heavy();
                LoadingArrays loading(whole, true, true);
                saved.visit(loading);
                if (!saved.sound())
                    throw nb::value_error(
                        "the saved statistics are not some that a scaler can have");
                self.adopt(saved);
            },
            nb::arg("state"), "Takes over what state() returned.");
}

}  // namespace

void bind_inputs(nb::module_& m) {
    bind_scaler(m);
    bind_landmarks(m);
    bind_shapes(m);
    bind_memory(m);
    m.def("plain_row", &plain_row, nb::arg("columns"), nb::arg("x").none(),
          nb::sig("def plain_row(columns: dict[Any, int], x: Any) -> NDArray[np.float64] | None"),
          "The numbers of a dictionary in the order of the columns, if it has these, no others, "
          "and each is a finite float or int.");
    m.def(
        "posterior_bytes",
        [](long k, long d, long rank, bool drift, const std::string& structure) {
            PosteriorShape shape{k, d, rank, 1.0, drift ? 1.0 : 0.0};
            shape.structure = structure_called(structure);
            return shape.bytes();
        },
        nb::arg("k"), nb::arg("d"), nb::arg("rank"), nb::arg("drift"),
        nb::arg("structure") = "full", "Bytes that the matrices of a posterior of this size take.");
    m.def(
        "normal_points",
        [](std::uint64_t seed, std::uint64_t step, long k, long count) {
            Array<> out = new_array({k, count});
            normal_points(seed, step, k, count, data(out), count);
            return out;
        },
        nb::arg("seed"), nb::arg("step"), nb::arg("k"), nb::arg("m"),
        "The random points (k, m) that MonteCarlo uses at a step.");
    m.def(
        "normal_quantile",
        [](Array<> u) {
            const double* p = checked(u);
            const long n = length(u);
            Array<> out = new_array({n});
            for (long i = 0; i < n; ++i) data(out)[i] = normal_quantile(p[i]);
            return out;
        },
        nb::arg("u"), "The standard normal quantile of each entry of (0, 1).");
}

}  // namespace MIXABLE_ISA
