// The loops, rules and states of all forecasters of dense rows, for one instruction set.
#include "core/mixture/auto_rules.hpp"
#include "core/pool/naive_bayes.hpp"
#include "core/pool/recent_labels.hpp"
#include "forecaster.hpp"
#include "making.hpp"
#include "ons.hpp"
#include "scalar_rules.hpp"

namespace MIXABLE_ISA {

using Gaf = Forecaster<GafRule<double>>;
using Folklore = Forecaster<FolkloreRule>;
using StructuredGaf = Forecaster<ClassGafRule<double>, State>;
using StructuredFolklore = Forecaster<ClassFolkloreRule, State>;
using Ons = Forecaster<OnsRule>;
using Aioli = Forecaster<AioliRule>;
using Vaw = Forecaster<VawRule>;
using Ogd = Forecaster<OgdRule, GradientState>;
using AutoGaf = Ensemble<ClassFamily>;
using AutoRidge = Ensemble<NormalFamily>;

namespace {

std::unique_ptr<Posterior> full(const PosteriorShape& shape, const Blas& blas) {
    return std::make_unique<Posterior>(shape, blas);
}

/// If nothing is said, members that cost little never sleep; full ones beside others do when they
/// do not pay, for good. If all are to sleep, each does so by itself.
void say_who_tires(std::vector<Plan<long>>& plans, std::optional<bool> sleep) {
    constexpr double much = 1e5;
    const auto is_full = [](const Plan<long>& plan) {
        return plan.shape.structure == Structure::full;
    };
    const bool all_full = std::all_of(plans.begin(), plans.end(), is_full);
    for (Plan<long>& plan : plans) {
        const bool beside_others = !all_full && is_full(plan);
        plan.tires = sleep.value_or(plan.shape.cost() > much || beside_others);
        plan.joins = !sleep.value_or(false);
        plan.returns = sleep.has_value() || !beside_others;
    }
}

/// A posterior with averages is as wide as it ought to be: it is read at a quarter of each alpha.
Plan<long> plan_of(const GafMember& member, long d, long K, const GafReading& reading) {
    const PosteriorShape shape = shape_for(K, d, member.lam, member.drift, member.structure, false);
    std::unique_ptr<Readings<long>> readings;
    if (shape.structure == Structure::full && member.averaged)
        readings = std::make_unique<RuleReadings<GafRule<double>>>(
            GafRule<double>(K, member.beta, 1.0, reading.mu, reading.ladder, true), reading.alphas,
            4.0);
    else if (shape.rank > 0)
        readings = std::make_unique<RuleReadings<GafRule<double>>>(
            GafRule<double>(K, member.beta, 1.0, reading.mu, reading.ladder), reading.alphas);
    else
        readings = std::make_unique<RuleReadings<ClassGafRule<double>>>(
            ClassGafRule<double>(K, member.beta, 1.0, reading.mu, shape.is_shared()),
            reading.alphas);
    return {shape, std::move(readings), member.always_active, member.view, member.active};
}

Plan<long> plan_of(const Guard& fallback, long d, long K) {
    PosteriorShape shape = shape_for(K, d, 1.0, 0.0, Structure::full);
    std::unique_ptr<Readings<long>> readings;
    if (fallback.is_gradient) {
        shape.structure = Structure::gradient;
        shape.radius = fallback.first;
        readings = std::make_unique<RuleReadings<OgdRule>>(OgdRule(K, fallback.second, false));
    } else {
        shape.lam = fallback.first;
        readings = std::make_unique<RuleReadings<FolkloreRule>>(FolkloreRule(K, fallback.second));
    }
    return {shape, std::move(readings), true};
}

}  // namespace

Structure structure_called(const std::string& name) {
    if (name == "full") return Structure::full;
    if (name == "blocks") return Structure::blocks;
    if (name == "shared") return Structure::shared;
    if (name == "growing") return Structure::growing;
    if (name == "diagonal") return Structure::diagonal;
    throw std::invalid_argument("no structure is called " + name);
}

PosteriorShape shape_for(long K, long d, double lam, double drift, Structure structure,
                         bool apart) {
    const bool one = !apart && K == 2 && structure != Structure::diagonal;
    if (structure == Structure::full || one) {
        const Structure kept = structure == Structure::growing ? structure : Structure::full;
        return {K - 1, d, K - 1, lam, drift, 0, 0, kept};
    }
    return {K, d, 0, lam, drift, 0, 0, structure};
}

OfLabels make_gaf(const Blas& blas, long d, long K, double lam, double beta, double alpha,
                  double mu, double drift, Ladder ladder, long block, long period, bool averaged) {
    return std::make_unique<Gaf>(full({K - 1, d, K - 1, lam, drift, block, period}, blas), K, beta,
                                 alpha, mu, ladder, averaged);
}
OfLabels make_folklore(const Blas& blas, long d, long K, double lam, double beta, double drift) {
    return std::make_unique<Folklore>(full({K - 1, d, K - 1, lam, drift}, blas), K, beta);
}
OfLabels make_structured_gaf(const Blas& blas, long d, long K, const std::string& structure,
                             double lam, double beta, double alpha, double mu, double drift,
                             long block, long period) {
    PosteriorShape shape = shape_for(K, d, lam, drift, structure_called(structure));
    shape.block = block;
    shape.period = period;
    return std::make_unique<StructuredGaf>(make_state(shape, blas), shape.k, beta, alpha, mu,
                                           shape.structure == Structure::shared);
}
OfLabels make_structured_folklore(const Blas& blas, long d, long K, const std::string& structure,
                                  double lam, double beta, double drift) {
    const PosteriorShape shape = shape_for(K, d, lam, drift, structure_called(structure));
    return std::make_unique<StructuredFolklore>(make_state(shape, blas), shape.k, beta,
                                                shape.structure == Structure::shared);
}
OfLabels make_ons(const Blas& blas, long d, long K, double lam, double beta) {
    return std::make_unique<Ons>(full({K - 1, d, 1, lam, 0.0}, blas), K, beta);
}
OfLabels make_aioli(const Blas& blas, long d, double lam, double scale, double virtual_weight) {
    return std::make_unique<Aioli>(full({1, d, 1, lam, 0.0}, blas), scale, virtual_weight);
}
OfTargets make_vaw(const Blas& blas, long d, double lam, double drift) {
    return std::make_unique<Vaw>(full({1, d, 1, lam, drift}, blas));
}
OfLabels make_ogd(const Blas&, long d, long K, double rate, bool fixed, double radius) {
    PosteriorShape shape{K - 1, d, 1, 1.0, 0.0, 0, 0, Structure::gradient, radius};
    return std::make_unique<Ogd>(std::make_unique<GradientState>(shape), K, rate, fixed);
}
OfLabels make_naive_bayes(const Blas&, long d, long K) {
    return std::make_unique<NaiveBayes>(d, K);
}

OfLabels make_recent_labels(const Blas&, long d, long K) {
    return std::make_unique<RecentLabels>(d, K);
}

OfLabels make_auto_gaf(long d, long K, const Blas& blas, const std::vector<GafMember>& members,
                       const GafReading& reading, const std::optional<Guard>& fallback,
                       double scale, double share, std::optional<bool> sleep, long threads,
                       long views, bool frequencies) {
    std::vector<Plan<long>> plans;
    for (const GafMember& member : members) plans.push_back(plan_of(member, d, K, reading));
    say_who_tires(plans, sleep);
    if (frequencies)
        plans.push_back({{K, d, 0, 1.0, 0.0, 0, 0, Structure::frequencies},
                         std::make_unique<RatesReadings>(K),
                         true});
    if (fallback) plans.push_back(plan_of(*fallback, d, K));
    const AutoGaf::Options options{scale, share, sleep.value_or(true), threads};
    return std::make_unique<AutoGaf>(d, blas, options, ClassFamily(K), std::move(plans), views);
}

OfTargets make_auto_ridge(long d, const Blas& blas, const std::vector<RidgeMember>& members,
                          const std::vector<double>& noises, const std::vector<double>& tails,
                          const AutoRidge::Options& options, long views) {
    std::vector<Plan<double>> plans;
    for (const RidgeMember& member : members)
        plans.push_back({PosteriorShape{1, d, 1, member.lam, member.drift},
                         std::make_unique<RidgeReadings>(noises, tails, member.robust),
                         member.always_active, member.view, member.active});
    return std::make_unique<AutoRidge>(d, blas, options, NormalFamily(), std::move(plans), views);
}

}  // namespace MIXABLE_ISA
