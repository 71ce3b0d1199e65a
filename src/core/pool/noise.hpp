// The noise of a number's forecast: how large it is where the forecast is what it is, the parts of
// its density, and how far out intervals must reach to hold what they say.
#pragma once

#include <array>

#include "mean_pool.hpp"

namespace MIXABLE_ISA {

/// A part of a density: normal, or Student's t with 3 or 8 degrees of freedom.
struct Part {
    double mean, scale, thin, height;  // 1 / degrees of freedom; the density at 0, of scale 1

    /// The density at y, times the scale.
    double density(double y) const {
        const double q = bounded((y - mean) / scale, 1e60), s = q * q;
        if (thin == 0) return height * std::exp(-s / 2);
        const double square = (1 + s * thin) * (1 + s * thin);
        return height * (thin > 0.2 ? 1 / square : 1 / (square * square * std::sqrt(1 + s / 8)));
    }
    /// The probability beyond y, on the side of `sign`: above it for 1, below it for -1.
    double beyond(double y, double sign) const {
        const double q = sign * bounded((y - mean) / scale, 1e60);
        if (thin == 0) return 0.5 * std::erfc(q * 0.70710678118654752);
        const double u = q * std::sqrt(thin), c = 1 / (1 + u * u);  // cos^2 of atan(u)
        if (thin < 0.2)
            return 0.5 - 0.5 * u * std::sqrt(c) * (1 + c * (0.5 + c * (0.375 + c * 0.3125)));
        // Far out the first form would lose digits.
        constexpr double pi = 3.14159265358979324;
        return u < 1 ? 0.5 - (std::atan(u) + u * c) / pi : (std::atan(1 / u) - u * c) / pi;
    }
};

/// t3, t8 and normal.
constexpr Part noise_shapes[3] = {{0, 0, 1.0 / 3, 0.36755259694786137},
                                  {0, 0, 1.0 / 8, 0.38669902096139263},
                                  {0, 0, 0, 0.39894228040143268}};

/// How the size of residuals depends on the forecast: a regression of the log of a residual, over
/// its recent level, on the forecast z (in deviations of targets), z^2/2 and the log of how far the
/// experts disagree.
class Noise {
   public:
    static constexpr long features = 3;

    /// The log of the size expected, over the level. 0 for a disagreement says there is none.
    double read(double z, double disagreement) {
        input_ = {z, z * z / 2, disagreement > 0 ? bounded(std::log(disagreement), 3) : 0.0};
        for (long i = 0; i < features; ++i)
            centred_[at(i)] = bounded(input_[at(i)] - centre_[i], 4);
        return expected_ = bounded(ridge_.predict(centred_.data(), 1.0), 3);
    }
    /// Learns the log of the residual of what was read, over the level. It counts as at most a few
    /// units from what was expected: logs of small residuals have a long tail. `kept` is what the
    /// mean input keeps.
    void learn(double log_ratio, double weight, double kept) {
        ridge_.learn(centred_.data(), expected_ + bounded(log_ratio - expected_, 2.5), weight);
        for (long i = 0; i < features; ++i)
            centre_[i] = input_[at(i)] + kept * (centre_[i] - input_[at(i)]);
    }

    void visit(Visitor& visitor) {
        ridge_.visit(visitor);
        visitor("centre", centre_, 1, features, features);
    }
    bool is_valid() const {
        return ridge_.is_valid() && std::all_of(centre_ + 0, centre_ + features,
                                                [](double x) { return std::fabs(x) <= 10; });
    }
    void start_over() { ridge_.start_over(), centre_.clear(); }

   private:
    static std::size_t at(long i) { return std::size_t(i); }

    ForgettingRidge ridge_{features, 1.0, 0.995};
    Buffer centre_{features};  // the mean input
    std::array<double, features> input_{}, centred_{};
    double expected_ = 0;
};

/// How far out central intervals must reach. For each of a few probabilities it keeps the level of
/// the density whose interval has held the target so often: it is raised after a miss, and lowered
/// after a hit, so that in the long run intervals miss as often as they say, whatever the targets
/// do (adaptive conformal inference: Gibbs and Candes 2021). A level may depend on the forecast: so
/// they do not miss more often where forecasts are high than where they are low.
///
/// Levels are kept as surprises, -ln(1 - level), which are linear in the forecast z (in deviations
/// of targets). Steps are those of the pinball loss.
class Coverage {
   public:
    static constexpr long count = 5;

    Coverage() { start_over(); }

    void read(double z) {
        z_ = bounded(z, 2);
        double least = 0;
        for (long j = 0; j < count; ++j) {
            const double here = at_[2 * j] + at_[2 * j + 1] * z_;
            least = now_[j] = std::min(std::max({here, 0.05 * nominal[j], least}), most);
        }
    }
    /// The level of the density whose interval holds the target of what was read with this
    /// probability; between those that are kept it is interpolated.
    double level(double probability) const {
        const double wanted = -std::log1p(-probability);
        long j = 0;
        while (j + 1 < count && wanted > nominal[j]) ++j;
        const double from = j > 0 ? nominal[j - 1] : 0.0, start = j > 0 ? now_[j - 1] : 0.0;
        const double slope = (now_[j] - start) / (nominal[j] - from);
        return -std::expm1(-std::min(start + slope * (wanted - from), most));
    }
    /// Learns the target of what was read: the probability that the density gave to what is farther
    /// out.
    void learn(double beyond, double weight) {
        const double surprise = -std::log(std::max(beyond, 1e-14));
        const double rate = std::max(slowest, 1 / (seen_ + 50));
        const double step = 1 - std::pow(1 - rate, weight);
        for (long j = 0; j < count; ++j) {
            const double miss = surprise > now_[j] ? std::exp(nominal[j]) : 0.0;
            const double by = step * (miss - 1) * (j + 1 < count ? 1.0 : 0.2);  // misses are rare
            at_[2 * j] = bounded(at_[2 * j] + by, most);
            at_[2 * j + 1] = bounded(at_[2 * j + 1] + by * z_, most);
        }
        seen_ = std::min(seen_ + weight, 1e6);
    }

    void visit(Visitor& visitor) {
        visitor("seen", seen_);
        visitor("at", at_, count, 2, 2);
    }
    bool is_valid() const {
        return seen_ >= 0 && seen_ <= 1e6 && std::all_of(at_ + 0, at_ + at_.size(), [](double s) {
                   return std::fabs(s) <= most;
               });
    }
    void start_over() {
        seen_ = 0;
        at_.clear();
        for (long j = 0; j < count; ++j) at_[2 * j] = now_[j] = nominal[j];
    }

   private:
    static constexpr double slowest = 0.005, most = 30;
    /// Of 50%, 80%, 90%, 95% and 99%.
    static constexpr double nominal[count] = {0.69314718055994531, 1.6094379124341003,
                                              2.3025850929940457, 2.9957322735539909,
                                              4.6051701859880914};

    Buffer at_{2 * count};  // for each a surprise at z = 0, and a slope
    Buffer now_{count};     // surprises of what was read
    double seen_ = 0, z_ = 0;
};

}  // namespace MIXABLE_ISA
