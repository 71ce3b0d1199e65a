// The forecasters of dense rows as Python objects.
#include "from_python.hpp"
#include "model.hpp"
#include "module.hpp"

namespace MIXABLE_ISA {
namespace {

/// What all models of one kind of outcomes can do: a class that theirs inherit from.
template <class Outcome>
void bind_base(nb::module_& m, const char* name, const char* doc) {
    using M = Model<Outcome>;
    constexpr bool labels = M::of_labels;
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
        .def("adopt", &M::adopt, nb::arg("other"),
             "Takes over what a model of the same kind with fewer classes or features has learned.")
        .def("mean", &M::mean, "V (k, d).")
        .def_prop_ro("steps", &M::steps, "Examples learned.")
        .def_prop_ro("largest_square", &M::largest_square,
                     "The largest |x|^2 that is not refused.");
    bind_saved(model);
}

/// A function that makes forecasters, and what each of them is a class of its own for.
template <class Outcome, class... Arguments>
using Maker = std::unique_ptr<AnyForecaster<Outcome>> (*)(const Blas&, Arguments...);
template <class Outcome, auto make>
class Made : public Model<Outcome> {
   public:
    using Model<Outcome>::Model;
};

template <auto make, class Outcome, class... Arguments, class... Extra>
auto bind_as(Maker<Outcome, Arguments...>, nb::module_& m, const char* name, const char* doc,
             const Extra&... extra) {
    using M = Made<Outcome, make>;
    auto model = nb::class_<M, Model<Outcome>>(m, name, doc);
    model.def(
        "__init__",
        [](M* self, Arguments... arguments) {
            new (self) M(make(scipy_blas(), std::forward<Arguments>(arguments)...));
        },
        extra...);
    return model;
}
/// One class of models: the arguments of its constructor are those of what makes the forecaster.
template <auto make, class... Extra>
auto bind(nb::module_& m, const char* name, const char* doc, const Extra&... extra) {
    return bind_as<make>(make, m, name, doc, extra...);
}

/// What a posterior shows. With structure it has no precision, and its mean is not to be set.
template <class Class>
Class& bind_posterior(Class&& model) {
    using M = typename std::decay_t<Class>::Type;
    return model
        .def("feature_covariances", &M::feature_covariances,
             "The blocks (d, k, k) of A^-1 that belong to one feature each.")
        .def("covariance", &M::covariance,
             "A^-1 (D, D); with structure, the matrices that it consists of.")
        .def("precision", &M::precision, "A (D, D) as accumulated, for drift = 0.")
        .def("set_mean", &M::set_mean, nb::arg("mean"), "Replaces V; A stays.");
}

OfLabels gaf(const Blas& blas, long d, long K, double lam, double beta, double alpha, double mu,
             double drift, const nb::list& ladder, long block, long period, bool averaged) {
    return make_gaf(blas, d, K, lam, beta, alpha, mu, drift, ladder_from(ladder, K - 1), block,
                    period, averaged);
}

}  // namespace

void bind_models(nb::module_& m) {
    bind_base<long>(m, "LabelModel", "What all forecasters of labels can do.");
    bind_base<double>(m, "TargetModel", "What all forecasters of numbers can do.");
    const nb::arg d("n_features"), K("n_classes"), structure("structure"), lam("lam"), beta("beta"),
        alpha("alpha"), mu("mu"), drift("drift");
    auto model = bind<gaf>(
        m, "GAF", "See mixable.GAF; in K - 1 coordinates.", d, K, lam, beta, alpha, mu, drift,
        nb::arg("ladder"), nb::arg("block") = 0, nb::arg("period") = 0, nb::arg("averaged") = false,
        nb::sig("def __init__(self, n_features: int, n_classes: int, lam: float, beta: float, "
                "alpha: float, mu: float, drift: float, ladder: list[Rung], block: int = 0, "
                "period: int = 0, averaged: bool = False) -> None"));
    bind_posterior(model)
        .def("read", &Model<long>::read, nb::arg("x"),
             "Mean m (k,) and width G (k, k) of the predictions.")
        .def("push", &Model<long>::push, nb::arg("x"), nb::arg("v"), nb::arg("F"),
             nb::arg("weight"), "Moves the predictions by -G v, and adds F F^T to A along them.");
    bind_posterior(bind<make_folklore>(m, "Folklore", "See mixable.Folklore; in K - 1 coordinates.",
                                       d, K, lam, beta, drift));
    bind_posterior(bind<make_structured_gaf>(
        m, "StructuredGAF", "See mixable.GAF; a coordinate for each class.", d, K, structure, lam,
        beta, alpha, mu, drift, nb::arg("block") = 0, nb::arg("period") = 0));
    bind_posterior(bind<make_structured_folklore>(
        m, "StructuredFolklore", "See mixable.Folklore; a coordinate for each class.", d, K,
        structure, lam, beta, drift));
    bind_posterior(bind<make_ons>(m, "ONS", "See mixable.ONS; in K - 1 coordinates, no projection.",
                                  d, K, lam, beta));
    bind_posterior(bind<make_aioli>(m, "AIOLI", "See mixable.AIOLI; in margin coordinates.", d, lam,
                                    nb::arg("scale"), nb::arg("virtual_weight")));
    bind_posterior(bind<make_vaw>(m, "VAW", "See mixable.VAW.", d, lam, drift));
    bind<make_ogd>(m, "OGD",
                   "See mixable.OGD; in K - 1 coordinates. A radius of 0 means no projection.", d,
                   K, nb::arg("rate"), nb::arg("fixed"), nb::arg("radius"));
    bind<make_naive_bayes>(m, "NaiveBayes",
                           "Normal columns in each class; see core/pool/naive_bayes.hpp.", d, K);
    bind<make_recent_labels>(m, "RecentLabels",
                             "Frequencies of the last labels; see core/pool/recent_labels.hpp.", d,
                             K);
}

}  // namespace MIXABLE_ISA
