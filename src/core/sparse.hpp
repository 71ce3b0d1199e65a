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
// reaches features that are not. The read-out softmax(m / sqrt(1 + (pi/4) g / (2 alpha))) is a
// hedge of width alpha.
//
// Settings are lanes: the weights of a feature and class for eight settings lie side by side.
#pragma once

#include <algorithm>
#include <limits>

#include "lane_rule.hpp"
#include "sparse_row.hpp"
#include "sparse_slot.hpp"
#include "state.hpp"
#include "weights.hpp"

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
          shape_(K, S),
          SP(shape_.SP),
          share_(share),
          wanted_most_(most),
          slots_(shape_.width(), most > 0 ? most : usual_most(K, S)),
          weights_(experts(), share),
          rule_({K, {HUGE_VAL}, 0.0}),
          lam_(SP),
          b_(SP),
          g_(SP),
          trust_(widths() * SP),
          m_(K * SP),
          width_(K * W),
          scaled_(K * W),
          forecasts_(widths() * K * SP),
          own_(K),
          likelihood_(experts()),
          bias_(std::size_t(shape_.width())),
          zero_(std::size_t(shape_.width())),
          v_(std::size_t(shape_.C * SP)) {
        for (long s = 0; s < SP; ++s) {
            const SparseSetting& mine = settings_[std::size_t(std::min(s, S - 1))];
            lam_[s] = mine.lam;
            b_[s] = mine.b;
        }
        forget();
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
    long features() const { return slots_.size(); }
    long most_features() const { return slots_.most(); }
    /// How often a feature that was learned had to share the slot of another.
    long collisions() const { return collisions_; }
    double bytes() const { return slots_.bytes(); }
    /// The mean square that values are measured by; 0 before the first.
    double scale() const { return scale_.mean_square(); }
    long settings() const { return S; }
    long widths() const { return long(alphas_.size()); }
    long experts() const { return S * widths(); }
    /// Multiplications of a step with a row of this many features, roughly.
    double cost(long nnz) const {
        return double(nnz + 1) * (4.0 * double(shape_.width()) + 50.0) + 500.0 * double(K * SP);
    }

    /// The trust in each expert: the settings at the first width, then those at the next.
    void trust(double* out) const {
        for (long r = 0; r < experts(); ++r) out[r] = weights_.trust(r);
    }

    /// p (K); changes nothing that was learned.
    void predict(const SparseRow& row, double* p) {
        locate(row, false);
        read();
        forecast(p);
    }

    void learn(const SparseRow& row, long y, double weight) {
        if (!(weight <= 1e12)) refuse_example();
        if (weight > 0) {
            if (scale_.note(row)) forget();
            locate(row, true);
            read();
            forecast(own_);
            push(y, weight);
        }
        ++steps_;
    }

    /// The same as `predict`, then `learn`, for less.
    void step(const SparseRow& row, long y, double weight, double* p) {
        if (weight > 0 && weight <= 1e12 && scale_.is_settled()) {
            locate(row, true);
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
        long i = slots_.find(key, hash_of(key));
        if (i < 0 && slots_.is_full()) i = slots_.shared(hash_of(key));
        coefficients(i < 0 ? zero_.data() : slots_.slot(i), scale_.factor(), mean, deviation);
    }
    /// The same of the intercept.
    void intercept(double* mean, double* deviation) const {
        coefficients(bias_.data(), 1.0, mean, deviation);
    }

    const std::uint64_t* keys() const { return slots_.keys(); }
    /// Numbers of a slot (sparse_slot.hpp).
    long slot_width() const { return slots_.width(); }
    /// The slots, that of the intercept first.
    void copy_slots(float* out) const {
        std::copy(bias_.begin(), bias_.end(), out);
        for (long i = 0; i < features(); ++i)
            std::copy_n(slots_.slot(i), slot_width(), out + (i + 1) * slot_width());
    }
    /// Takes over saved slots; false if they cannot be some that learning made.
    bool restore_slots(const std::uint64_t* keys, const float* values, long n) {
        slots_.clear();
        for (long i = 0; i <= n; ++i)
            if (!shape_.is_sound(values + i * slot_width())) return false;
        std::copy_n(values, slot_width(), bias_.data());
        for (long i = 0; i < n; ++i) {
            const std::uint64_t hash = hash_of(keys[i]);
            if (slots_.find(keys[i], hash) >= 0) return false;
            std::copy_n(values + (i + 1) * slot_width(), slot_width(),
                        slots_.slot(slots_.add(keys[i], hash)));
        }
        slots_.set_most(slots_.most());
        return true;
    }

    /// Takes over what one of at most as many classes, and the same settings, has learned.
    void adopt(const Sparse& other) {
        if (other.K > K || other.S != S || other.alphas_.size() != alphas_.size())
            throw std::domain_error("only a model of as many classes or more can take this over");
        steps_ = other.steps_;
        collisions_ = other.collisions_;
        scale_.adopt(other.scale_);
        weights_.adopt(other.weights_);
        shape_.adopt(other.shape_, other.bias_.data(), bias_.data());
        slots_.clear();
        for (long i = 0; i < other.features(); ++i) {
            const std::uint64_t key = other.keys()[i];
            shape_.adopt(other.shape_, other.slots_.slot(i),
                         slots_.slot(slots_.add(key, hash_of(key))));
        }
        slots_.set_most(slots_.most());
        everyone();
    }

    /// Everything but the slots.
    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("steps", steps_);
        visitor("collisions", collisions_);
        scale_.visit(visitor);
        weights_.visit_counters(visitor);
        weights_.visit_arrays(visitor);
        everyone();
    }
    /// Whether what was read from a file, slots included, makes sense.
    bool is_valid() const {
        const bool counted = steps_ >= 0 && steps_ <= most_steps && collisions_ >= 0;
        return counted && (collisions_ == 0 || slots_.is_full()) && scale_.is_valid() &&
               weights_.sound();
    }

    /// An empty one of the same kind.
    Sparse empty() const { return Sparse(K, settings_, alphas_, share_, wanted_most_); }

   private:
    typedef float few __attribute__((vector_size(W * sizeof(float)), aligned(4)));
    static void put(vec from, float* to) {
        *reinterpret_cast<few*>(to) = __builtin_convertvector(from, few);
    }
    static double power(double acc) { return std::sqrt(acc) * std::sqrt(std::sqrt(acc)); }

    void forget() {
        slots_.clear();
        collisions_ = 0;
        std::fill(bias_.begin(), bias_.end(), 0.0f);
        weights_.start_over();
        everyone();
    }
    void everyone() {
        std::vector<long> all(weights_.size());
        for (std::size_t r = 0; r < all.size(); ++r) all[r] = long(r);
        weights_.set_awake(std::move(all));
        spread_trust();
    }
    void spread_trust() {
        for (long a = 0; a < widths(); ++a)
            for (long s = 0; s < S; ++s) trust_[a * SP + s] = weights_.trust(a * S + s);
    }

    /// Fills `active_`: the intercept, then each key of the row once, with its slot. What has none
    /// gets one if it is to be learned, and otherwise is read as it would be then.
    void locate(const SparseRow& row, bool learns) {
        active_.set(row, scale_.factor(), bias_.data());
        if (powers_.size() < active_.size() + W) {
            powers_.resize(2 * active_.size() + W);
            rates_.resize(powers_.size() * std::size_t(SP));
        }
        for (std::size_t i = 1; i < active_.size(); ++i) slots_.touch(active_[i].hash);
        for (std::size_t i = 1; i < active_.size(); ++i) slots_.peek(active_[i].hash);
        long size = slots_.size();
        for (std::size_t i = 1; i < active_.size(); ++i) {
            Active& each = active_[i];
            long at = slots_.find(each.key, each.hash);
            if (at < 0 && size < slots_.most()) {
                at = learns ? slots_.add(each.key, each.hash) : size;
                ++size;
            } else if (at < 0) {
                at = slots_.shared(each.hash);
                if (learns) ++collisions_;
            }
            each.slot = at < slots_.size() ? slots_.slot(at) : zero_.data();
            slots_.ask_for(each.slot);
        }
    }

    /// 1 / a for one accumulator, in lanes from s on.
    vec variance(double acc_power, long s) const {
        return 1.0 / (load(lam_ + s) + load(b_ + s) * acc_power);
    }

    /// Sets m (K x SP) and g (SP).
    void read() {
        shape_.sum(active_, m_ + (K - shape_.C) * SP);
        for (std::size_t i = 0; i < active_.size(); ++i) powers_[i] = double(active_[i].slot[0]);
        raise();
        for (long s = 0; s < SP; s += W) {
            vec g{};
            for (std::size_t i = 0; i < active_.size(); ++i)
                g += active_[i].value * active_[i].value * variance(powers_[i], s);
            store(g_ + s, g);
        }
        if (K == 2)
            for (long s = 0; s < SP; ++s) m_[s] = -m_[SP + s];
    }
    /// Raises `powers_` to the power of 3/4.
    void raise() {
        for (std::size_t i = 0; i < active_.size(); i += W) {
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
                          trust = load(&trust_[a * SP + s]);
                for (long c = 0; c < K; ++c) store(scaled_ + c * W, by * load(m_ + c * SP + s));
                double* out = forecasts_ + (a * SP + s) * K;
                rule_.predict(scaled_, nullptr, 0, out);
                for (long c = 0; c < K; ++c) p[c] += sum(trust * load(out + c * W));
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

        for (std::size_t i = 0; i < active_.size(); ++i) {
            const double z = active_[i].value;
            float& acc = active_[i].slot[0];
            acc = std::min(float(double(acc) + z * z * news), SlotShape::largest_sum);
            powers_[i] = double(acc);
        }
        raise();
        for (long s = 0; s < SP; s += W) {
            vec g{};
            for (std::size_t i = 0; i < active_.size(); ++i) {
                const double z = active_[i].value;
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
            rule_.learn(scaled_, width_, y, weight);
            for (long c = 0; c < shape_.C; ++c)
                put(load(rule_.v + (c + K - shape_.C) * W), &v_[std::size_t(c * SP + s)]);
        }
        for (std::size_t i = 0; i < active_.size(); ++i)
            shape_.subtract(&rates_[i * std::size_t(SP)], v_.data(), active_[i].slot);
        weights_.learn(likelihood_);
        spread_trust();
    }

    void coefficients(const float* slot, double by, double* mean, double* deviation) const {
        const double acc = power(double(slot[0]));
        for (long c = 0; c < K; ++c) {
            double first = 0, second = 0;
            for (long s = 0; s < S; ++s) {
                const double w = shape_.weight(slot, c, s), width = 0.5 / (lam_[s] + b_[s] * acc);
                for (long a = 0; a < widths(); ++a) {
                    const double trust = trust_[a * SP + s], alpha = alphas_[std::size_t(a)];
                    first += trust * w;
                    second += trust * (w * w + (std::isinf(alpha) ? 0.0 : width / alpha));
                }
            }
            mean[c] = by * first;
            if (deviation) deviation[c] = by * std::sqrt(std::max(second - first * first, 0.0));
        }
    }

    std::vector<SparseSetting> settings_;
    std::vector<double> alphas_;
    long S;  // settings
    SlotShape shape_;
    long SP;  // settings and the lanes behind them
    double share_;
    long wanted_most_;
    Slots slots_;
    Weights weights_;
    LaneRule rule_;
    Buffer lam_, b_, g_, trust_, m_, width_, scaled_, forecasts_, own_, likelihood_;
    SparseScale scale_;
    long steps_ = 0, collisions_ = 0;
    std::vector<float> bias_, zero_, v_, rates_;  // v_: what is to be learned
    std::vector<double> powers_;                  // of the accumulators of `active_`
    ActiveFeatures active_;
};

}  // namespace MIXABLE_ISA
