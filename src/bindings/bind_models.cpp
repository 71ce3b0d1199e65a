// The forecasters of dense rows as Python objects.
#include "from_python.hpp"
#include "model.hpp"
#include "module.hpp"

namespace MIXABLE_ISA {
namespace {

/// The classes of models: what they learn, whether a posterior can be shown, and whether all of it.
struct OfPosterior {
    using Outcome = long;
    static constexpr bool has_posterior = true, is_full = true;
};
struct OfStructure : OfPosterior {
    static constexpr bool is_full = false;
};
struct Gaf : OfPosterior {};
struct Folklore : OfPosterior {};
struct StructuredGaf : OfStructure {};
struct StructuredFolklore : OfStructure {};
struct Ons : OfPosterior {};
struct Aioli : OfPosterior {};
struct Vaw : OfPosterior {
    using Outcome = double;
};
struct Ogd {
    using Outcome = long;
    static constexpr bool has_posterior = false, is_full = false;
};
struct Bayes : Ogd {};

/// Its posterior can be read and taught by a rule in Python.
class GafModel : public ModelOf<Gaf> {
   public:
    using ModelOf<Gaf>::ModelOf;
    Tuple<Array<>, Array<>> read(Array<> x) {
        const Use use(*this);
        const double* row = checked_row(x);
        const long k = forecaster().predictions();
        nb::object m = new_array({k}), G = new_array({k, k});
        forecaster().read(row, data(m), data(G));
        return nb::make_tuple(m, G);
    }
    void push(Array<> x, Array<> v, Array<> F, double weight) {
        const Use use(*this);
        const double* row = checked_row(x);
        const long k = forecaster().predictions();
        const double *step = checked(v), *factor = checked(F, 2);
        if (length(v) != k || length(F) != k || length(F, 1) != k)
            throw nb::value_error("v and F have the wrong shape");
        forecaster().push(row, step, factor, weight);
    }
};

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

/// One class of models; the constructor is the caller's to add.
template <class Core, class Object = ModelOf<Core>>
nb::class_<Object, Model<typename Core::Outcome>> bind(nb::module_& m, const char* name,
                                                       const char* doc) {
    using M = Model<typename Core::Outcome>;
    auto model = nb::class_<Object, M>(m, name, doc);
    if constexpr (Core::has_posterior)
        model
            .def("feature_covariances", &M::feature_covariances,
                 "The blocks (d, k, k) of A^-1 that belong to one feature each.")
            .def("covariance", &M::covariance,
                 "A^-1 (D, D); with structure, the matrices that it consists of.");
    if constexpr (Core::is_full)
        model.def("precision", &M::precision, "A (D, D) as accumulated, for drift = 0.")
            .def("set_mean", &M::set_mean, nb::arg("mean"), "Replaces V; A stays.");
    return model;
}

}  // namespace

void bind_models(nb::module_& m) {
    bind_base<long>(m, "LabelModel", "What all forecasters of labels can do.");
    bind_base<double>(m, "TargetModel", "What all forecasters of numbers can do.");
    bind<Gaf, GafModel>(m, "GAF", "See mixable.GAF; in K - 1 coordinates.")
        .def(
            "__init__",
            [](GafModel* self, long d, long K, double lam, double beta, double alpha, double mu,
               double drift, const nb::list& ladder, long block, long period, bool averaged) {
                new (self)
                    GafModel(make_gaf({K - 1, d, K - 1, lam, drift, block, period}, scipy_blas(),
                                      beta, alpha, mu, ladder_from(ladder, K - 1), averaged));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("lam"), nb::arg("beta"),
            nb::arg("alpha"), nb::arg("mu"), nb::arg("drift"), nb::arg("ladder"),
            nb::arg("block") = 0, nb::arg("period") = 0, nb::arg("averaged") = false,
            nb::sig("def __init__(self, n_features: int, n_classes: int, lam: float, beta: float, "
                    "alpha: float, mu: float, drift: float, ladder: list[Rung], block: int = 0, "
                    "period: int = 0, averaged: bool = False) -> None"))
        .def("read", &GafModel::read, nb::arg("x"),
             "Mean m (k,) and width G (k, k) of the predictions.")
        .def("push", &GafModel::push, nb::arg("x"), nb::arg("v"), nb::arg("F"), nb::arg("weight"),
             "Moves the predictions by -G v, and adds F F^T to A along them.");
    bind<Folklore>(m, "Folklore", "See mixable.Folklore; in K - 1 coordinates.")
        .def(
            "__init__",
            [](ModelOf<Folklore>* self, long d, long K, double lam, double beta, double drift) {
                new (self) ModelOf<Folklore>(
                    make_folklore({K - 1, d, K - 1, lam, drift}, scipy_blas(), beta));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("lam"), nb::arg("beta"),
            nb::arg("drift"));
    bind<StructuredGaf>(m, "StructuredGAF", "See mixable.GAF; a coordinate for each class.")
        .def(
            "__init__",
            [](ModelOf<StructuredGaf>* self, long d, long K, const std::string& structure,
               double lam, double beta, double alpha, double mu, double drift, long block,
               long period) {
                PosteriorShape shape = shape_for(K, d, lam, drift, structure_called(structure));
                shape.block = block;
                shape.period = period;
                new (self) ModelOf<StructuredGaf>(
                    make_structured_gaf(shape, scipy_blas(), beta, alpha, mu));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("structure"), nb::arg("lam"),
            nb::arg("beta"), nb::arg("alpha"), nb::arg("mu"), nb::arg("drift"),
            nb::arg("block") = 0, nb::arg("period") = 0);
    bind<StructuredFolklore>(m, "StructuredFolklore",
                             "See mixable.Folklore; a coordinate for each class.")
        .def(
            "__init__",
            [](ModelOf<StructuredFolklore>* self, long d, long K, const std::string& structure,
               double lam, double beta, double drift) {
                new (self) ModelOf<StructuredFolklore>(make_structured_folklore(
                    shape_for(K, d, lam, drift, structure_called(structure)), scipy_blas(), beta));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("structure"), nb::arg("lam"),
            nb::arg("beta"), nb::arg("drift"));
    bind<Ons>(m, "ONS", "See mixable.ONS; in K - 1 coordinates, no projection.")
        .def(
            "__init__",
            [](ModelOf<Ons>* self, long d, long K, double lam, double beta) {
                new (self) ModelOf<Ons>(make_ons({K - 1, d, 1, lam, 0.0}, scipy_blas(), beta));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("lam"), nb::arg("beta"));
    bind<Aioli>(m, "AIOLI", "See mixable.AIOLI; in margin coordinates.")
        .def(
            "__init__",
            [](ModelOf<Aioli>* self, long d, double lam, double scale, double virtual_weight) {
                new (self) ModelOf<Aioli>(
                    make_aioli({1, d, 1, lam, 0.0}, scipy_blas(), scale, virtual_weight));
            },
            nb::arg("n_features"), nb::arg("lam"), nb::arg("scale"), nb::arg("virtual_weight"));
    bind<Vaw>(m, "VAW", "See mixable.VAW.")
        .def(
            "__init__",
            [](ModelOf<Vaw>* self, long d, double lam, double drift) {
                new (self) ModelOf<Vaw>(make_vaw({1, d, 1, lam, drift}, scipy_blas()));
            },
            nb::arg("n_features"), nb::arg("lam"), nb::arg("drift"));
    bind<Ogd>(m, "OGD", "See mixable.OGD; in K - 1 coordinates. A radius of 0 means no projection.")
        .def(
            "__init__",
            [](ModelOf<Ogd>* self, long d, long K, double rate, bool fixed, double radius) {
                new (self) ModelOf<Ogd>(make_ogd(d, K, rate, fixed, radius));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("rate"), nb::arg("fixed"),
            nb::arg("radius"));
    bind<Bayes>(m, "NaiveBayes", "Normal columns in each class; see core/pool/naive_bayes.hpp.")
        .def(
            "__init__",
            [](ModelOf<Bayes>* self, long d, long K) {
                new (self) ModelOf<Bayes>(make_naive_bayes(d, K));
            },
            nb::arg("n_features"), nb::arg("n_classes"));
}

}  // namespace MIXABLE_ISA
