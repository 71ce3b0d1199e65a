// Experts of numbers pooled: a regression on their means, and a noise whose size may depend on the
// forecast.
//
// The mean is that of the mixture of the experts, plus a ridge regression on how far each of them
// is from it: Vovk-Azoury-Warmuth, the paper's squared-loss case (Section 4.1), around a prior at
// the mixture, with forgetting. All is measured in sizes of recent residuals, so that the unit of
// the targets does not matter, and a residual counts up to a bound.
//
// The density is a mixture of t3, t8 and normal ones at several multiples of the noise's size, and
// of each expert by itself as the fallback: over n examples its log loss is at most
// ln(2 (readings + N)) above that of the best of them that is always active (weights.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "dense.hpp"
#include "rest.hpp"
#include "sparse_row.hpp"
#include "state.hpp"
#include "weights.hpp"

namespace MIXABLE_ISA {

/// Ridge regression that counts the input which it forecasts as seen, and forgets.
class ForgettingRidge {
   public:
    static constexpr double keep = 0.998;  // what an example keeps of its weight at each step

    ForgettingRidge(long features, double tie)
        : n(features), tie_(tie), A_(n * n), b_(n), factor_(n * n), w_(n) {}

    const long n;

    /// x . (A + x x^T + tie unit^2 I)^-1 b
    double predict(const double* x, double unit) {
        for (long i = 0; i < n; ++i) {
            const double by = x[i] / unit;
            for (long j = i; j < n; ++j)
                factor_[i * n + j] = A_[i * n + j] / unit / unit + by * (x[j] / unit);
            factor_[i * n + i] += tie_;
            w_[i] = b_[i] / unit / unit;
        }
        cholesky(n, factor_, n, tie_);
        solve_transposed(n, factor_, n, w_);
        solve(n, factor_, n, w_);
        double sum = 0;
        for (long i = 0; i < n; ++i) sum += x[i] * w_[i];
        return std::isfinite(sum) ? sum : 0.0;
    }
    void learn(const double* x, double y, double weight) {
        const double kept = std::pow(keep, weight), times = (1 - kept) / (1 - keep);
        for (long i = 0; i < n; ++i) {
            b_[i] = kept * b_[i] + times * x[i] * y;
            for (long j = i; j < n; ++j) A_[i * n + j] = kept * A_[i * n + j] + times * x[i] * x[j];
        }
    }
    /// The weights of the last forecast.
    const double* weights() const { return w_; }

    void visit(Visitor& visitor) {
        visitor("A", A_, n, n, n);
        visitor("b", b_, 1, n, n);
    }
    /// Whether the numbers can be sums of products.
    bool is_valid() const {
        constexpr double most = 1e290;
        for (long i = 0; i < n; ++i)
            for (long j = i; j < n; ++j) {
                const double both = std::sqrt(A_[i * n + i]) * std::sqrt(A_[j * n + j]);
                if (!(std::fabs(A_[i * n + j]) <= (1 + 1e-6) * both) || !(both <= most))
                    return false;
            }
        return std::all_of(b_ + 0, b_ + n, [](double b) { return std::fabs(b) <= most; });
    }
    void start_over() { A_.clear(), b_.clear(); }

   private:
    double tie_;
    Buffer A_, b_, factor_, w_;  // of A and the factor the upper triangle
};

/// The mean of the first experts: that of their mixture, and a regression on how far from it each
/// of them is.
class MeanPool {
   public:
    explicit MeanPool(long experts) : n(experts), mixed_(n), ridge_(n, 50.0), apart_(n) {}

    const long n;

    /// Reads the means of those of the `active` experts that are among its own. They are at most
    /// `most` from the mixture.
    void read(const double* means, const std::vector<long>& active, const Weights& weights,
              double unit, double most) {
        double total = 0;
        count = 0;
        mixed_.clear();
        for (const long e : active)
            if (e < n) total += mixed_[e] = weights.earned(e), ++count;
        if (count == 0) return;
        middle = disagreement = 0;
        for (const long e : active)
            if (e < n) {
                mixed_[e] = total > 0 ? mixed_[e] / total : 1.0 / double(count);
                middle += mixed_[e] * means[e];
            }
        apart_.clear();
        for (const long e : active)
            if (e < n) {
                apart_[e] = bounded(means[e] - middle, most);
                const double ratio = unit > 0 ? apart_[e] / unit : 0.0;
                disagreement += mixed_[e] * ratio * ratio;
            }
        mean = middle;
        disagreement = std::sqrt(disagreement);
        if (count > 1 && unit > 0) mean += ridge_.predict(apart_, unit);
    }
    /// Learns the target of the example read last; it counts as at most `most` from the mixture.
    void learn(double y, double most, double weight) {
        if (count > 1) ridge_.learn(apart_, bounded(y - middle, most), weight);
    }

    /// The weights of the experts in the mean of the example read last: they sum to 1.
    void weights(const std::vector<long>& active, bool has_unit, double* out) const {
        const double *w = ridge_.weights(), by = count > 1 && has_unit ? 1.0 : 0.0;
        double sum = 0;
        copy(mixed_, n, out);
        for (const long e : active) sum += by * w[e];
        for (const long e : active) out[e] = by * w[e] + mixed_[e] * (1 - sum);
    }
    ForgettingRidge& ridge() { return ridge_; }
    const ForgettingRidge& ridge() const { return ridge_; }

    // Of the example read last: how many experts, the mixture's mean, the pool's, and the mixture's
    // standard deviation in units.
    long count = 0;
    double middle = 0, mean = 0, disagreement = 0;

   private:
    Buffer mixed_;  // the weights of the mixture, without what they owe to the share alone
    ForgettingRidge ridge_;
    Buffer apart_;
};

/// The judge over N experts of numbers. It asks for their means alone: it keeps the size of each
/// one's residuals by itself. An expert that is yet to come is one that is not active.
class NumberJudge {
   public:
    static constexpr long kinds = 3, multiples = 7, readings = 2 * kinds * multiples;

    /// The first of the experts never rest; what the others gain is what they gain over these.
    NumberJudge(long experts, long first, double share = 1e-3, double least_gain = 0.005)
        : N(experts),
          pool_(N),
          first_(first),
          noise_(features, 5.0),
          experts_(N, share),
          densities_(readings + N, share),
          rest_(least_gain),
          level_(N + 2),
          seen_(N + 2),
          means_(N),
          said_(N),
          likelihood_(readings + N),
          of_experts_(N) {}

    const long N;

    long steps() const { return steps_; }
    /// Parts of the density.
    long parts() const { return readings + N; }

    /// Reads the experts' means of an example; NaN says that an expert is not active.
    void read(const double* means) {
        copy(means, N, means_);
        note_active();
        const double deviation = target_deviation();
        pool_.middle = pool_.mean = target_;
        for (MeanPool* pool : {&pool_, &first_}) {
            const long row = row_of(*pool);
            pool->read(means_, active_, experts_, size(row), bound(row, deviation));
        }
        const double z = deviation > 0 ? bounded((mean() - target_) / deviation, 4) : 0.0,
                     apart = pool_.disagreement;
        input_ = {z, z * z / 2, pool_.count > 1 && apart > 0 ? bounded(std::log(apart), 3) : 0.0};
        for (std::size_t i = 0; i < features; ++i)
            centred_[i] = bounded(input_[i] - centre_[long(i)], 4);
        usual_ = is_early() ? (has_missed() ? infinity : 0.0) : scale(N);
        scale_ = usual_ * std::exp(bounded(noise_.predict(centred_.data(), 1.0), 3));
    }

    // Of the example that was read last:
    double mean() const { return pool_.mean; }
    /// The standard deviation of the forecast, without what parts owe to the share alone.
    double deviation() const {
        if (is_early()) return usual_;
        double sum = 0, total = 0;
        for (const long i : densities_.awake()) {
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
            out[0] = densities_.trust(i), out[1] = part.mean;
            out[2] = part.scale, out[3] = part.thin;
        }
    }

    void forecast(double* out) const { out[0] = mean(), out[1] = deviation(); }

    // As a pool asks it: experts say mean and standard deviation (N x 2), of which the mean counts.
    static constexpr bool pauses = false;  // it also judges the first experts alone
    static constexpr double unknown = 1e300;
    long outputs() const { return 2; }
    long first() const { return first_.n; }
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
    /// The weight of each expert in the mixture.
    void trust(double* out) const { experts_.all(out); }

    /// Learns the target of the example that was read last. If it comes late, read first what the
    /// experts said when it was forecast.
    void learn(double y, double weight) {
        if (!(weight >= 0 && weight <= 1e12 && std::fabs(y) <= 1e100)) refuse_example();
        if (weight > 0) {
            score_ = 0;
            const double kept = std::pow(1 - rate, weight);
            if (!is_early()) weigh(y, weight, kept);
            for (long e = 0; e < N; ++e)
                if (speaks(e)) note_size(e, y - means_[e], weight, kept);
            for (MeanPool* pool : {&pool_, &first_}) {
                const long row = row_of(*pool);
                pool->learn(y, bound(row, 0.0), weight);
                if (pool->count > 0) note_size(row, y - pool->mean, weight, kept);
            }
            note_target(y, weight);
        }
        ++steps_;
    }
    /// The log density that the forecast gave to the target learned last; 0 if that was too early.
    double score() const { return score_; }

    /// The weights of the experts in the mean of the example read last: they sum to 1.
    void weights(double* out) const { pool_.weights(active_, seen_[N] > 0, out); }
    /// The weights of the parts of the density.
    void weights_of_parts(double* out) const { densities_.all(out); }

    const Rest& rest() const { return rest_; }
    Rest& rest() { return rest_; }

    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("steps", steps_);
        visitor("target", target_);
        visitor("square", square_);
        visitor("count", count_);
        const auto prefixed = [&](const char* prefix, auto& part) {
            Prefixed inner(visitor, prefix);
            part.visit(inner);
        };
        prefixed("rest.", rest_);
        prefixed("pool.", pool_.ridge());
        prefixed("first.", first_.ridge());
        prefixed("noise.", noise_);
        const auto weights = [&](const char* prefix, Weights& part) {
            Prefixed inner(visitor, prefix);
            part.visit_counters(inner);
            part.visit_arrays(inner);
        };
        weights("experts.", experts_);
        weights("parts.", densities_);
        visitor("centre", centre_, 1, features, features);
        visitor("level", level_, 1, N + 2, N + 2);
        visitor("seen", seen_, 1, N + 2, N + 2);
        is_read_ = false;
    }
    /// Whether what was read from a file makes sense.
    [[gnu::cold]] bool is_valid() const {
        const auto within = [](const Buffer& values, double least, double most) {
            return std::all_of(values + 0, values + values.size(),
                               [=](double x) { return x >= least && x <= most; });
        };
        return steps_ >= 0 && steps_ <= most_steps && std::fabs(target_) <= 1e100 && square_ >= 0 &&
               square_ <= 1e290 && count_ >= 0 && count_ <= 1e290 && rest_.sound(most_steps) &&
               pool_.ridge().is_valid() && first_.ridge().is_valid() && noise_.is_valid() &&
               experts_.sound() && densities_.sound() && within(centre_, -10, 10) &&
               within(level_, -lowest, lowest) && within(seen_, 0, most_seen);
    }
    [[gnu::cold]] void start_over() {
        steps_ = 0, target_ = square_ = count_ = 0;
        rest_.start_over();
        for (auto* ridge : {&pool_.ridge(), &first_.ridge(), &noise_}) ridge->start_over();
        for (Weights* weights : {&experts_, &densities_}) weights->start_over();
        for (Buffer* numbers : {&centre_, &level_, &seen_}) numbers->clear();
        is_read_ = false;
    }

   private:
    struct Part {
        double mean, scale, thin, height;  // 1 / degrees of freedom; the density at 0
    };
    /// t3, t8 and normal.
    static constexpr Part shapes[kinds] = {{0, 0, 1.0 / 3, 0.36755259694786137},
                                           {0, 0, 1.0 / 8, 0.38669902096139263},
                                           {0, 0, 0, 0.39894228040143268}};

    static constexpr std::size_t features = 3;      // of the noise
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

    /// Where the size of a pool's residuals stands.
    long row_of(const MeanPool& pool) const { return &pool == &pool_ ? N : N + 1; }
    static bool speaks(double mean) { return std::fabs(mean) <= 1e100; }
    bool speaks(long e) const { return speaks(means_[e]); }
    bool is_early() const { return seen_[N] < early; }
    /// Or the forecasts have all been exact.
    bool has_missed() const { return seen_[N] > 0 || count_ <= certain; }
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
            for (long e = 0; e < N; ++e)
                if (speaks(e) && seen_[e] >= least) next_.push_back(e);
        };
        those(early);
        if (next_.empty()) those(0);
        if (is_read_ && next_ == active_) return;
        active_ = next_, is_read_ = true;
        experts_.set_awake(active_);
        std::vector<long> all(readings);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = long(i);
        for (const long e : active_) all.push_back(readings + e);
        densities_.set_awake(std::move(all));
    }

    Part part(long i) const {
        if (i >= readings) {
            const long e = i - readings;
            const bool is_known = speaks(e) && seen_[e] >= early;
            return {speaks(e) ? means_[e] : mean(), is_known ? scale(e) : usual_, shapes[0].thin,
                    shapes[0].height};
        }
        Part out = shapes[std::size_t(i / multiples % kinds)];
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
        const double q = bounded((y - part.mean) / part.scale, 1e60), s = q * q;
        double at = 0;
        if (part.thin == 0) {
            at = std::exp(-s / 2);
        } else {
            const double square = (1 + s * part.thin) * (1 + s * part.thin);
            at = part.thin > 0.2 ? 1 / square : 1 / (square * square * std::sqrt(1 + s / 8));
        }
        return part.height * at * (usual_ / part.scale);
    }

    /// Learns how likely each part and each expert held the target to be, and the noise.
    void weigh(double y, double weight, double most_kept) {
        constexpr double least = 1e-280;
        double sum = 0;
        for (const long i : densities_.awake()) {
            likelihood_[i] = std::max(likelihood(part(i), y), least);
            sum += densities_.trust(i) * likelihood_[i];
        }
        score_ = std::log(sum) - std::log(usual_);
        for (const long e : active_) of_experts_[e] = likelihood_[readings + e];
        note_gain(y);
        power(likelihood_, densities_.awake(), weight);
        densities_.learn(likelihood_);
        if (active_.size() > 1) {
            power(of_experts_, active_, rate_of_experts * weight);
            experts_.learn(of_experts_);
        }
        const double miss = std::fabs(y - mean());
        const double log_ratio = miss > 0 ? std::log(miss) - level_[N] : -infinity;
        noise_.learn(centred_.data(), bounded(log_ratio, 2.5), weight);
        const double before = seen_[N] - early,
                     kept = std::min(before / (before + weight), most_kept);
        for (std::size_t i = 0; i < features; ++i)
            centre_[long(i)] = input_[i] + kept * (centre_[long(i)] - input_[i]);
    }
    /// What the pool has gained over that of the first experts, both with a noise of constant size:
    /// in nats, beside a loss of 1 (a density has no loss that is free of units).
    void note_gain(double y) {
        if (first_.count == 0 || seen_[N + 1] < early) return;
        const auto of = [&](const MeanPool& pool) {
            const Part part{pool.mean, scale(row_of(pool)), shapes[0].thin, shapes[0].height};
            return std::max(likelihood(part, y), 1e-280);
        };
        const double gain = std::log(of(pool_) / of(first_));
        rest_.note(std::exp(-1.0), std::exp(bounded(gain, 600) - 1));
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

    MeanPool pool_, first_;  // of all experts, and of those that never rest
    ForgettingRidge noise_;
    Weights experts_, densities_;
    Rest rest_;
    Buffer level_, seen_;  // of the experts and of the pools: log size, residuals it is made of
    Buffer centre_{long(features)};  // the mean input of the noise
    long steps_ = 0;
    double target_ = 0, square_ = 0, count_ = 0;  // mean, sum of squares and number of targets
    double score_ = 0;

    // The example that was read last.
    Buffer means_, said_;
    double usual_ = 0, scale_ = 0;  // of the noise: at its recent level, and of this example
    std::array<double, features> input_{}, centred_{};
    std::vector<long> active_, next_;  // the experts in the mixture
    bool is_read_ = false;             // whether the weights know who is active
    Buffer likelihood_, of_experts_;
};

}  // namespace MIXABLE_ISA
