// How forecasters of dense rows are made. What is compiled once for all builds of the core knows
// them by this and by any_forecaster.hpp only: their code is in forecasters.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "any_forecaster.hpp"
#include "core/numbers/blas.hpp"
#include "core/posterior/shape.hpp"

namespace MIXABLE_ISA {

struct Rung;

using OfLabels = std::unique_ptr<AnyForecaster<long>>;
using OfTargets = std::unique_ptr<AnyForecaster<double>>;
using Ladder = std::shared_ptr<const std::vector<Rung>>;  // the points of an integrator

/// full, blocks, shared, growing or diagonal.
Structure structure_called(const std::string& name);

/// The shape of a posterior of K classes. With structure it is in the coordinates of the classes;
/// of two classes, blocks that are not asked to be apart are one, and the full posterior is it.
PosteriorShape shape_for(long K, long d, double lam, double drift, Structure structure,
                         bool apart = true);

/// Of d features and K classes; `block` and `period` are as in a shape.
OfLabels make_gaf(const Blas& blas, long d, long K, double lam, double beta, double alpha,
                  double mu, double drift, Ladder ladder, long block, long period, bool averaged);
OfLabels make_folklore(const Blas& blas, long d, long K, double lam, double beta, double drift);
OfLabels make_structured_gaf(const Blas& blas, long d, long K, const std::string& structure,
                             double lam, double beta, double alpha, double mu, double drift,
                             long block, long period);
OfLabels make_structured_folklore(const Blas& blas, long d, long K, const std::string& structure,
                                  double lam, double beta, double drift);
OfLabels make_ons(const Blas& blas, long d, long K, double lam, double beta);
OfLabels make_aioli(const Blas& blas, long d, double lam, double scale, double virtual_weight);
OfTargets make_vaw(const Blas& blas, long d, double lam, double drift);
OfLabels make_ogd(const Blas& blas, long d, long K, double rate, bool fixed, double radius);
OfLabels make_naive_bayes(const Blas& blas, long d, long K);
OfLabels make_recent_labels(const Blas& blas, long d, long K);

/// A posterior of AutoGAF, and of AutoRidge.
struct GafMember {
    double lam, beta, drift;
    long view;
    bool always_active, active;
    Structure structure;
    bool averaged;  // whether a full posterior has the surrogate of averaged.hpp
};
struct RidgeMember {
    double lam, drift;
    bool robust;
    long view;
    bool always_active, active;
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
                       const GafReading& reading, const std::optional<Guard>& fallback,
                       double scale, double share, std::optional<bool> sleep, long threads,
                       long views, bool frequencies);
OfTargets make_auto_ridge(long d, const Blas& blas, const std::vector<RidgeMember>& members,
                          const std::vector<double>& noises, const std::vector<double>& tails,
                          const MixtureOptions& options, long views);

}  // namespace MIXABLE_ISA
