// The mixtures of posteriors as Python objects.
#include "from_python.hpp"
#include "model.hpp"
#include "module.hpp"

namespace MIXABLE_ISA {
namespace {

template <class Outcome>
class EnsembleModel : public Model<Outcome> {
   public:
    using Model<Outcome>::Model;

    /// The weight of each expert, and whether it is active: two rows.
    Array<> weights() {
        const OneUser::Use use(*this);
        const long n = core().experts();
        nb::object out = new_array({2, n});
        core().weights(data(out), data(out) + n);
        return out;
    }

    /// The readings of x by the experts that are active, one row each, after their weight.
    Array<> components(Array<> x) {
        const OneUser::Use use(*this);
        const double* row = this->checked_row(x);
        const long width = core().reading_width() + 1;
        Buffer rows(core().experts() * width);
        const long n = core().components(row, rows);
        nb::object out = new_array({n, width});
        copy(rows, n * width, data(out));
        return out;
    }

    double scale() const { return core().scale(); }
    double score() const { return core().score(); }
    double seconds() const { return core().seconds(); }

   private:
    using Mixture = AnyMixture<Outcome>;
    Mixture& core() { return static_cast<Mixture&>(this->forecaster()); }
    const Mixture& core() const { return static_cast<const Mixture&>(this->forecaster()); }
};

template <class Outcome>
nb::class_<EnsembleModel<Outcome>, Model<Outcome>> bind_mixture(nb::module_& m, const char* name,
                                                                const char* doc) {
    using M = EnsembleModel<Outcome>;
    auto model = nb::class_<M, Model<Outcome>>(m, name, doc);
    model.def("feature_covariances", &Model<Outcome>::feature_covariances,
              "The covariances (d, k, k) of the weights of each feature.");
    model
        .def("weights", &M::weights,
             "The weight of each expert, and whether it is active: two rows.")
        .def("components", &M::components, nb::arg("x"),
             "The readings of x by the experts that are active, one row each, after their "
             "weight.")
        .def_prop_ro("scale", &M::scale,
                     "The mean square that inputs are measured by; 0 before the first.")
        .def_prop_ro("score", &M::score,
                     "The log score of the example learned last, without 2 pi; 0 at first.")
        .def_prop_ro("seconds", &M::seconds, "About how long a step takes.");
    return model;
}

}  // namespace

void bind_ensembles(nb::module_& m) {
    bind_mixture<long>(m, "AutoGAF", "See mixable.AutoGAF; in K - 1 coordinates.")
        .def(
            "__init__",
            [](EnsembleModel<long>* self, long d, long K, const nb::list& grid,
               const std::vector<double>& alphas, const nb::tuple& fallback_, double mu,
               double scale, double share, std::optional<bool> sleep, long threads,
               const nb::list& ladder, long views, bool frequencies) {
                std::vector<GafMember> members;
                for (nb::handle item : grid) {
                    const auto [lam, beta, drift, view, always_active, active, structure,
                                averaged] = nb::cast<std::tuple<double, double, double, long, bool,
                                                                bool, std::string, bool>>(item);
                    members.push_back({lam, beta, drift, view, always_active, active,
                                       structure_called(structure), averaged});
                }
                std::optional<Guard> fallback;
                if (fallback_.size() == 3) {
                    const auto [kind, first, second] =
                        nb::cast<std::tuple<std::string, double, double>>(fallback_);
                    fallback = Guard{kind == "gradient", first, second};
                }
                new (self) EnsembleModel<long>(make_auto_gaf(
                    d, K, scipy_blas(), members, {alphas, mu, ladder_from(ladder, K - 1)}, fallback,
                    scale, share, sleep, threads, views, frequencies));
            },
            nb::arg("n_features"), nb::arg("n_classes"), nb::arg("grid"), nb::arg("alphas"),
            nb::arg("fallback"), nb::arg("mu"), nb::arg("scale"), nb::arg("share"),
            nb::arg("sleep"), nb::arg("threads"), nb::arg("ladder"), nb::arg("views"),
            nb::arg("frequencies") = false,
            nb::sig(
                "def __init__(self, n_features: int, n_classes: int, grid: list[tuple[float, "
                "float, float, int, bool, bool, str, bool]], alphas: list[float], "
                "fallback: tuple[str, float, float] | tuple[()], mu: float, scale: float, share: "
                "float, sleep: bool | None, threads: int, ladder: list[Rung], views: int, "
                "frequencies: bool = False) -> None"));
    bind_mixture<double>(m, "AutoRidge", "See mixable.AutoRidge.")
        .def(
            "__init__",
            [](EnsembleModel<double>* self, long d, const nb::list& grid,
               const std::vector<double>& noises, const std::vector<double>& tails, double scale,
               double share, bool sleep, long threads, long views) {
                std::vector<RidgeMember> members;
                for (nb::handle item : grid) {
                    const auto [lam, drift, robust, view, always_active, active] =
                        nb::cast<std::tuple<double, double, bool, long, bool, bool>>(item);
                    members.push_back({lam, drift, robust, view, always_active, active});
                }
                new (self)
                    EnsembleModel<double>(make_auto_ridge(d, scipy_blas(), members, noises, tails,
                                                          {scale, share, sleep, threads}, views));
            },
            nb::arg("n_features"), nb::arg("grid"), nb::arg("noises"), nb::arg("tails"),
            nb::arg("scale"), nb::arg("share"), nb::arg("sleep"), nb::arg("threads"),
            nb::arg("views"),
            nb::sig("def __init__(self, n_features: int, grid: list[tuple[float, float, bool, int, "
                    "bool, bool]], noises: list[float], tails: list[float], scale: float, share: "
                    "float, "
                    "sleep: bool, threads: int, views: int) -> None"));
}

}  // namespace MIXABLE_ISA
