// The forecasters of dense rows, to be made. forecasters.cpp has the only code of their loops,
// rules and states: it is compiled for speed, and nothing else needs to be.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auto_rules.hpp"
#include "forecaster.hpp"
#include "ons.hpp"
#include "scalar_rules.hpp"

namespace MIXABLE_ISA {

using Gaf = Forecaster<GafRule>;
using Folklore = Forecaster<FolkloreRule>;
using StructuredGaf = Forecaster<ClassGafRule, State>;
using StructuredFolklore = Forecaster<ClassFolkloreRule, State>;
using Ons = Forecaster<OnsRule>;
using Aioli = Forecaster<AioliRule>;
using Vaw = Forecaster<VawRule>;
using Ogd = Forecaster<OgdRule, GradientState>;
using AutoGaf = Ensemble<ClassFamily>;
using AutoRidge = Ensemble<NormalFamily>;

extern template class Forecaster<GafRule>;
extern template class Forecaster<FolkloreRule>;
extern template class Forecaster<ClassGafRule, State>;
extern template class Forecaster<ClassFolkloreRule, State>;
extern template class Forecaster<OnsRule>;
extern template class Forecaster<AioliRule>;
extern template class Forecaster<VawRule>;
extern template class Forecaster<OgdRule, GradientState>;
extern template class Ensemble<ClassFamily>;
extern template class Ensemble<NormalFamily>;

using OfLabels = std::unique_ptr<AnyForecaster<long>>;
using OfTargets = std::unique_ptr<AnyForecaster<double>>;
using Ladder = std::shared_ptr<const std::vector<Rung>>;

/// full, blocks, shared, growing or diagonal.
Structure structure_called(const std::string& name);

/// The shape of a posterior of K classes. With structure it is in the coordinates of the classes;
/// of two classes, blocks that are not asked to be apart are one, and the full posterior is it.
PosteriorShape shape_for(long K, long d, double lam, double drift, Structure structure,
                         bool apart = true);

OfLabels make_gaf(const PosteriorShape& shape, const Blas& blas, double beta, double alpha,
                  double mu, Ladder ladder, Surrogate surrogate, Ladder averages);
OfLabels make_folklore(const PosteriorShape& shape, const Blas& blas, double beta);
OfLabels make_structured_gaf(const PosteriorShape& shape, const Blas& blas, double beta,
                             double alpha, double mu);
OfLabels make_structured_folklore(const PosteriorShape& shape, const Blas& blas, double beta);
OfLabels make_ons(const PosteriorShape& shape, const Blas& blas, double beta);
OfLabels make_aioli(const PosteriorShape& shape, const Blas& blas, double scale,
                    double virtual_weight);
OfTargets make_vaw(const PosteriorShape& shape, const Blas& blas);
OfLabels make_ogd(long d, long K, double rate, bool fixed, double radius);

/// A posterior of AutoGAF, and of AutoRidge.
struct GafMember {
    double lam, beta, drift;
    long view;
    bool always_awake, awake;
    Structure structure;
    bool averaged;  // whether a full posterior has the surrogate of averaged.hpp
};
struct RidgeMember {
    double lam, drift;
    bool robust;
    long view;
    bool always_awake, awake;
};
/// Of AutoGAF: gradient descent of a radius and a rate, or Folklore of lam and beta.
struct Guard {
    bool is_gradient;
    double first, second;
};
/// What all posteriors of AutoGAF share.
struct GafReading {
    std::vector<double> alphas;
    double mu;
    Ladder ladder;
};

OfLabels make_auto_gaf(long d, long K, const Blas& blas, const std::vector<GafMember>& members,
                       const GafReading& reading, const std::optional<Guard>& guard, double scale,
                       double share, std::optional<bool> sleep, long threads, long views,
                       bool rates);
OfTargets make_auto_ridge(long d, const Blas& blas, const std::vector<RidgeMember>& members,
                          const std::vector<double>& noises, const std::vector<double>& tails,
                          const AutoRidge::Options& options, long views);

}  // namespace MIXABLE_ISA
