// Forecasters of sparse rows, and pools of experts of several kinds, as Python objects.
#include "module.hpp"
#include "pool_model.hpp"

namespace MIXABLE_ISA {
namespace {

void bind_sparse(nb::module_& m) {
    using M = SparseModel;
    auto model =
        nb::class_<M>(m, "Sparse", "See mixable.SparseGAF; rows are arrays of keys and values.")
            .def(nb::init<long, const std::vector<std::tuple<double, double>>&,
                          const std::vector<double>&, double, long>(),
                 nb::arg("n_classes"), nb::arg("grid"), nb::arg("alphas"), nb::arg("share"),
                 nb::arg("max_features"))
            .def("predict", &M::predict, nb::arg("keys"), nb::arg("values"),
                 "The forecast (K,) of one row.")
            .def("predict_many", &M::predict_many, nb::arg("start"), nb::arg("keys"),
                 nb::arg("values"),
                 "The forecasts (n, K) of n rows; row t has the entries start[t] to start[t + 1].")
            .def("learn", &M::learn, nb::arg("keys"), nb::arg("values"), nb::arg("y"),
                 nb::arg("weight"), "Learns one example.")
            .def("run", &M::run, nb::arg("start"), nb::arg("keys"), nb::arg("values"), nb::arg("y"),
                 nb::arg("weight").none(), "Predicts and learns row by row.")
            .def("coefficients", &M::coefficients, nb::arg("keys"),
                 "Means and standard deviations (2, n, K) of the weights of n keys.")
            .def("intercept", &M::intercept, "Mean and standard deviation (2, K) of the intercept.")
            .def("expert_weights", &M::expert_weights,
                 "The weight of each expert: the settings at the first width, then at the next.")
            .def("adopt", &M::adopt, nb::arg("other"),
                 "Takes over what a model of the same kind with fewer classes has learned.")
            .def("keys", &M::keys,
                 "The keys that have slots of their own, in the order in which they came.")
            .def_prop_ro("scale", &M::scale,
                         "The mean square that values are measured by; 0 before the first.");
    bind_slots(model);
}

/// What a judge says of its experts.
template <class Class>
void bind_activity(Class& judge) {
    using M = typename Class::Type;
    judge.def("review", &M::review, "Decides which experts are active, every PERIOD steps.")
        .def("set_active", &M::set_active, nb::arg("expert"), nb::arg("active"),
             "Makes an expert active, or inactive.")
        .def_prop_ro("active", &M::active, "The experts that are active.");
}

void bind_judge(nb::module_& m) {
    auto judge = nb::class_<JudgeModel, Model<long>>(
                     m, "Judge", "See mixable.Pool; an input is the forecasts (N K) of N experts.")
                     .def(
                         "__init__",
                         [](JudgeModel* self, long N, long K, double lam, double drift,
                            double smoothing, double share, double least_gain, double tie,
                            std::optional<double> quick, const std::vector<double>& first) {
                             if (!first.empty() && long(first.size()) != N)
                                 throw std::invalid_argument("first must have N weights");
                             new (self) JudgeModel(std::make_unique<Judge>(
                                 N, K, lam, drift, smoothing, share, least_gain, tie,
                                 quick.value_or(lam), first));
                         },
                         nb::arg("n_experts"), nb::arg("n_classes"), nb::arg("lam"),
                         nb::arg("drift"), nb::arg("smoothing"), nb::arg("share"),
                         nb::arg("least_gain") = 0.005, nb::arg("tie") = 0.0,
                         nb::arg("quick") = nb::none(), nb::arg("first") = std::vector<double>())
                     .def("expert_weights", &JudgeModel::expert_weights,
                          "The weight of two readings of each pool, then in the experts.");
    judge.def(
        "set_growing",
        [](JudgeModel& self, long e) {
            const JudgeModel::Use use(self);
            if (e < 0 || e >= self.core().N) throw std::out_of_range("no such expert");
            self.core().activity().set_growing(e);
        },
        nb::arg("expert"),
        "Say that an expert is made anew as rows come: it stays unless it gains nothing.");
    bind_activity(judge);
    m.attr("PERIOD") = Activity::period;
}

void bind_fallback(nb::module_& m) {
    using M = FallbackModel;
    auto model =
        nb::class_<M>(m, "Fallback", "What stands beside a pool; see core/pool/fallback.hpp.")
            .def(nb::init<long, long, long, double, double>(), nb::arg("n_features"),
                 nb::arg("n_classes"), nb::arg("max_features"), nb::arg("lam"), nb::arg("beta"))
            .def("expert_weights", &M::expert_weights,
                 "The weight of the pool, in the class frequencies, in the bettor and in Folklore.")
            .def_prop_ro("most_features", &M::most_features,
                         "How many sparse features it can know.")
            .def("adopt", &M::adopt, nb::arg("other"),
                 "Takes over what one of fewer classes or features has learned.");
    bind_saved(model);
    m.attr("FALLBACK_SHARE") = Fallback::share;
}

void bind_categories(nb::module_& m) {
    using M = CategoriesModel;
    auto model =
        nb::class_<M>(m, "Categories",
                      "Columns made of categories; see core/inputs/categories.hpp.")
            .def(nb::init<long>(), nb::arg("n_classes"))
            .def_prop_ro("given", &M::given, "How many values have an indicator.")
            .def_prop_ro("values", &M::values, "How many values are known.")
            .def_prop_ro("most_known", &M::most_known, "How many can be known.")
            .def("indicators", &M::indicators,
                 "The keys of the values that have one, in the order in which they were given.")
            .def("make", &M::make, nb::arg("keys"),
                 "The columns of a record: MOST_INDICATORS indicators, then frequencies.")
            .def("learn", &M::learn, nb::arg("keys"), nb::arg("y"), nb::arg("weight"),
                 "Learns the values of a record.")
            .def("hold", &M::hold, "From now on no more indicators are given.")
            .def("adopt", &M::adopt, nb::arg("other"),
                 "Takes over what one of at most as many classes has learned.");
    bind_saved(model);
    m.attr("MOST_INDICATORS") = Categories::most_indicators;
}

void bind_sparse_ridge(nb::module_& m) {
    using M = SparseRidgeModel;
    auto model = nb::class_<M>(m, "SparseRidge",
                               "Regressions on sparse rows; see core/sparse/sparse_ridge.hpp.")
                     .def(nb::init<const std::vector<std::tuple<double, double>>&, long>(),
                          nb::arg("grid"), nb::arg("max_features"));
    bind_slots(model);
}

void bind_number_judge(nb::module_& m) {
    using M = NumberJudgeModel;
    auto judge =
        nb::class_<M>(m, "NumberJudge",
                      "See core/pool/number_judge.hpp; an input is N experts' means.")
            .def(nb::init<long, long, double>(), nb::arg("n_experts"), nb::arg("n_first") = 1,
                 nb::arg("least_gain") = 0.005)
            .def("predict", &M::predict, nb::arg("X"),
                 "Mean and standard deviation (n, 2); NaN says that an expert is not active.")
            .def("components", &M::components, nb::arg("X"),
                 "What each forecast is a mixture of, one after the other: weight, mean, scale, "
                 "thin.")
            .def("interval", &M::interval, nb::arg("X"), nb::arg("probability"),
                 "The ends (n, 2) of central intervals that hold the target with a probability.")
            .def("weights", &M::weights, nb::arg("X"),
                 "The weights (n, N + 1) of the experts' means, and of the targets' so far.")
            .def("expert_weights", &M::expert_weights,
                 "The weight (N,) of each expert in their mixture.")
            .def("run", &M::run, nb::arg("X"), nb::arg("y"), nb::arg("weight").none(),
                 "Mean, standard deviation and log density (n, 3), each before its target is "
                 "learned.")
            .def_prop_ro("steps", &M::steps, "Examples learned.");
    bind_saved(judge);
    bind_activity(judge);
}

template <class Outcome>
void bind_pool(nb::module_& m, const char* name, const char* doc) {
    using M = PoolModel<Outcome>;
    constexpr bool labels = M::of_labels;
    auto pool = nb::class_<M>(m, name, doc);
    if constexpr (!labels)
        pool.def("components", &M::components, nb::arg("X"), nb::arg("features").none(),
                 "What forecasts are mixtures of (n, parts, 4): weight, mean, scale, thin.")
            .def("interval", &M::interval, nb::arg("X"), nb::arg("features").none(),
                 nb::arg("probability"),
                 "The ends (n, 2) of the intervals that hold numbers with this probability.");
    pool.def(nb::init<const nb::list&, const nb::object&, const nb::object&, long,
                      const nb::object&, long>(),
             nb::arg("experts"), nb::arg("judge").none(), nb::arg("fallback").none(),
             nb::arg("threads"), nb::arg("categories").none() = nb::none(), nb::arg("room") = 0,
             nb::sig("def __init__(self, experts: list[PoolExpert], judge: Any, fallback: "
                     "Fallback | None, threads: int, categories: Categories | None = None, room: "
                     "int = 0) -> None"))
        .def("predict", &M::predict, nb::arg("X"), nb::arg("features").none(),
             "The forecasts of records: raw numbers; sparse features, their crosses, and a byte "
             "for each number: what those who take sparse features see of it "
             "(core/inputs/shapes.hpp).")
        .def("learn", &M::learn, nb::arg("X"), nb::arg("features").none(), nb::arg("y"),
             nb::arg("weight"), nb::arg("kept").none(),
             labels ? nb::sig("def learn(self, X: NDArray[np.float64], features: Features | None, "
                              "y: int, weight: float, kept: NDArray[np.float64] | None) -> None")
                    : nb::sig("def learn(self, X: NDArray[np.float64], features: Features | None, "
                              "y: float, weight: float, kept: NDArray[np.float64] | None) -> "
                              "None"),
             "Learns one record; with what was kept of its forecast, if that is given.")
        .def(
            "run", &M::run, nb::arg("X"), nb::arg("features").none(), nb::arg("y"),
            nb::arg("weight").none(),
            "Predicts records and learns them. Returns forecasts, and how many were learned: fewer "
            "if more indicators were given than there is room for, or where it is to stop.")
        .def("stop_at", &M::stop_at, nb::arg("steps"), "After so many examples it stops.")
        .def("follow", &M::follow, nb::arg("X"), nb::arg("features").none(), nb::arg("order"),
             nb::arg("y"), nb::arg("kept").none(), nb::arg("level") = 0.0,
             "Steps with records, one after the other. Returns forecasts, steps done, why it "
             "stopped before the end. With a level, forecasts of numbers by a judge have the ends "
             "of an interval.")
        .def("rows", &M::rows, nb::arg("expert"), nb::arg("X"), nb::arg("features").none(),
             "What the forecaster of an expert sees: where forecasts begin, then rows; none if "
             "these are sparse.")
        .def_prop_ro("kept_length", &M::kept_length,
                     "Numbers that are kept of a record until its outcome comes.")
        .def("kept", &M::kept, nb::arg("X"), nb::arg("features").none(),
             "What is kept of one record until its outcome comes.");
}

}  // namespace

void bind_pools(nb::module_& m) {
    bind_sparse(m);
    bind_judge(m);
    bind_fallback(m);
    bind_categories(m);
    bind_sparse_ridge(m);
    bind_number_judge(m);
    bind_pool<double>(m, "NumberPool", "The protocol of numbers; see core/pool/pool.hpp.");
    bind_pool<long>(m, "LabelPool", "The protocol of labels; see core/pool/pool.hpp.");
}

}  // namespace MIXABLE_ISA
