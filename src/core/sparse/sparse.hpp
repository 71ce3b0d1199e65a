// Forecasts of labels from sparse rows: several softmax regressions with one accumulator for each
// feature, mixed by their losses.
//
// A setting (lam, b) gives feature j the precision a_j = lam + b acc_j^(3/4). With the mixture's
// forecast p of an example,
//     acc_j += x_j^2 |p - e_y|^2 / (K - 1)           for all settings and classes together,
//     m = W x,  g = sum_j x_j^2 / a_j,
//     u = m - (g / 2) (softmax(u) - e_y),  W_cj -= (softmax(u) - e_y)_c x_j / (2 a_j).
// The power 3/4 stands between a Gaussian posterior (1) and AdaGrad (1/2). With b = 0 steps stay as
// large as they were, so what was learned of a feature is forgotten as it is active; nothing
// reaches features that are not. The read-out
//     softmax(m_0 + (m - m_0) / sqrt(1 + (pi/4) g / (2 alpha)) + o)
// is a hedge of width alpha towards the intercept m_0. The offsets o of the classes are the same
// for all experts. They follow the mixture's own misses, so that each class is forecast as often as
// it comes: a hedge that only sees the row forecasts a rare class too often.
//     s_c = (1 - 1/5000) s_c + p_c (1 - p_c),
//     o_c -= ((K - 1) / K) (p - e_y)_c / (30 + s_c).
// Models from older files hedge towards the uniform forecast, and have no offsets.
//
// Settings are lanes: the weights of a feature and class for eight settings lie side by side.
#pragma once

#include <algorithm>
#include <limits>

#include "core/mixture/weights.hpp"
#include "core/posterior/state.hpp"
#include "core/rule/class_softmax.hpp"
#include "core/rule/pairwise.hpp"
#include "sparse_table.hpp"

namespace MIXABLE_ISA {

struct SparseSetting {
    double lam, b;  // the precision of a feature is lam + b acc^(3/4)
};

class Sparse {
   public:
    /// At most `most` features have slots of their own; 0: as many as `usual_most` says.
    Sparse(long classes, const std::vector<SparseSetting>& settings,
           const std::vector<double>& alphas, double share, long most)
        : K(classes),
          settings_(settings),
          alphas_(alphas),
          S(long(settings.size())),
          share_(share),
          wanted_most_(most),
          table_(SlotShape(K, S), most > 0 ? most : usual_most(K, S)),
          SP(table_.shape.SP),
          weights_(experts(), share),
          softmax_(K),
          lam_(SP),
          b_(SP),
          g_(SP),
          expert_weights_(widths() * SP),
          m_(K * SP),
          base_(K * SP),
          width_(K * W),
          scaled_(K * W),
          forecasts_(widths() * K * SP),
          own_(K),
          offsets_(K),
          spread_(K),
          likelihood_(experts()),
          v_(std::size_t(table_.shape.C * SP)) {
        for (long s = 0; s < SP; ++s) {
            const SparseSetting& mine = settings_[std::size_t(std::min(s, S - 1))];
            lam_[s] = mine.lam;
            b_[s] = mine.b;
        }
        everyone();
    }

    const long K;

    /// Features with slots of their own that keep the memory below about 1 GB, and the weights
    /// below 10^8.
    static long usual_most(long K, long S) {
        const SlotShape shape(K, S);
        const double by_memory = 0x1p30 / Slots::bytes_each(shape.width()),
                     by_weights = 1e8 / double(shape.C * S);
        return std::max(16L, long(std::min(by_memory, by_weights)));
    }

    long steps() const { return steps_; }
    /// What was learned of features.
    const SparseTable& table() const { return table_; }
    SparseTable& table() { return table_; }
    long settings() const { return S; }
    long widths() const { return long(alphas_.size()); }
    long experts() const { return S * widths(); }
    /// Multiplications of a step with a row of this many features, roughly.
    double cost(long nnz) const {
        return double(nnz + 1) * (4.0 * double(table_.shape.width()) + 50.0) +
               500.0 * double(K * SP);
    }

    /// The weight of each expert: the settings at the first width, then those at the next.
    void expert_weights(double* out) const {
        for (long r = 0; r < experts(); ++r) out[r] = weights_.expert_weights(r);
    }

    /// p (K); changes nothing that was learned.
    void predict(const SparseRow& row, double* p) {
        table_.locate(row, false);
        read();
        forecast(p);
    }

    void learn(const SparseRow& row, long y, double weight) {
        if (!(weight <= 1e12)) refuse_example();
        if (weight > 0) {
            if (table_.note(row)) forget();
            table_.locate(row, true);
            read();
            forecast(own_);
            push(y, weight);
        }
        ++steps_;
    }

    /// The same as `predict`, then `learn`, for less.
    void step(const SparseRow& row, long y, double weight, double* p) {
        if (weight > 0 && weight <= 1e12 && table_.scale().is_settled()) {
            table_.locate(row, true);
            read();
            forecast(own_);
            copy(own_, K, p);
            push(y, weight);
            ++steps_;
            return;
        }
        predict(row, p);
        learn(row, y, weight);
    }

    /// The mean (K) and, if asked for, the standard deviation (K) of a feature's weights under the
    /// mixture.
    void coefficients(std::uint64_t key, double* mean, double* deviation) const {
        coefficients(table_.slot(key), table_.scale().factor(), mean, deviation);
    }
    /// The same of the intercept.
    void intercept(double* mean, double* deviation) const {
        coefficients(table_.intercept(), 1.0, mean, deviation);
        double middle = 0;
        for (long c = 0; c < K; ++c) middle += offsets_[c] / double(K);
        for (long c = 0; c < K; ++c) mean[c] += offsets_[c] - middle;
    }

    /// Takes over what one of at most as many classes, and the same settings, has learned.
    void adopt(const Sparse& other) {
        if (other.K > K || other.S != S || other.alphas_.size() != alphas_.size())
            throw std::domain_error("only a model of as many classes or more can take this over");
        steps_ = other.steps_;
        weights_.adopt(other.weights_);
        table_.adopt(other.table_);
        corrects_ = other.corrects_;
        copy(other.offsets_, other.K, offsets_);
        copy(other.spread_, other.K, spread_);
        everyone();
    }

    /// Everything but the slots.
    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("steps", steps_);
        table_.visit(visitor);
        weights_.visit_counters(visitor);
        weights_.visit_arrays(visitor);
        visitor("corrects", corrects_);
        visitor("offsets", offsets_, 1, K, K);
        visitor("spread", spread_, 1, K, K);
        everyone();
    }
    /// Whether what was read from a file, slots included, makes sense.
    bool is_valid() const {
        bool sound = corrects_ == 0 || corrects_ == 1;
        for (long c = 0; c < K; ++c)
            sound = sound && std::fabs(offsets_[c]) <= (corrects_ ? largest_offset : 0.0) &&
                    spread_[c] >= 0 && spread_[c] <= largest_spread;
        return sound && steps_ >= 0 && steps_ <= most_steps && table_.is_valid() &&
               weights_.sound();
    }

    /// An empty one of the same kind.
    Sparse empty() const { return Sparse(K, settings_, alphas_, share_, wanted_most_); }

   private:
    // Of the offsets: examples that are remembered, and the precision before the first.
    static constexpr double memory = 5000, prior = 30;
    static constexpr double largest_step = 0.5, largest_offset = 3, largest_spread = 1e18;

    typedef float few __attribute__((vector_size(W * sizeof(float)), aligned(4)));
    static void put(vec from, float* to) {
        *reinterpret_cast<few*>(to) = __builtin_convertvector(from, few);
    }
    static double power(double acc) { return std::sqrt(acc) * std::sqrt(std::sqrt(acc)); }

    void forget() {
        offsets_.clear();
        spread_.clear();
        weights_.start_over();
        everyone();
    }
    void everyone() {
        std::vector<long> all(weights_.size());
        for (std::size_t r = 0; r < all.size(); ++r) all[r] = long(r);
        weights_.set_active(std::move(all));
        spread_weights();
    }
    void spread_weights() {
        for (long a = 0; a < widths(); ++a)
            for (long s = 0; s < S; ++s)
                expert_weights_[a * SP + s] = weights_.expert_weights(a * S + s);
    }

    /// 1 / a for one accumulator, in lanes from s on.
    vec variance(double acc_power, long s) const {
        return 1.0 / (load(lam_ + s) + load(b_ + s) * acc_power);
    }

    /// Sets m (K x SP), what the intercept says of it, and g (SP).
    void read() {
        ActiveFeatures& active = table_.active;
        const SlotShape& shape = table_.shape;
        const long first = (K - shape.C) * SP;
        if (powers_.size() < active.size() + W) {
            powers_.resize(2 * active.size() + W);
            rates_.resize(powers_.size() * std::size_t(SP));
        }
        shape.sum(active, m_ + first);
        const Active intercept[] = {active[0]};
        if (corrects_) shape.sum(intercept, base_ + first);
        for (std::size_t i = 0; i < active.size(); ++i) powers_[i] = double(active[i].slot[0]);
        raise();
        for (long s = 0; s < SP; s += W) {
            vec g{};
            for (std::size_t i = 0; i < active.size(); ++i)
                g += active[i].value * active[i].value * variance(powers_[i], s);
            store(g_ + s, g);
        }
        if (K == 2)
            for (long s = 0; s < SP; ++s) m_[s] = -m_[SP + s], base_[s] = -base_[SP + s];
    }
    /// Raises `powers_` to the power of 3/4.
    void raise() {
        for (std::size_t i = 0; i < table_.active.size(); i += W) {
            const vec square_root = root(load(&powers_[i]));
            store(&powers_[i], square_root * root(square_root));
        }
    }

    /// The forecasts (widths x K x SP) of all experts from m and g, and p (K) of the mixture.
    void forecast(double* p) {
        set_to_zero(p, K);
        for (long a = 0; a < widths(); ++a) {
            const double alpha = alphas_[std::size_t(a)],
                         hedge = std::isinf(alpha) ? 0.0 : pi_by_8 / alpha;
            for (long s = 0; s < SP; s += W) {
                const vec by = 1.0 / root(1.0 + hedge * load(g_ + s)),
                          expert_weights = load(&expert_weights_[a * SP + s]);
                for (long c = 0; c < K; ++c) {
                    const vec base = load(base_ + c * SP + s);
                    store(scaled_ + c * W,
                          base + by * (load(m_ + c * SP + s) - base) + offsets_[c]);
                }
                double* out = forecasts_ + (a * SP + s) * K;
                softmax_.evaluate(scaled_, splat(1.0));
                copy(softmax_.p, K * W, out);
                smooth<vec>(K, 0.0, out);
                for (long c = 0; c < K; ++c) p[c] += sum(expert_weights * load(out + c * W));
            }
        }
        double total = 0;
        for (long c = 0; c < K; ++c) total += p[c];
        for (long c = 0; c < K; ++c)
            p[c] = std::max(p[c] / total, std::numeric_limits<double>::min());
    }
    /// What an expert said of a class.
    double said(long a, long s, long c) const {
        return forecasts_[(a * SP + s / W * W) * K + c * W + s % W];
    }

    /// Learns the row that was read and forecast last.
    void push(long y, double weight) {
        double top = 0;
        for (long r = 0; r < experts(); ++r)
            top = std::max(top, likelihood_[r] = said(r / S, r % S, y));
        for (long r = 0; r < experts(); ++r) {
            likelihood_[r] /= top;
            if (weight != 1) likelihood_[r] = std::pow(likelihood_[r], weight);
        }
        double rest = 0, error = 0;  // |p - e_y|^2, without cancellation at y
        for (long c = 0; c < K; ++c)
            if (c != y) rest += own_[c], error += own_[c] * own_[c];
        const double news = weight * (error + rest * rest) / double(K - 1);

        ActiveFeatures& active = table_.active;
        const SlotShape& shape = table_.shape;
        for (std::size_t i = 0; i < active.size(); ++i) {
            const double z = active[i].value;
            float& acc = active[i].slot[0];
            acc = std::min(float(double(acc) + z * z * news), SlotShape::largest_sum);
            powers_[i] = double(acc);
        }
        raise();
        for (long s = 0; s < SP; s += W) {
            vec g{};
            for (std::size_t i = 0; i < active.size(); ++i) {
                const double z = active[i].value;
                const vec rate = z * variance(powers_[i], s);
                g += z * rate;
                put(rate, &rates_[i * std::size_t(SP) + std::size_t(s)]);
            }
            store(g_ + s, g);
        }
        for (long s = 0; s < SP; s += W) {
            for (long c = 0; c < K; ++c) {
                store(scaled_ + c * W, load(m_ + c * SP + s));
                store(width_ + c * W, load(g_ + s));
            }
            softmax_.solve_step(scaled_, width_, y, weight);
            for (long c = 0; c < shape.C; ++c)
                put(0.5 * weight * load(softmax_.residual + (c + K - shape.C) * W),
                    &v_[std::size_t(c * SP + s)]);
        }
        for (std::size_t i = 0; i < active.size(); ++i)
            shape.subtract(&rates_[i * std::size_t(SP)], v_.data(), active[i].slot);
        weights_.learn(likelihood_);
        spread_weights();
        if (corrects_) correct(y, weight);
    }

    /// Moves the offsets against the miss of the forecast that was made last.
    void correct(long y, double weight) {
        const double share = double(K - 1) / double(K) * weight;
        for (long c = 0; c < K; ++c) {
            const double p = own_[c], miss = c == y ? p - 1 : p;
            spread_[c] = (1 - 1 / memory) * spread_[c] + weight * p * (1 - p);
            const double step = bounded(share * miss / (prior + spread_[c]), largest_step);
            offsets_[c] = bounded(offsets_[c] - step, largest_offset);
        }
    }

    void coefficients(const float* slot, double by, double* mean, double* deviation) const {
        const double acc = power(double(slot[0]));
        for (long c = 0; c < K; ++c) {
            double first = 0, second = 0;
            for (long s = 0; s < S; ++s) {
                const double w = table_.shape.weight(slot, c, s),
                             width = 0.5 / (lam_[s] + b_[s] * acc);
                for (long a = 0; a < widths(); ++a) {
                    const double expert_weights = expert_weights_[a * SP + s],
                                 alpha = alphas_[std::size_t(a)];
                    first += expert_weights * w;
                    second += expert_weights * (w * w + (std::isinf(alpha) ? 0.0 : width / alpha));
                }
            }
            mean[c] = by * first;
            if (deviation) deviation[c] = by * std::sqrt(std::max(second - first * first, 0.0));
        }
    }

    std::vector<SparseSetting> settings_;
    std::vector<double> alphas_;
    long S;  // settings
    double share_;
    long wanted_most_;
    SparseTable table_;
    long SP;  // settings and the lanes behind them
    Weights weights_;
    ClassSoftmax<vec> softmax_;
    Buffer lam_, b_, g_, expert_weights_, m_, base_, width_, scaled_, forecasts_, own_, offsets_,
        spread_, likelihood_;
    long steps_ = 0, corrects_ = 1;
    std::vector<float> v_, rates_;  // v_: what is to be learned
    std::vector<double> powers_;    // of the accumulators of the active features
};

}  // namespace MIXABLE_ISA
