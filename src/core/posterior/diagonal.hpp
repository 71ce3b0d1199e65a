// A Gaussian over the weights that are all independent: a variance s_cj for each weight.
//
// Reading: m_c = V_c x, g_c = sum_j s_cj x_j^2. Learning v, f (the diagonal of F F^T):
//     V_cj <- V_cj - v_c s_cj x_j,   s_cj <- s_cj / (1 + f_c s_cj x_j^2) [+ q where x_j is not 0].
// Drift reaches the features that are active only: variances of those never seen must not grow.
#pragma once

#include "core/rule/coordinates.hpp"

namespace MIXABLE_ISA {

class Diagonal final : public State {
   public:
    explicit Diagonal(const PosteriorShape& shape) : State(shape, r), S(k * dp) {
        for (long c = 0; c < k; ++c)
            for (long l = 0; l < d; ++l) S[c * dp + l] = 1.0 / shape.lam;
    }

    long room() const override { return r; }

    void prepare(const Rows& rows, bool in_turn = true) override {
        n_ = 0;
        keep(rows, in_turn);
    }

    void read(long after = 0) override {
        const double* x = X + (n_ + after) * dp;
        for (long c = 0; c < k; ++c) {
            vec mean{}, width{};
            for (long l = c * dp, j = 0; j < d; l += W, j += W) {
                const vec entry = load(x + j);
                mean += load(V + l) * entry;
                width += load(S + l) * entry * entry;
            }
            m[c] = sum(mean);
            G[c] = sum(width);
        }
    }

    void push(const double* v, const double* f) override {
        const double* x = X + n_ * dp;
        double check = 0, gain = 0, most = 0;
        for (long c = 0; c < k; ++c) {
            check += 0 * v[c] + 0 * f[c];
            gain = std::max(gain, f[c] * G[c]);
            most = std::max(most, f[c]);
        }
        if (!(check == 0 && gain <= 1e300 && most * squared_norm(x, d) <= 1e30 * shape_.lam))
            refuse_example();
        const double q = shape_.drift;
        for (long c = 0; c < k; ++c)
            for (long l = c * dp, j = 0; j < d; l += W, j += W) {
                const vec entry = load(x + j), along = load(S + l) * entry;
                store(V + l, load(V + l) - v[c] * along);
                vec variance = load(S + l) / (1.0 + f[c] * along * entry);
                if (q > 0) variance = entry != 0.0 ? variance + q : variance;
                store(S + l, variance);
            }
        ++steps_;
        ++n_;
    }

    std::pair<long, long> covariance_size() const override { return {k, d}; }
    void covariance(double* out) const override {
        for (long c = 0; c < k; ++c) copy(S + c * dp, d, out + c * d);
    }

    /// The other may have any structure. A new prediction has the mean of the others.
    void adopt(const Knowledge& state, bool exchange = false) override {
        if (const auto own = state.apart()) return adopt(*own, exchange);
        const auto* other = dynamic_cast<const Diagonal*>(&state);
        const auto* full = dynamic_cast<const Posterior*>(&state);
        const long d0 = state.d, k0 = full ? state.k + 1 : state.k;
        Buffer means(k0 * d0), variances(k0 * d0);
        if (full) {
            const ClassView view = class_view(*full);
            copy(view.mean, k0 * d0, means);
            for (long i = 0; i < k0 * d0; ++i) variances[i] = view.covariance[i * d0 + i % d0];
        } else {
            Buffer each(d0 * k0 * k0);
            state.mean(means);
            state.feature_covariances(each);
            for (long c = 0; c < k0; ++c)
                for (long l = 0; l < d0; ++l) variances[c * d0 + l] = each[(l * k0 + c) * k0 + c];
        }
        const double change = exchange && other ? shape_.lam - other->shape_.lam : 0.0;
        for (long c = 0; c < k0; ++c)
            for (long l = 0; l < d0; ++l) {
                const double before = variances[c * d0 + l],
                             now = 1.0 / std::max(1.0 / before + change, shape_.lam);
                S[c * dp + l] = change == 0 ? before : now;
                V[c * dp + l] = means[c * d0 + l] * (change == 0 ? 1.0 : now / before);
            }
        fill_means(k0, d0);
        steps_ = state.steps();
        forget_prepared();
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("V", V, k, d, dp);
        visitor("S", S, k, d, dp);
    }
    [[gnu::cold]] bool contents_are_valid(double limit) const override {
        const double square = std::min(largest_square(), 1e280), reach = std::sqrt(square);
        for (long c = 0; c < k; ++c)
            for (long l = 0; l < d; ++l) {
                const double variance = S[c * dp + l];
                if (!(variance >= 0 && variance * square <= limit)) return false;
                if (!(std::max(reach, 1.0) * std::fabs(V[c * dp + l]) <= limit)) return false;
            }
        return true;
    }

   private:
    static constexpr long r = PosteriorShape::diagonal_block;  // inputs that may be prepared

    Buffer S;
};

}  // namespace MIXABLE_ISA
