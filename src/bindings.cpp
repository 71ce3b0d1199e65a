// mixable._core: the compiled core as Python sees it.
#include "core/auto_rules.hpp"
#include "core/class_rules.hpp"
#include "core/folklore.hpp"
#include "core/gaf.hpp"
#include "core/gradient.hpp"
#include "core/ons.hpp"
#include "core/scalar_rules.hpp"
#include "core/scaler.hpp"
#include "events.hpp"
#include "from_python.hpp"
#include "model.hpp"
#include "pooled_model.hpp"
#include "records.hpp"
#include "sparse_model.hpp"

namespace {

using GafModel = Model<Forecaster<GafRule>>;
using FolkloreModel = Model<Forecaster<FolkloreRule>>;
using StructuredGafModel = Model<Forecaster<ClassGafRule, State>>;
using StructuredFolkloreModel = Model<Forecaster<ClassFolkloreRule, State>>;
using OnsModel = Model<Forecaster<OnsRule>>;
using AioliModel = Model<Forecaster<AioliRule>>;
using VawModel = Model<Forecaster<VawRule>>;
using AutoRidgeModel = Model<Ensemble<NormalFamily>>;
using OgdModel = Model<Forecaster<OgdRule, GradientState>>;

/// What all models have in common; the constructor is the caller's to add.
template <class M>
nb::class_<M> bind(nb::module_& m, const char* name, const char* doc) {
    constexpr bool labels = std::is_same_v<typename M::Outcome, long>;
    auto model = nb::class_<M>(m, name, doc);
    model
        .def("predict", &M::predict, nb::arg("x").none(),
             nb::sig("def predict(self, x: ArrayLike) -> NDArray[np.float64]"),
             "The forecast of one input (d,), or one row each for a table (n, d).")
        .def("learn", &M::learn, nb::arg("x").none(), nb::arg("y").none(),
             nb::arg("weight").none() = 1.0,
             labels
                 ? nb::sig("def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) "
                           "-> None")
                 : nb::sig("def learn(self, x: ArrayLike, y: float, weight: float = 1.0) -> None"),
             "Learns one example.")
        .def("run", &M::run, nb::arg("X"), nb::arg("y"), nb::arg("weight").none(),
             labels ? nb::sig("def run(self, X: NDArray[np.float64], y: NDArray[np.int_], weight: "
                              "NDArray[np.float64] | None) -> NDArray[np.float64]")
                    : nb::sig("def run(self, X: NDArray[np.float64], y: NDArray[np.float64], "
                              "weight: NDArray[np.float64] | None) -> NDArray[np.float64]"),
             "Predicts and learns row by row; the arrays must have been validated.")
        .def("adopt", &M::adopt, nb::arg("other"), nb::sig("def adopt(self, other: Self) -> None"),
             "Takes over what a model of the same kind with fewer classes or features has learned.")
        .def("mean", &M::mean, nb::sig("def mean(self) -> NDArray[np.float64]"), "V (k, d).")
        .def_prop_ro("steps", &M::steps, nb::sig("def steps(self, /) -> int"), "Examples learned.")
        .def_prop_ro("largest_square", &M::largest_square,
                     nb::sig("def largest_square(self, /) -> float"),
                     "The largest |x|^2 that is not refused.")
        .def("state", &M::state,
             nb::sig("def state(self) -> dict[str, int | float | NDArray[np.float64]]"),
             "All that learning has changed; changes nothing.")
        .def("restore", &M::restore, nb::arg("state"),
             nb::sig(
                 "def restore(self, state: dict[str, int | float | NDArray[np.float64]]) -> None"),
             "Takes over what state() of a model of the same shape returned.");
    if constexpr (labels)
        model
            .def("follow", &M::follow, nb::arg("scaler"), nb::arg("X"), nb::arg("y"),
                 nb::sig("def follow(self, scaler: Scaler, X: NDArray[np.float64], y: "
                         "NDArray[np.int_]) -> tuple[NDArray[np.float64], int, str | None]"),
                 "Predicts raw rows one after the other and learns those with a label >= 0; "
                 "returns forecasts, rows done, why it stopped before the end.")
            .def("predict_raw", &M::predict_raw, nb::arg("scaler"), nb::arg("x"),
                 nb::sig("def predict_raw(self, scaler: Scaler, x: NDArray[np.float64]) -> "
                         "NDArray[np.float64]"),
                 "The forecast of one raw row.")
            .def("learn_raw", &M::learn_raw, nb::arg("scaler"), nb::arg("x"), nb::arg("y"),
                 nb::arg("weight"),
                 nb::sig("def learn_raw(self, scaler: Scaler, x: NDArray[np.float64], y: int, "
                         "weight: float) -> None"),
                 "Learns one raw row, and so does the scaler unless the weight is 0.");
    if constexpr (M::has_posterior)
        model.def("feature_covariances", &M::feature_covariances,
                  nb::sig("def feature_covariances(self) -> NDArray[np.float64]"),
                  "The blocks (d, k, k) of A^-1 that belong to one feature each; of ensembles, of "
                  "the weights' covariance.");
    if constexpr (M::has_posterior && !M::is_ensemble)
        model.def("covariance", &M::covariance,
                  nb::sig("def covariance(self) -> NDArray[np.float64]"),
                  "A^-1 (D, D); with structure, the matrices that it consists of.");
    if constexpr (M::is_full)
        model
            .def("precision", &M::precision, nb::sig("def precision(self) -> NDArray[np.float64]"),
                 "A (D, D) as accumulated, for drift = 0.")
            .def("set_mean", &M::set_mean, nb::arg("mean"),
                 nb::sig("def set_mean(self, mean: NDArray[np.float64]) -> None"),
                 "Replaces V; A stays.");
    if constexpr (M::is_ensemble)
        model
            .def("weights", &M::weights, nb::sig("def weights(self) -> NDArray[np.float64]"),
                 "The trust in each expert, and whether it is awake: two rows.")
            .def("components", &M::components, nb::arg("x"),
                 nb::sig("def components(self, x: NDArray[np.float64]) -> NDArray[np.float64]"),
                 "The readings of x by the experts that are awake, one row each, after their "
                 "weight.")
            .def_prop_ro("scale", &M::scale, nb::sig("def scale(self, /) -> float"),
                         "The mean square that inputs are measured by; 0 before the first.")
            .def_prop_ro("score", &M::score, nb::sig("def score(self, /) -> float"),
                         "The log score of the example learned last, without 2 pi; 0 at first.")
            .def_prop_ro("seconds", &M::seconds, nb::sig("def seconds(self, /) -> float"),
                         "About how long a step takes.");
    return model;
}

void bind_sparse(nb::module_& m) {
    using M = SparseModel;
    nb::class_<M>(m, "Sparse", "See mixable.SparseGAF; rows are arrays of keys and values.")
        .def(nb::init<long, const std::vector<std::tuple<double, double>>&,
                      const std::vector<double>&, double, long>(),
             nb::arg("n_classes"), nb::arg("grid"), nb::arg("alphas"), nb::arg("share"),
             nb::arg("max_features"),
             nb::sig("def __init__(self, n_classes: int, grid: Sequence[tuple[float, "
                     "float]], alphas: Sequence[float], share: float, max_features: int) -> None"))
        .def("predict", &M::predict, nb::arg("keys"), nb::arg("values"),
             nb::sig("def predict(self, keys: NDArray[np.uint64], values: NDArray[np.float64]) -> "
                     "NDArray[np.float64]"),
             "The forecast (K,) of one row.")
        .def("predict_many", &M::predict_many, nb::arg("start"), nb::arg("keys"), nb::arg("values"),
             nb::sig("def predict_many(self, start: NDArray[np.int_], keys: NDArray[np.uint64], "
                     "values: NDArray[np.float64]) -> NDArray[np.float64]"),
             "The forecasts (n, K) of n rows; row t has the entries start[t] to start[t + 1].")
        .def("learn", &M::learn, nb::arg("keys"), nb::arg("values"), nb::arg("y"),
             nb::arg("weight"),
             nb::sig("def learn(self, keys: NDArray[np.uint64], values: NDArray[np.float64], y: "
                     "int, weight: float) -> None"),
             "Learns one example.")
        .def("run", &M::run, nb::arg("start"), nb::arg("keys"), nb::arg("values"), nb::arg("y"),
             nb::arg("weight").none(),
             nb::sig("def run(self, start: NDArray[np.int_], keys: NDArray[np.uint64], values: "
                     "NDArray[np.float64], y: NDArray[np.int_], weight: NDArray[np.float64] | "
                     "None) -> NDArray[np.float64]"),
             "Predicts and learns row by row.")
        .def("coefficients", &M::coefficients, nb::arg("keys"),
             nb::sig("def coefficients(self, keys: NDArray[np.uint64]) -> NDArray[np.float64]"),
             "Means and standard deviations (2, n, K) of the weights of n keys.")
        .def("intercept", &M::intercept, nb::sig("def intercept(self) -> NDArray[np.float64]"),
             "Mean and standard deviation (2, K) of the intercept.")
        .def("trust", &M::trust, nb::sig("def trust(self) -> NDArray[np.float64]"),
             "The trust in each expert: the settings at the first width, then at the next.")
        .def("adopt", &M::adopt, nb::arg("other"), nb::sig("def adopt(self, other: Self) -> None"),
             "Takes over what a model of the same kind with fewer classes has learned.")
        .def("keys", &M::keys, nb::sig("def keys(self) -> NDArray[np.uint64]"),
             "The keys that have slots of their own, in the order in which they came.")
        .def_prop_ro("steps", &M::steps, nb::sig("def steps(self, /) -> int"), "Examples learned.")
        .def_prop_ro("features", &M::features, nb::sig("def features(self, /) -> int"),
                     "Keys that have slots of their own.")
        .def_prop_ro("most_features", &M::most_features,
                     nb::sig("def most_features(self, /) -> int"), "How many there can be.")
        .def_prop_ro("collisions", &M::collisions, nb::sig("def collisions(self, /) -> int"),
                     "How often a feature was learned in the slot of another.")
        .def_prop_ro("bytes", &M::bytes, nb::sig("def bytes(self, /) -> float"),
                     "Bytes that the slots, the keys and their table take.")
        .def_prop_ro("scale", &M::scale, nb::sig("def scale(self, /) -> float"),
                     "The mean square that values are measured by; 0 before the first.")
        .def("state", &M::state,
             nb::sig("def state(self) -> dict[str, int | float | NDArray[Any]]"),
             "All that learning has changed; changes nothing.")
        .def("restore", &M::restore, nb::arg("state"),
             nb::sig("def restore(self, state: dict[str, int | float | NDArray[Any]]) -> None"),
             "Takes over what state() of a model of the same shape returned.");
}

std::unique_ptr<Posterior> posterior(const PosteriorShape& shape) {
    return std::make_unique<Posterior>(shape, scipy_blas());
}

Structure structure_from(const std::string& name) {
    if (name == "full") return Structure::full;
    if (name == "blocks") return Structure::blocks;
    if (name == "shared") return Structure::shared;
    if (name == "diagonal") return Structure::diagonal;
    throw nb::value_error(("no structure is called " + name).c_str());
}

/// The shape of a posterior of K classes. With structure it is in the coordinates of the classes;
/// of two classes, blocks that are not asked to be apart are one, and the full posterior is it.
PosteriorShape shape_for(long K, long d, double lam, double drift, Structure structure,
                         bool apart = true) {
    const bool one = !apart && K == 2 && structure != Structure::diagonal;
    if (structure == Structure::full || one) return {K - 1, d, K - 1, lam, drift};
    return {K, d, 0, lam, drift, 0, 0, structure};
}

/// If nothing is said, members that cost little never sleep; full ones beside others do, when they
/// do not pay.
void say_who_tires(std::vector<Plan<long>>& plans, std::optional<bool> sleep) {
    constexpr double much = 1e5;
    const bool mixed = std::any_of(plans.begin(), plans.end(), [](const Plan<long>& plan) {
        return plan.shape.structure != Structure::full;
    });
    for (Plan<long>& plan : plans)
        plan.tires = sleep.value_or(plan.shape.cost() > much ||
                                    (mixed && plan.shape.structure == Structure::full));
}

/// Scaled rows (n, views * width) of a table, or (views * width) of one row; `learns` says whether
/// they are learned.
nb::object scaled(Scaler& scaler, nb::handle X, bool learns, nb::handle weight) {
    const bool one = is_plain(X, NPY_DOUBLE, 1);
    const double* x = checked(X, one ? 1 : 2);
    const long n = one ? 1 : length(X), columns = scaler.views * scaler.width;
    if (length(X, one ? 0 : 1) != scaler.d)
        throw nb::value_error("X has the wrong number of columns");
    const double* w = weight.is_none() ? nullptr : checked(weight, 1);
    if (w && length(weight) != n) throw nb::value_error("weight has the wrong length");
    nb::object out = one ? new_array({columns}) : new_array({n, columns});
    double* z = data(out);
    for (long t = 0; t < n; ++t)
        if (learns && (!w || w[t] > 0))
            scaler.learn(x + t * scaler.d, z + t * columns);
        else
            scaler.transform(x + t * scaler.d, z + t * columns);
    return out;
}

/// Features (n, m) of rows (n, d); rows that count may become landmarks, if that is said.
nb::object features(Landmarks& map, nb::handle X, nb::handle counts) {
    const double* x = checked(X, 2);
    const long n = length(X);
    if (length(X, 1) != map.d) throw nb::value_error("X has the wrong number of columns");
    nb::object out = new_array({n, map.m});
    if (counts.is_none()) {
        map.transform_many(x, n, data(out));
        return out;
    }
    if (!is_plain(counts, NPY_BOOL, 1) || length(counts) != n)
        throw nb::type_error("expected a truth for each row");
    map.learn_many(x, data<bool>(counts), n, data(out));
    return out;
}

}  // namespace

NB_MODULE(MIXABLE_MODULE, m) {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    WithoutGil::wait_for_all_at_exit();
    // A daemon thread never gives back what it held when Python ended.
    nb::set_leak_warnings(false);
    m.doc() = "The compiled core of mixable.";
    m.attr("isa") = MIXABLE_STRING(MIXABLE_ISA);
    m.attr("vector_width") = W;
    m.attr("compiler") = __VERSION__;

    bind<GafModel>(m, "GAF", "See mixable.GAF; in K - 1 coordinates.")
        .def(
            "__init__",
            [](GafModel* self, long d, long K, double lam, double beta, double alpha, double mu,
               double drift, const nb::list& ladder, long block, long period, long surrogate,
               const nb::list& averages) {
                new (self) GafModel(posterior({K - 1, d, K - 1, lam, drift, block, period}), K,
                                    beta, alpha, mu, ladder_from(ladder, K - 1),
                                    Surrogate(surrogate), ladder_from(averages, K - 1));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("lam"), nb::arg("beta"),
            nb::arg("alpha"), nb::arg("mu"), nb::arg("drift"), nb::arg("ladder"),
            nb::arg("block") = 0, nb::arg("period") = 0, nb::arg("surrogate") = 0,
            nb::arg("averages") = nb::list(),
            nb::sig("def __init__(self, n_features: int, n_classes: int, lam: float, beta: float, "
                    "alpha: float, mu: float, drift: float, ladder: list[Rung], block: int = 0, "
                    "period: int = 0, surrogate: int = 0, averages: list[Rung] = []) -> None"));
    bind<FolkloreModel>(m, "Folklore", "See mixable.Folklore; in K - 1 coordinates.")
        .def(
            "__init__",
            [](FolkloreModel* self, long d, long K, double lam, double beta, double drift) {
                new (self) FolkloreModel(posterior({K - 1, d, K - 1, lam, drift}), K, beta);
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("lam"), nb::arg("beta"),
            nb::arg("drift"));
    bind<StructuredGafModel>(m, "StructuredGAF", "See mixable.GAF; a coordinate for each class.")
        .def(
            "__init__",
            [](StructuredGafModel* self, long d, long K, const std::string& structure, double lam,
               double beta, double alpha, double mu, double drift, long block, long period) {
                PosteriorShape shape = shape_for(K, d, lam, drift, structure_from(structure));
                shape.block = block;
                shape.period = period;
                new (self) StructuredGafModel(make_state(shape, scipy_blas()), K, beta, alpha, mu,
                                              shape.structure == Structure::shared);
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("structure"), nb::arg("lam"),
            nb::arg("beta"), nb::arg("alpha"), nb::arg("mu"), nb::arg("drift"),
            nb::arg("block") = 0, nb::arg("period") = 0);
    bind<StructuredFolkloreModel>(m, "StructuredFolklore",
                                  "See mixable.Folklore; a coordinate for each class.")
        .def(
            "__init__",
            [](StructuredFolkloreModel* self, long d, long K, const std::string& structure,
               double lam, double beta, double drift) {
                const PosteriorShape shape = shape_for(K, d, lam, drift, structure_from(structure));
                new (self) StructuredFolkloreModel(make_state(shape, scipy_blas()), K, beta,
                                                   shape.structure == Structure::shared);
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("structure"), nb::arg("lam"),
            nb::arg("beta"), nb::arg("drift"));
    bind<OnsModel>(m, "ONS", "See mixable.ONS; in K - 1 coordinates, no projection.")
        .def(
            "__init__",
            [](OnsModel* self, long d, long K, double lam, double beta) {
                new (self) OnsModel(posterior({K - 1, d, 1, lam, 0.0}), K, beta);
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("lam"), nb::arg("beta"));
    bind<AioliModel>(m, "AIOLI", "See mixable.AIOLI; in margin coordinates.")
        .def(
            "__init__",
            [](AioliModel* self, long d, double lam, double scale, double virtual_weight) {
                new (self) AioliModel(posterior({1, d, 1, lam, 0.0}), scale, virtual_weight);
            },
            nb::arg("n_features"), nb::arg("lam"), nb::arg("scale"), nb::arg("virtual_weight"));
    bind<VawModel>(m, "VAW", "See mixable.VAW.")
        .def(
            "__init__",
            [](VawModel* self, long d, double lam, double drift) {
                new (self) VawModel(posterior({1, d, 1, lam, drift}));
            },
            nb::arg("n_features"), nb::arg("lam"), nb::arg("drift"));
    bind<OgdModel>(m, "OGD",
                   "See mixable.OGD; in K - 1 coordinates. A radius of 0 means no projection.")
        .def(
            "__init__",
            [](OgdModel* self, long d, long K, double rate, bool fixed, double radius) {
                new (self)
                    OgdModel(std::make_unique<GradientState>(K - 1, d, radius), K, rate, fixed);
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("rate"), nb::arg("fixed"),
            nb::arg("radius"));

    bind_sparse(m);
    bind<AutoGafModel>(m, "AutoGAF", "See mixable.AutoGAF; in K - 1 coordinates.")
        .def(
            "__init__",
            [](AutoGafModel* self, long d, long K, const nb::list& grid,
               const std::vector<double>& alphas, const nb::tuple& guard, double mu, double scale,
               double share, std::optional<bool> sleep, long threads, const nb::list& ladder,
               long views) {
                std::vector<Plan<long>> plans;
                const auto rungs = ladder_from(ladder, K - 1);
                for (nb::handle item : grid) {
                    const auto [lam, beta, drift, view, always_awake, awake, structure] =
                        nb::cast<std::tuple<double, double, double, long, bool, bool, std::string>>(
                            item);
                    const PosteriorShape shape =
                        shape_for(K, d, lam, drift, structure_from(structure), false);
                    std::unique_ptr<Readings<long>> readings;
                    if (shape.structure == Structure::full)
                        readings = std::make_unique<GafReadings<GafRule>>(
                            GafRule(K, beta, 1.0, mu, rungs), alphas);
                    else
                        readings = std::make_unique<GafReadings<ClassGafRule>>(
                            ClassGafRule(K, beta, 1.0, mu, shape.structure == Structure::shared),
                            alphas);
                    plans.push_back({shape, std::move(readings), always_awake, view, awake});
                }
                say_who_tires(plans, sleep);
                if (guard.size() == 3) {
                    const auto [kind, first, second] =
                        nb::cast<std::tuple<std::string, double, double>>(guard);
                    PosteriorShape shape = shape_for(K, d, 1.0, 0.0, Structure::full);
                    std::unique_ptr<Readings<long>> readings;
                    if (kind == "gradient") {
                        shape.structure = Structure::gradient;
                        shape.radius = first;
                        readings =
                            std::make_unique<GuardReadings<OgdRule>>(OgdRule(K, second, false));
                    } else {
                        shape.lam = first;
                        readings =
                            std::make_unique<GuardReadings<FolkloreRule>>(FolkloreRule(K, second));
                    }
                    plans.push_back({shape, std::move(readings), true});
                }
                new (self) AutoGafModel(
                    d, scipy_blas(),
                    Ensemble<ClassFamily>::Options{scale, share, sleep.value_or(true), threads},
                    ClassFamily(K), std::move(plans), views);
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("grid"), nb::arg("alphas"),
            nb::arg("guard"), nb::arg("mu"), nb::arg("scale"), nb::arg("share"), nb::arg("sleep"),
            nb::arg("threads"), nb::arg("ladder"), nb::arg("views"),
            nb::sig("def __init__(self, n_features: int, n_classes: int, grid: list[tuple[float, "
                    "float, float, int, bool, bool, str]], alphas: list[float], "
                    "guard: tuple[str, float, float] | tuple[()], mu: float, scale: float, share: "
                    "float, sleep: bool | None, threads: int, ladder: list[Rung], views: int) "
                    "-> None"));
    bind<AutoRidgeModel>(m, "AutoRidge", "See mixable.AutoRidge.")
        .def(
            "__init__",
            [](AutoRidgeModel* self, long d, const nb::list& grid,
               const std::vector<double>& noises, const std::vector<double>& tails, double scale,
               double share, bool sleep, long threads, long views) {
                std::vector<Plan<double>> plans;
                for (nb::handle item : grid) {
                    const auto [lam, drift, robust, view, always_awake, awake] =
                        nb::cast<std::tuple<double, double, bool, long, bool, bool>>(item);
                    auto readings = std::make_unique<RidgeReadings>(noises, tails, robust);
                    plans.push_back({PosteriorShape{1, d, 1, lam, drift}, std::move(readings),
                                     always_awake, view, awake});
                }
                new (self) AutoRidgeModel(
                    d, scipy_blas(), Ensemble<NormalFamily>::Options{scale, share, sleep, threads},
                    NormalFamily(), std::move(plans), views);
            },
            nb::arg("n_features"), nb::arg("grid"), nb::arg("noises"), nb::arg("tails"),
            nb::arg("scale"), nb::arg("share"), nb::arg("sleep"), nb::arg("threads"),
            nb::arg("views"),
            nb::sig("def __init__(self, n_features: int, grid: list[tuple[float, float, bool, int, "
                    "bool, bool]], noises: list[float], tails: list[float], scale: float, share: "
                    "float, "
                    "sleep: bool, threads: int, views: int) -> None"));

    bind<JudgeModel>(m, "Judge", "See mixable.Pool; an input is the forecasts (N K) of N experts.")
        .def(nb::init<long, long, double, double, double, double, double>(), nb::arg("n_experts"),
             nb::arg("n_classes"), nb::arg("lam"), nb::arg("drift"), nb::arg("smoothing"),
             nb::arg("share"), nb::arg("least_gain") = 0.005)
        .def("trust", &JudgeModel::trust, nb::sig("def trust(self) -> NDArray[np.float64]"),
             "The trust in two readings of each pool, then in the experts.")
        .def(
            "review",
            [](JudgeModel& self) {
                const JudgeModel::Use use(self);
                self.core().rest().review();
            },
            "Decides whether all but the first expert rest; to be called every PERIOD steps.")
        .def(
            "add_alone",
            [](JudgeModel& self, long steps) {
                const JudgeModel::Use use(self);
                self.core().rest().add_alone(steps);
            },
            nb::arg("steps"), "Counts steps of the first expert by itself.")
        .def_prop_ro(
            "is_resting", [](JudgeModel& self) { return self.core().rest().is_resting(); },
            nb::sig("def is_resting(self, /) -> bool"), "Whether all but the first expert rest.");
    m.attr("PERIOD") = Rest::period;

    nb::class_<Landmarks>(m, "Landmarks", "Features by landmarks; see core/landmarks.hpp.")
        .def(nb::init<long, long, double, double>(), nb::arg("n_features"), nb::arg("most"),
             nb::arg("gamma"), nb::arg("tolerance"))
        .def(
            "transform",
            [](Landmarks& self, nb::handle X) { return features(self, X, nb::none()); },
            nb::arg("X"),
            nb::sig("def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]"),
            "The features of each row, as if it were the next.")
        .def(
            "learn",
            [](Landmarks& self, nb::handle X, nb::handle counts) {
                return features(self, X, counts);
            },
            nb::arg("X"), nb::arg("counts"),
            nb::sig("def learn(self, X: NDArray[np.float64], counts: NDArray[np.bool_]) -> "
                    "NDArray[np.float64]"),
            "The features of rows one after the other; those that count may become landmarks.")
        .def(
            "arrays",
            [](const Landmarks& self) {
                const long r = self.count();
                nb::object landmarks = new_array({r, self.d}), factor = new_array({r, r});
                self.write(data(landmarks), data(factor));
                return nb::make_tuple(landmarks, factor);
            },
            nb::sig("def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]"),
            "The landmarks (r, d) and the Cholesky factor (r, r) of their kernel matrix.")
        .def(
            "set",
            [](Landmarks& self, nb::handle landmarks, nb::handle factor) {
                const double *at = checked(landmarks, 2), *L = checked(factor, 2);
                const long r = length(landmarks), d = length(landmarks, 1);
                if (length(factor) != r || length(factor, 1) != r || r > self.m || d > self.d)
                    throw nb::value_error("landmarks and factor do not fit");
                self.set(at, L, r, d);
            },
            nb::arg("landmarks"), nb::arg("factor"),
            nb::sig("def set(self, landmarks: NDArray[np.float64], factor: NDArray[np.float64]) "
                    "-> None"),
            "Takes over landmarks, perhaps of fewer features, and their factor.");

    nb::class_<Shapes>(m, "Shapes", "Sparse features of numbers; see core/shapes.hpp.")
        .def(nb::init<bool, bool, bool, std::vector<double>, long, long, long, bool>(),
             nb::arg("takes_features"), nb::arg("takes_crosses"), nb::arg("linear"),
             nb::arg("bins"), nb::arg("trees"), nb::arg("depth"), nb::arg("numbers"),
             nb::arg("whole"),
             nb::sig("def __init__(self, takes_features: bool, takes_crosses: bool, linear: bool, "
                     "bins: list[float], trees: int, depth: int, numbers: int, whole: bool) -> "
                     "None"))
        .def(
            "features",
            [](const Shapes& self, nb::handle x, nb::handle z) {
                const double *raw = checked(x, 1), *scaled = checked(z, 1);
                if (length(x) != length(z)) throw nb::value_error("x and z do not go together");
                std::vector<std::uint64_t> keys;
                std::vector<double> values;
                self.add(raw, scaled, length(x), keys, values);
                return nb::make_tuple(keys, values);
            },
            nb::arg("x"), nb::arg("z"),
            nb::sig("def features(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> "
                    "tuple[list[int], list[float]]"),
            "Keys and values of a row of numbers x, scaled to z.");

    nb::class_<PooledModel>(m, "Pooled", "A pool with its inputs; see core/pooled.hpp.")
        .def(nb::init<const nb::list&, const nb::object&>(), nb::arg("experts"), nb::arg("judge"),
             nb::sig("def __init__(self, experts: list[PoolExpert], judge: Judge) -> None"))
        .def("predict", &PooledModel::predict, nb::arg("X"), nb::arg("features").none(),
             nb::sig("def predict(self, X: NDArray[np.float64], features: tuple[SparseRows, "
                     "SparseRows] | None) -> NDArray[np.float64]"),
             "The forecasts of records: raw numbers, sparse features and their crosses.")
        .def("learn", &PooledModel::learn, nb::arg("X"), nb::arg("features").none(), nb::arg("y"),
             nb::arg("weight"),
             nb::sig("def learn(self, X: NDArray[np.float64], features: tuple[SparseRows, "
                     "SparseRows] | None, y: int, weight: float) -> None"),
             "Learns one record.")
        .def(
            "run", &PooledModel::run, nb::arg("X"), nb::arg("features").none(), nb::arg("y"),
            nb::arg("weight").none(),
            nb::sig("def run(self, X: NDArray[np.float64], features: tuple[SparseRows, SparseRows] "
                    "| None, y: NDArray[np.int_], weight: NDArray[np.float64] | None) -> "
                    "NDArray[np.float64]"),
            "Predicts records and learns them.")
        .def("follow", &PooledModel::follow, nb::arg("X"), nb::arg("features").none(), nb::arg("y"),
             nb::sig("def follow(self, X: NDArray[np.float64], features: tuple[SparseRows, "
                     "SparseRows] | None, y: NDArray[np.int_]) -> tuple[NDArray[np.float64], int, "
                     "str | None]"),
             "Predicts records one after the other, and learns those with a label >= 0; returns "
             "forecasts, records done, why it stopped before the end.");

    nb::class_<Scaler>(m, "Scaler", "Causal standardisation; see core/scaler.hpp.")
        .def(nb::init<long, bool, bool, long>(), nb::arg("n_features"), nb::arg("intercept"),
             nb::arg("standardize"), nb::arg("views"))
        .def(
            "transform",
            [](Scaler& self, nb::handle X) { return scaled(self, X, false, nb::none()); },
            nb::arg("X"),
            nb::sig("def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]"),
            "Each row scaled as if it were the next.")
        .def(
            "learn",
            [](Scaler& self, nb::handle X, nb::handle weight) {
                return scaled(self, X, true, weight);
            },
            nb::arg("X"), nb::arg("weight") = nb::none(),
            nb::sig("def learn(self, X: NDArray[np.float64], weight: NDArray[np.float64] | None = "
                    "None) -> NDArray[np.float64]"),
            "Each row scaled and learned in turn; those of weight 0 are only scaled.")
        .def(
            "moments",
            [](const Scaler& self) {
                nb::object out = new_array({2, self.d});
                self.moments(data(out), data(out) + self.d);
                return out;
            },
            nb::sig("def moments(self) -> NDArray[np.float64]"),
            "Mean and standard deviation of each feature: two rows.")
        .def(
            "adopt",
            [](Scaler& self, const Scaler& other) {
                if (other.d > self.d) throw nb::value_error("the other scaler has more features");
                self.adopt(other);
            },
            nb::arg("other"), nb::sig("def adopt(self, other: Self) -> None"),
            "Takes over the statistics of fewer features.")
        .def(
            "state",
            [](Scaler& self) {
                nb::dict out;
                Saving saving(out);
                self.visit(saving);
                return out;
            },
            nb::sig("def state(self) -> dict[str, NDArray[np.float64]]"), "The statistics.")
        .def(
            "restore",
            [](Scaler& self, const nb::dict& state) {
                nb::dict whole;
                whole["early"] = new_array(
                    {self.d,
                     Scaler::kept});  // the first models that were saved did not keep early entries
                std::fill_n(data(whole["early"]), self.d * Scaler::kept, std::nan(""));
                whole.update(state);
                Scaler saved = self.empty();
                LoadingArrays loading(whole, true, true);
                saved.visit(loading);
                if (!saved.sound())
                    throw nb::value_error(
                        "the saved statistics are not some that a scaler can have");
                self.adopt(saved);
            },
            nb::arg("state"),
            nb::sig("def restore(self, state: dict[str, NDArray[np.float64]]) -> None"),
            "Takes over what state() returned.");

    nb::class_<CsvParser>(m, "CsvParser", "Lines of CSV to numbers; see core/csv.hpp.")
        .def(nb::init<std::vector<long>, std::vector<std::string>>(), nb::arg("roles"),
             nb::arg("names"),
             nb::sig("def __init__(self, roles: list[int], names: list[str]) -> None"))
        .def("parse", &parse_block, nb::arg("block"), nb::arg("begin"), nb::arg("end"),
             nb::arg("most"), nb::arg("longest_id"),
             nb::sig("def parse(self, block: bytes, begin: int, end: int, most: int, longest_id: "
                     "int) -> tuple[NDArray[np.float64], list[str | None], list[str "
                     "| None], "
                     "NDArray[np.int64], NDArray[np.int64], list[tuple[int, int, str]], int, int]"),
             "At most `most` lines that are not blank: features, labels, ids, where each line "
             "begins, its number from 0; (number, begin, reason) of those "
             "refused; where to go on, how many lines were passed.");
    m.def("format_rows", &format_rows, nb::arg("P"), nb::arg("heads"), nb::arg("separators"),
          nb::arg("end"),
          nb::sig("def format_rows(P: NDArray[np.float64], heads: list[bytes], separators: "
                  "list[str], end: str) -> bytes"),
          "Row t is heads[t], then separators[j] and P[t, j] for each j, then `end`.");
    m.def(
        "posterior_bytes",
        [](long k, long d, long rank, bool drift, const std::string& structure) {
            PosteriorShape shape{k, d, rank, 1.0, drift ? 1.0 : 0.0};
            shape.structure = structure_from(structure);
            return shape.bytes();
        },
        nb::arg("k"), nb::arg("d"), nb::arg("rank"), nb::arg("drift"),
        nb::arg("structure") = "full", "Bytes that the matrices of a posterior of this size take.");
    m.def(
        "normal_points",
        [](std::uint64_t seed, std::uint64_t step, long k, long count) {
            nb::object out = new_array({k, count});
            normal_points(seed, step, k, count, data(out), count);
            return out;
        },
        nb::arg("seed"), nb::arg("step"), nb::arg("k"), nb::arg("m"),
        nb::sig("def normal_points(seed: int, step: int, k: int, m: int) -> NDArray[np.float64]"),
        "The random points (k, m) that MonteCarlo uses at a step.");
    m.def(
        "normal_quantile",
        [](nb::handle u) {
            const double* p = checked(u, 1);
            const long n = length(u);
            nb::object out = new_array({n});
            for (long i = 0; i < n; ++i) data(out)[i] = normal_quantile(p[i]);
            return out;
        },
        nb::arg("u"), nb::sig("def normal_quantile(u: NDArray[np.float64]) -> NDArray[np.float64]"),
        "The standard normal quantile of each entry of (0, 1).");
    bind_records(m);
}
