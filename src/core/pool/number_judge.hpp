// Experts of numbers pooled: a regression on their means, and a noise whose size may depend on the
// forecast.
//
// The mean is that of the mixture of the experts, plus a ridge regression on how far each of them
// is from it: Vovk-Azoury-Warmuth, the paper's squared-loss case (Section 4.1), around a prior at
// the mixture, with forgetting. All is measured in sizes of recent residuals, so that the unit of
// the targets does not matter, and a residual counts up to a bound. Where columns say nothing, such
// a regression fits noise: so the mean of the targets so far stands beside it, as class frequencies
// do for labels, and the forecast is the mixture of the two by their residuals.
//
// The density is a mixture of t3, t8 and normal ones at several multiples of the noise's size, and
// of each expert by itself as the fallback: over n examples its log loss is at most
// ln(2 (readings + N + 1)) above that of the best of them that is always active (weights.hpp).
// Intervals are those of the density at levels that have held what they say (noise.hpp).
#pragma once

#include <limits>

#include "activity.hpp"
#include "noise.hpp"

namespace MIXABLE_ISA {

/// The judge over N experts of numbers. It asks for their means alone: it keeps the size of each
/// one's residuals by itself. An expert that is yet to come is one that is not active. One more
/// expert is the judge's own: the mean of the targets so far, from the first example on.
class NumberJudge {
   public:
    static constexpr long kinds = 3, multiples = 7, readings = 2 * kinds * multiples;

    /// The first of the experts are always active.
    NumberJudge(long experts, long first, double share = 1e-3, double least_gain = 0.005)
        : N(experts),
          all(N + 1),
          pool_(all),
          experts_(all, share),
          densities_(readings + all, share),
          guard_(2, share),
          activity_(N, first, least_gain),
          level_(sizes()),
          seen_(sizes()),
          means_(all),
          said_(N),
          likelihood_(readings + all),
          of_experts_(all),
          without_(N),
          cost_(N) {
        guard_.set_active({0, 1});
    }

    const long N, all;  // experts that it is asked about, and with the mean of the targets

    long steps() const { return steps_; }
    /// Parts of the density.
    long parts() const { return readings + all; }

    /// Reads the experts' means of an example; NaN says that an expert is not active.
    void read(const double* means) {
        copy(means, N, means_);
        means_[N] = count_ > 0 ? target_ : infinity;  // which says nothing
        note_active();
        const double deviation = target_deviation();
        pool_.middle = pool_.mean = target_;
        pool_.read(means_, active_, experts_, size(all), bound(all, deviation));
        mean_ = guarded(pool_.mean);
        const double z = deviation > 0 ? bounded((mean() - target_) / deviation, 4) : 0.0,
                     apart = pool_.disagreement;
        coverage_.read(z);
        usual_ = is_early() ? (has_missed() ? infinity : 0.0) : scale(all);
        scale_ = usual_ * std::exp(noise_.read(z, pool_.count > 1 ? apart : 0.0));
    }

    // Of the example that was read last:
    double mean() const { return mean_; }
    /// The standard deviation of the forecast, without what parts owe to the share alone.
    double deviation() const {
        if (is_early()) return usual_;
        double sum = 0, total = 0;
        for (const long i : densities_.active()) {
            const Part part = this->part(i);
            const double weight = densities_.earned(i), apart = part.mean - mean();
            sum += weight * (part.scale * part.scale / (1 - 2 * part.thin) + apart * apart);
            total += weight;
        }
        return std::sqrt(sum / total);
    }
    /// What the density is a mixture of (parts() x 4): weight, mean, scale and 1 over the degrees
    /// of freedom. An expert that is not active has weight 0.
    void components(double* out) const {
        for (long i = 0; i < parts(); ++i, out += 4) {
            const Part part = this->part(i);
            out[0] = densities_.expert_weights(i), out[1] = part.mean;
            out[2] = part.scale, out[3] = part.thin;
        }
    }

    void forecast(double* out) const { out[0] = mean(), out[1] = deviation(); }
    /// The ends of the central interval that holds the target with this probability.
    void interval(double probability, double* out) const {
        const double outside = (1 - coverage_.level(probability)) / 2;
        for (const double sign : {-1.0, 1.0})
            *out++ =
                std::isfinite(usual_) && usual_ > 0 ? end(outside, sign) : mean() + sign * usual_;
    }

    // As a pool asks it: experts say mean and standard deviation (N x 2), of which the mean counts.
    static constexpr bool pauses = false;  // it also judges the first expert alone
    static constexpr double unknown = 1e300;
    long outputs() const { return 2; }
    void predict(const double* said, double* p) {
        for (long e = 0; e < N; ++e) said_[e] = said[2 * e];
        read(said_);
        forecast(p);
    }
    void run(const double* said, const double* y, const double* weight, long n, double* p) {
        for (long t = 0; t < n; ++t) {
            predict(said + t * 2 * N, p + 2 * t);
            learn(y[t], weight ? weight[t] : 1.0);
        }
    }
    /// Of an example whose outcome comes late: what the experts said when it was forecast.
    void learn(const double* said, double y, double weight, const double* then) {
        for (long e = 0; e < N; ++e)
            said_[e] = std::fabs(then[e]) < unknown ? then[e] : said[2 * e];
        read(said_);
        learn(y, weight);
    }
    long kept() const { return N; }
    void keep(const double* said, double* kept_) const {
        for (long e = 0; e < N; ++e) kept_[e] = speaks(said[2 * e]) ? said[2 * e] : unknown;
    }
    /// The weight of each expert in the mixture of the N.
    void expert_weights(double* out) const {
        std::vector<double> weight(std::size_t(all), 0.0);
        experts_.all(weight.data());
        const double own = weight.back();  // of the mean of the targets
        for (long e = 0; e < N; ++e) out[e] = weight[std::size_t(e)] / (1 - own);
    }

    /// Learns the target of the example that was read last. If it comes late, read first what the
    /// experts said when it was forecast.
    void learn(double y, double weight) {
        if (!(weight >= 0 && weight <= 1e12 && std::fabs(y) <= 1e100)) refuse_example();
        if (weight > 0) {
            score_ = 0;
            const double kept = std::pow(1 - rate, weight);
            const std::size_t n = is_regressed() ? activity_.order().size() : 0;
            if (n > 0) pool_.without(activity_.order(), active_, without_);
            for (std::size_t j = 0; j < n; ++j) without_[long(j)] = guarded(without_[long(j)]);
            if (!is_early()) {
                note_costs(y, n);
                weigh(y, weight, kept);
            }
            if (seen_[all] > 0) guard(y, weight);
            for (long e = 0; e < all; ++e)
                if (speaks(e)) note_size(e, y - means_[e], weight, kept);
            for (std::size_t j = 0; j < n; ++j)
                note_size(row_without(j), y - without_[long(j)], weight, kept);
            // Before there is a bound, experts know little, and one target may be far from all.
            if (seen_[all] >= unbounded) pool_.learn(y, bound(all, 0.0), weight);
            if (pool_.count > 0) note_size(all, y - mean(), weight, kept);
            note_target(y, weight);
        }
        ++steps_;
    }
    /// The log density that the forecast gave to the target learned last; 0 if that was too early.
    double score() const { return score_; }

    /// The weights of all in the mean of the example read last: they sum to 1.
    void weights(double* out) const {
        pool_.weights(active_, seen_[all] > 0, out);
        for (long e = 0; e < all; ++e) out[e] *= 1 - of_target();
        out[N] += of_target();
    }
    /// The weights of the parts of the density.
    void weights_of_parts(double* out) const { densities_.all(out); }

    const Activity& activity() const { return activity_; }
    Activity& activity() { return activity_; }
    /// Decides who is active; to be called when that is due.
    void review() {
        const auto rank = [&](const auto& experts) {
            return is_regressed() ? pool_.ranked(experts, active_) : experts;
        };
        activity_.review(rank, [](long) {});  // the ridge forgets by itself
    }

    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("steps", steps_);
        visitor("target", target_);
        visitor("square", square_);
        visitor("count", count_);
        const auto prefixed = [&](const char* prefix, auto& part) {
            Prefixed inner(visitor, prefix);
            part.visit(inner);
        };
        prefixed("activity.", activity_);
        prefixed("pool.", pool_.ridge());
        prefixed("noise.", noise_);
        prefixed("coverage.", coverage_);
        const auto weights = [&](const char* prefix, Weights& part) {
            Prefixed inner(visitor, prefix);
            part.visit_counters(inner);
            part.visit_arrays(inner);
        };
        weights("experts.", experts_);
        weights("parts.", densities_);
        weights("guard.", guard_);
        guard_.set_active({0, 1});
        visitor("level", level_, 1, sizes(), sizes());
        visitor("seen", seen_, 1, sizes(), sizes());
        is_read_ = false;
    }
    /// Whether what was read from a file makes sense.
    [[gnu::cold]] bool is_valid() const {
        const auto within = [](const Buffer& values, double least, double most) {
            return std::all_of(values + 0, values + values.size(),
                               [=](double x) { return x >= least && x <= most; });
        };
        return steps_ >= 0 && steps_ <= most_steps && std::fabs(target_) <= 1e100 && square_ >= 0 &&
               square_ <= 1e290 && count_ >= 0 && count_ <= 1e290 &&
               activity_.is_valid(most_steps) && pool_.ridge().is_valid() && noise_.is_valid() &&
               coverage_.is_valid() && experts_.sound() && densities_.sound() && guard_.sound() &&
               within(level_, -lowest, lowest) && within(seen_, 0, most_seen);
    }
    [[gnu::cold]] void start_over() {
        steps_ = 0, target_ = square_ = count_ = 0;
        activity_.start_over(), pool_.ridge().start_over();
        noise_.start_over(), coverage_.start_over();
        for (Weights* weights : {&experts_, &densities_, &guard_}) weights->start_over();
        guard_.set_active({0, 1});
        for (Buffer* numbers : {&level_, &seen_}) numbers->clear();
        is_read_ = false;
    }

   private:
    static constexpr const Part* shapes = noise_shapes;
    static constexpr double early = 5;              // residuals before a size means something
    static constexpr double certain = 16;           // targets met exactly before they are believed
    static constexpr double unbounded = 10;         // residuals before a bound does
    static constexpr double largest_miss = 20;      // sizes that a residual counts up to
    static constexpr double rate = 0.005;           // at which sizes are forgotten
    static constexpr double rate_of_experts = 0.5;  // to mix for the mean, densities are too sharp
    static constexpr double most_seen = 1e6;        // more changes nothing
    static constexpr double lowest = 345;           // the log of a size is within this
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    /// From the log of the geometric mean of |t3| to that of its scale: E log |t3| = -0.4508.
    static constexpr double to_scale = 0.4508;

    /// Residuals have a size: those of all, of the forecast, and of what it would be without the
    /// first j + 1 of the experts that the pool can do without.
    long sizes() const { return all + 1 + N; }
    long row_without(std::size_t j) const { return all + 1 + long(j); }
    static bool speaks(double mean) { return std::fabs(mean) <= 1e100; }
    bool speaks(long e) const { return speaks(means_[e]); }
    bool is_early() const { return seen_[all] < early; }
    /// Whether the mean is more than that of a mixture.
    bool is_regressed() const { return seen_[all] > 0 && pool_.count > 1; }
    /// Or the forecasts have all been exact.
    bool has_missed() const { return seen_[all] > 0 || count_ <= certain; }
    /// The geometric mean of recent residuals of an expert, or of a pool; 0: not known.
    double size(long e) const { return seen_[e] > 0 ? std::exp(level_[e]) : 0.0; }
    /// What a residual or a deviation of a pool counts up to.
    double bound(long row, double least) const {
        return seen_[row] < unbounded ? infinity : largest_miss * std::max(size(row), least);
    }
    double scale(long e) const { return std::exp(level_[e] + to_scale); }
    double target_deviation() const { return count_ > 0 ? std::sqrt(square_ / count_) : 0.0; }

    /// The experts whose size is known are mixed, or all that are active if there are none.
    void note_active() {
        const auto those = [&](double least) {
            next_.clear();
            for (long e = 0; e < all; ++e)
                if (speaks(e) && seen_[e] >= least) next_.push_back(e);
        };
        those(early);
        if (next_.empty()) those(0);
        if (is_read_ && next_ == active_) return;
        active_ = next_, is_read_ = true;
        experts_.set_active(active_);
        std::vector<long> all(readings);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = long(i);
        for (const long e : active_) all.push_back(readings + e);
        densities_.set_active(std::move(all));
    }

    Part part(long i) const {
        if (i >= readings) {
            const long e = i - readings;
            const bool is_known = speaks(e) && seen_[e] >= early;
            return {speaks(e) ? means_[e] : mean(), is_known ? scale(e) : usual_, shapes[0].thin,
                    shapes[0].height};
        }
        Part out = shapes[i / multiples % kinds];
        static const auto multiple = [] {
            std::array<double, multiples> each{};
            for (long j = 0; j < multiples; ++j) each[std::size_t(j)] = std::exp(0.25 * j - 0.5);
            return each;
        }();
        out.mean = mean();
        out.scale =
            (i < kinds * multiples ? scale_ : usual_) * multiple[std::size_t(i % multiples)];
        return out;
    }

    /// The density of a part at y times the noise's usual scale.
    double likelihood(const Part& part, double y) const {
        return part.density(y) * (usual_ / part.scale);
    }

    /// Where the density has this probability beyond, on one side: Newton's method in a bracket.
    double end(double outside, double sign) const {
        const auto beyond = [&](double y) {
            double sum = 0;
            for (const long i : densities_.active())
                sum += densities_.expert_weights(i) * part(i).beyond(y, sign);
            return sum;
        };
        double width = usual_, near = mean();
        while (beyond(near) < outside && width < 1e12 * usual_) near -= sign * (width *= 2);
        width = usual_;
        double far = near + sign * width;
        while (beyond(far) > outside && width < 1e60 * usual_) far += sign * (width *= 2);
        double y = far;
        for (long t = 0; t < 100 && near != far; ++t) {
            const double excess = beyond(y) - outside;
            (excess > 0 ? near : far) = y;
            double density = 0;
            for (const long i : densities_.active())
                density += densities_.expert_weights(i) * part(i).density(y) / part(i).scale;
            const double next = y + sign * excess / density;
            const bool is_within = sign * (next - near) > 0 && sign * (far - next) > 0;
            const double before = y;
            y = is_within ? next : near + (far - near) / 2;
            if (std::fabs(y - before) <= 1e-14 * std::max(std::fabs(y), usual_)) break;
        }
        return y;
    }

    /// Learns how likely each part and each expert held the target to be, and the noise.
    void weigh(double y, double weight, double most_kept) {
        constexpr double least = 1e-280;
        double sum = 0, above = 0;
        for (const long i : densities_.active()) {
            const Part part = this->part(i);
            likelihood_[i] = std::max(likelihood(part, y), least);
            sum += densities_.expert_weights(i) * likelihood_[i];
            above += densities_.expert_weights(i) * part.beyond(y, 1);
        }
        coverage_.learn(2 * std::min(above, 1 - above), weight);
        score_ = std::log(sum) - std::log(usual_);
        for (const long e : active_) of_experts_[e] = likelihood_[readings + e];
        power(likelihood_, densities_.active(), weight);
        densities_.learn(likelihood_);
        if (active_.size() > 1) {
            power(of_experts_, active_, rate_of_experts * weight);
            experts_.learn(of_experts_);
        }
        const double miss = std::fabs(y - mean());
        const double log_ratio = miss > 0 ? std::log(miss) - level_[all] : -infinity;
        const double before = seen_[all] - early;
        noise_.learn(log_ratio, weight, std::min(before / (before + weight), most_kept));
    }
    /// The weight of the mean of the targets beside the pool; none as long as all has been exact.
    double of_target() const { return seen_[all] > 0 ? guard_.earned(1) : 0.0; }
    /// What is forecast if the pool says this.
    double guarded(double mean) const { return mean + of_target() * (target_ - mean); }
    /// Learns which of the two was nearer. One example counts for little: an outlier is no reason.
    void guard(double y, double weight) {
        const double scale = this->scale(all);
        double logs[2], likelihood[2];
        for (const bool is_target : {false, true}) {
            const Part part{is_target ? target_ : pool_.mean, scale, shapes[0].thin,
                            shapes[0].height};
            logs[is_target] = std::log(std::max(part.density(y), 1e-280));
        }
        const double apart = weight * bounded(logs[1] - logs[0], 1);
        likelihood[0] = std::exp(std::min(-apart, 0.0));
        likelihood[1] = std::exp(std::min(apart, 0.0));
        guard_.learn(likelihood);
    }
    /// What the pool would lose without the n least useful experts, all with a noise of constant
    /// size: in nats, beside a loss of 1 (a density has no loss that is free of units).
    void note_costs(double y, std::size_t n) {
        const double level = std::fabs(y - mean());
        if (n == 0) return activity_.note(level);
        const auto log_density = [&](double mean, long row) {
            const Part part{mean, scale(row), shapes[0].thin, shapes[0].height};
            return std::log(std::max(likelihood(part, y), 1e-280));
        };
        const double own = log_density(mean(), all);
        for (std::size_t j = 0; j < n; ++j) {
            const long row = row_without(j);
            cost_[long(j)] = seen_[row] < early ? 0.0 : own - log_density(without_[long(j)], row);
        }
        activity_.note(cost_, 1, level);
    }
    /// Relative to the largest, to a power.
    static void power(Buffer& likelihood, const std::vector<long>& which, double weight) {
        double top = 0;
        for (const long i : which) top = std::max(top, likelihood[i]);
        for (const long i : which) {
            likelihood[i] /= top;
            if (weight != 1) likelihood[i] = std::pow(likelihood[i], weight);
        }
    }

    void note_size(long e, double residual, double weight, double most_kept) {
        double& seen = seen_[e];
        if (residual == 0 && seen == 0) return;  // it has no size yet
        double x = residual != 0 ? std::log(std::fabs(residual)) : level_[e] - 4;
        if (seen >= early) x = level_[e] + bounded(x - level_[e], 4);
        // Later residuals count for more at first: the experts knew nothing.
        const double kept =
            std::min(seen * (seen + 1) / ((seen + weight) * (seen + weight + 1)), most_kept);
        level_[e] = bounded(x + kept * (level_[e] - x), lowest);
        seen = std::min(seen + weight, most_seen);
    }
    void note_target(double y, double weight) {
        const double most = 10 * target_deviation();
        if (count_ >= 16 && most > 0) y = target_ + bounded(y - target_, most);
        const double before = y - target_;
        count_ += weight;
        target_ += before * (weight / count_);
        square_ += weight * before * (y - target_);
    }

    MeanPool pool_;
    Noise noise_;
    Coverage coverage_;
    Weights experts_, densities_, guard_;  // guard_: of the pool, and the mean of the targets
    Activity activity_;
    Buffer level_, seen_;  // of the experts and of the pools: log size, residuals it is made of
    long steps_ = 0;
    double target_ = 0, square_ = 0, count_ = 0;  // mean, sum of squares and number of targets
    double score_ = 0;

    // The example that was read last.
    Buffer means_, said_;
    double mean_ = 0;                  // of the forecast
    double usual_ = 0, scale_ = 0;     // of the noise: at its recent level, and of this example
    std::vector<long> active_, next_;  // the experts in the mixture
    bool is_read_ = false;             // whether the weights know who is active
    Buffer likelihood_, of_experts_, without_, cost_;
};

}  // namespace MIXABLE_ISA
