// What the ensembles of mixable.AutoGAF and mixable.AutoRidge consist of: how posteriors are read,
// and how readings are scored and mixed.
#pragma once

#include "core/rule/class_rules.hpp"
#include "core/rule/folklore.hpp"
#include "core/rule/gaf.hpp"
#include "core/rule/gradient.hpp"
#include "ensemble.hpp"

namespace MIXABLE_ISA {

/// A posterior with the rule of GAF, read at several hedge widths alpha, over `wider`; or a
/// fallback with the rule of another, which has one reading.
template <class Rule>
class RuleReadings : public Readings<long> {
   public:
    explicit RuleReadings(Rule rule, std::vector<double> alphas = {1.0}, double wider = 1)
        : rule_(std::move(rule)), alphas_(std::move(alphas)), wider_(wider) {}
    long count() const override { return long(alphas_.size()); }
    void begin(const double* m, const double* G, long step) override { rule_.begin(m, G, step); }
    void read(long j, double* p) override {
        if constexpr (is_full || is_structured)
            rule_.predict(alphas_[std::size_t(j)] / wider_, p);
        else
            rule_.predict(p);
    }
    void learn(long y, double weight, double* v, double* F) override {
        rule_.learn(y, weight, v, F);
    }
    double width(long) const override { return 0.5; }
    std::optional<InLanes> in_lanes() const override {
        const Structure full = Structure::full;
        if constexpr (is_full)
            if (rule_.is_in_closed_form())
                return {{{rule_.outputs, alphas_, rule_.mu, full},
                         {rule_.beta, rule_.is_averaged, wider_}}};
        if constexpr (is_structured)
            return {{{rule_.outputs, alphas_, rule_.mu,
                      rule_.is_shared ? Structure::shared : Structure::blocks},
                     {rule_.beta, false, wider_}}};
        return {};
    }

   private:
    static constexpr bool is_full = std::is_same_v<Rule, GafRule<double>>,
                          is_structured = std::is_same_v<Rule, ClassGafRule<double>>;

    Rule rule_;
    std::vector<double> alphas_;
    double wider_;
};

/// Class c has the probability (n_c + 1/2) / (n + K/2).
class RatesReadings final : public Readings<long> {
   public:
    explicit RatesReadings(long classes) : K(classes) {}
    long count() const override { return 1; }
    void begin(const double* m, const double*, long) override { m_ = m; }
    void read(long, double* p) override {
        double total = 0;
        for (long c = 0; c < K; ++c) total += m_[c];
        for (long c = 0; c < K; ++c) p[c] = m_[c] / total;
    }
    void learn(long y, double weight, double* v, double*) override {
        set_to_zero(v, K);
        v[y] = weight;
    }
    double width(long) const override { return 0; }

   private:
    const long K;
    const double* m_ = nullptr;
};

/// Bayesian linear regression. With prior variance s / lam and noise variance s, the mean does not
/// depend on s and the forecast's variance is s (1 + G): one posterior is read at several s, which
/// are multiples of the size that its own misses have had.
///
/// It is read with normal noise and with noise of Student's t-distributions, of `tails` degrees of
/// freedom. One that is robust takes each example with the weight that it has in expectation if the
/// noise has such a distribution, (nu + 1) / (nu + r^2 / s) for a miss r: a far outlier has next to
/// none. Lange, K., Little, R. and Taylor, J. (1989). Robust statistical modeling using the t
/// distribution. JASA 84.
class RidgeReadings : public Readings<double> {
   public:
    /// `tails`: infinity stands for normal noise.
    RidgeReadings(std::vector<double> multiples, const std::vector<double>& tails, bool robust)
        : multiples_(std::move(multiples)), robust_(robust) {
        for (const double tail : tails) {
            const double height = std::lgamma((tail + 1) / 2) - std::lgamma(tail / 2);
            const bool normal = std::isinf(tail);
            tails_.push_back({1 / tail, normal ? 0.0 : height - 0.5 * std::log(tail / 2)});
        }
        for (const double multiple : multiples_) logs_.push_back(std::log(multiple));
    }
    long count() const override { return long(multiples_.size() * tails_.size()); }
    void begin(const double* m, const double* G, long) override {
        m_ = m[0];
        G_ = std::max(G[0], 0.0);  // rounding may leave less
        log_width_ = log_size_ + std::log1p(G_);
    }
    void read(long j, double* out) override {
        const auto [thin, height] = tails_[std::size_t(j) / multiples_.size()];
        out[0] = m_;
        out[1] = n_ == 0 && log_size_ < convincing
                     ? HUGE_VAL
                     : width(j) * (1 + G_);  // as long as nothing was missed, its size is not known
        out[2] = height - 0.5 * (logs_[std::size_t(j) % multiples_.size()] + log_width_);
        out[3] = thin;
    }
    void learn(double y, double weight, double* v, double* F) override {
        const double size = (y - m_) * (y - m_) / (1 + G_);
        const double counts = weight * (robust_ && settled() ? credence(size) : 1.0);
        v[0] = counts * (m_ - y) / (1 + counts * G_);
        F[0] = std::sqrt(counts);
        if (weight == 0) return;
        if (n_ == 0 && size < 1e-280) {
            log_size_ = std::min(log_size_ + 1, convincing);
            return;
        }
        // The mean of log of a squared normal variable is that of its variance, less 1.27. The
        // logarithm, for no outlier to matter much.
        const double noted =
            n_ == 0 ? std::log(size)
                    : std::max(std::log(std::max(size, 1e-280)), log_size_ - 1.27 - 30);
        const bool settled_before = settled();
        n_ = std::min(n_ + 1, memory_length);
        log_size_ += (noted + 1.27 - log_size_) / n_;  // the first time, whatever it was before
        // One step towards the most likely s. Unlike the mean of logarithms it is not spoiled by
        // targets that are often met exactly.
        const double step = settled_before ? credence(size) * relative(size) - 1 : 0.0;
        log_scale_ = settled_before ? log_scale_ + std::log1p(step / n_) : log_size_;
        log_scale_ = std::max(log_scale_, -600.0);
    }
    double width(long j) const override {
        return n_ > 0 ? multiples_[std::size_t(j) % multiples_.size()] * std::exp(log_size_) : 0.0;
    }
    bool settled() const override { return n_ >= enough; }
    std::vector<double*> memory() override { return {&n_, &log_size_, &log_scale_}; }
    bool memory_is_valid() const override {
        if (!(n_ >= 0 && n_ <= memory_length && n_ == std::floor(n_))) return false;
        if (!(std::fabs(log_scale_) <= 650)) return false;
        return n_ > 0 ? std::fabs(log_size_) <= 650 : log_size_ >= 0 && log_size_ <= convincing;
    }

   private:
    struct Tail {
        double thin, height;  // 1 / nu; the density at the mean, in logarithms
    };

    /// A squared miss in units of s.
    double relative(double size) const { return size * std::exp(-log_scale_); }
    /// How much an example counts, of a squared miss of this size.
    double credence(double size) const { return (nu + 1) / (nu + relative(size)); }

    static constexpr double nu = 6;  // of those that are robust
    static constexpr double memory_length = 1000;
    // Misses after which their size is steady enough for readings to be judged by it.
    static constexpr double enough = 4;
    std::vector<double> multiples_, logs_;
    std::vector<Tail> tails_;
    bool robust_;
    // Hits without a miss after which it is believed that there is no noise.
    static constexpr double convincing = 16;
    double m_ = 0, G_ = 0, log_width_ = 0;
    // Misses that the size is the mean of; as long as there are none, log_size_ counts the hits.
    double n_ = 0, log_size_ = 0;
    double log_scale_ = 0;  // s of the t-distribution of those that are robust
};

// A Family has: Outcome, accepts(y), has(number) (whether a number from a file is an outcome that
// is accepted), width (numbers of a reading), outputs (numbers of the forecast),
// log_likelihoods(experts, reading, y, out), begin_mix, add, end_mix, experts_may_rest (whether
// experts may rest), trims (whether experts that live on the share alone are left out of the
// forecast), scores (whether `run` returns log scores, too).

/// Readings and forecasts are probabilities of the classes. A posterior is in the coordinates of
/// the classes, or in those of softmax.hpp; the weights are shown in the former, summing to 0.
class ClassFamily {
   public:
    using Outcome = long;
    explicit ClassFamily(long classes) : classes_(classes) {}
    long predictions() const { return classes_; }
    void mean(const Knowledge& state, double* out) const {
        const long K = classes_, d = state.d;
        Buffer own(state.k * d), one(pad_to(K, 8)), expanded(pad_to(K, 8));
        state.mean(own);
        const Softmax<double> softmax(K);
        for (long l = 0; l < d; ++l) {
            for (long c = 0; c < state.k; ++c) one[c] = own[c * d + l];
            if (state.k < K) softmax.expand(one, expanded);
            const double* theta = state.k < K ? expanded : one;
            double mean = 0;
            for (long c = 0; c < K; ++c) mean += theta[c] / double(K);
            for (long c = 0; c < K; ++c) out[c * d + l] = theta[c] - mean;
        }
    }
    /// (d x K x K)
    void feature_covariances(const Knowledge& state, double* out) const {
        const long K = classes_, k = state.k;
        if (k == K) return state.feature_covariances(out);
        Buffer own(state.d * k * k), half(k * K), column(K), expanded(K);
        state.feature_covariances(own);
        const Softmax<double> softmax(K);
        for (long l = 0; l < state.d; ++l) {
            for (long i = 0; i < k; ++i) softmax.expand(own + (l * k + i) * k, half + i * K);
            for (long c = 0; c < K; ++c) {
                for (long i = 0; i < k; ++i) column[i] = half[i * K + c];
                softmax.expand(column, expanded);
                copy(expanded, K, out + (l * K + c) * K);
            }
        }
    }
    long width() const { return classes_; }
    long outputs() const { return classes_; }
    /// The log likelihood of y for each of some experts; `reading(r)` is that of expert r. (Those
    /// between them have some number.)
    template <class F>
    void log_likelihoods(const std::vector<long>& experts, F&& reading, long y, Buffer& out) {
        for (const long r : experts) out[r] = reading(r)[y];
        for (long r = 0; r < out.size(); r += W)
            store(out + r, log(max(load(out + r), splat(std::numeric_limits<double>::min()))));
    }
    void begin_mix(double* p) const { set_to_zero(p, classes_); }
    void add(double weight, const double* reading, double* p) const {
        for (long c = 0; c < classes_; ++c) p[c] += weight * reading[c];
    }
    static void end_mix(double*) {}
    static constexpr bool experts_may_rest = true, trims = false, scores = false;
    static constexpr bool accepts(long) { return true; }
    bool has(double y) const { return y >= 0 && y < double(classes_) && y == std::floor(y); }

   private:
    long classes_;
};

/// Readings are mean, squared scale, log of the density at the mean (without 2 pi), and 1 / nu, 0
/// if normal. Forecasts are mean and standard deviation.
class NormalFamily {
   public:
    using Outcome = double;
    static constexpr bool experts_may_rest = false, scores = true;
    // Or a noise of a million, weighted to one in a million, would make up the variance.
    static constexpr bool trims = true;
    static constexpr long width() { return 4; }
    static constexpr long outputs() { return 2; }
    static constexpr long predictions() { return 1; }
    static void mean(const Knowledge& state, double* out) { state.mean(out); }
    static void feature_covariances(const Knowledge& state, double* out) {
        state.feature_covariances(out);
    }
    static bool accepts(double y) { return std::fabs(y) <= 1e100; }
    static bool has(double y) { return accepts(y); }
    template <class F>
    static void log_likelihoods(const std::vector<long>& experts, F&& reading, double y,
                                Buffer& out) {
        for (const long r : experts) out[r] = std::max(log_likelihood(reading(r), y), -1e300);
    }
    static double log_likelihood(const double* reading, double y) {
        const double miss = y - reading[0], square = miss * miss / reading[1], thin = reading[3];
        return reading[2] -
               (thin == 0 ? 0.5 * square : 0.5 * (1 / thin + 1) * std::log1p(thin * square));
    }
    /// Mean and variance are gathered one reading at a time, without cancellation.
    void begin_mix(double* p) { p[0] = p[1] = total_ = 0; }
    void add(double weight, const double* reading, double* p) {
        if (weight == 0) return;
        total_ += weight;
        const double step = reading[0] - p[0], variance = reading[1] / (1 - 2 * reading[3]);
        p[0] += step * weight / total_;
        p[1] += weight * (variance + step * (reading[0] - p[0]));
    }
    void end_mix(double* p) const { p[1] = std::sqrt(p[1] / total_); }

   private:
    double total_ = 0;
};

}  // namespace MIXABLE_ISA
