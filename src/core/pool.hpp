// Experts pooled by their logarithms: p proportional to exp(sum_e w_e log p_e), with weights w
// shared by the classes. That is logistic regression with Phi (N x K), Phi_ec = log p_e(c), in the
// form of Section 2 of the paper, and GAF learns w. N is small, so A and A^-1 are kept as they are.
#pragma once

#include <array>
#include <limits>

#include "any_forecaster.hpp"
#include "pairwise.hpp"
#include "rest.hpp"
#include "state.hpp"
#include "symmetric.hpp"
#include "weights.hpp"

namespace MIXABLE_ISA {

/// GAF on shared weights, in N dimensions, around w = 1/N.
class SharedGaf {
   public:
    SharedGaf(long features, double lam, double beta, double drift)
        : N(features), w(N), A(N * N), S(N * N), lam_(lam), beta_(beta), drift_(drift) {
        start_over();
    }

    const long N;
    Buffer w, A, S;

    void start_over() {
        A.clear();
        S.clear();
        for (long i = 0; i < N; ++i) {
            w[i] = 1.0 / double(N);
            A[i * N + i] = lam_;
            S[i * N + i] = 1.0 / lam_;
        }
    }

    // Phi (N x K) has rows of pad(K) numbers, with zeros behind the K.

    /// p = softmax(Phi^T w).
    void predict(const double* Phi, long K, double* p) {
        reserve(K);
        logits(Phi, K, w, work_);
        softmax(K, work_);
        copy(work_, K, p);
    }

    /// E softmax(Phi^T (w + N(0, A^-1 / (2 alpha)))) in closed form. Of many classes, with the mean
    /// variance of a difference in place of each.
    void predict(const double* Phi, long K, double alpha, double* p) {
        reserve(K);
        const long n = pad(K);
        double *spread = work_, *m = spread + N * n, *variance = m + n;  // S Phi, and Phi^T w
        combine(N, K, N, 1.0, {S, N, 1}, Phi, n, spread, n, false);
        logits(Phi, K, w, m);
        const double factor = pi_by_8 * 0.5 / alpha;
        if (K > most_pairs) {
            const double mean = 2 * plain_dot(spread, Phi, N * n) / double(K - 1);
            const double scale = 1.0 / std::sqrt(1 + factor * mean);
            for (long c = 0; c < n; ++c) m[c] *= scale;
            softmax(K, m);
            copy(m, K, p);
            return;
        }
        double total = 0;
        for (long c = 0; c < K; ++c) {
            set_to_zero(variance, n);
            for (long i = 0; i < N; ++i) {
                const double own = Phi[i * n + c], wide = spread[i * n + c];
                for (long j = 0; j < n; j += W)
                    store(variance + j, load(variance + j) + (own - load(Phi + i * n + j)) *
                                                                 (wide - load(spread + i * n + j)));
            }
            double sum = 0;
            for (long j = 0; j < n; j += W) {
                const vec width = root(1.0 + factor * max(load(variance + j), vec{}));
                store(variance + j, exp((load(m + j) - m[c]) / width));
            }
            for (long j = 0; j < K; ++j) sum += variance[j];
            total += p[c] = 1.0 / sum;
        }
        for (long c = 0; c < K; ++c) p[c] /= total;
    }

    /// w <- argmin (u - w)^T A (u - w) + weight * loss(Phi^T u, y), and A takes in the curvature
    /// there.
    void learn(const double* Phi, long K, long y, double weight) {
        reserve(K);
        double *u = work_, *trial = u + N, *step = trial + N, *at = step + N, *H = at + N,
               *q = H + N * N;
        copy(w, N, u);
        double value = objective(Phi, K, y, weight, u, q);
        for (int iteration = 0; iteration < 50; ++iteration) {
            curvature(Phi, K, q, at, H);
            for (long i = 0; i < N; ++i) {
                double gradient = weight * (at[i] - Phi[i * pad(K) + y]);
                for (long j = 0; j < N; ++j) {
                    gradient += 2 * A[i * N + j] * (u[j] - w[j]);
                    H[i * N + j] = weight * H[i * N + j] + 2 * A[i * N + j];
                }
                step[i] = gradient;
            }
            const double slope = solve(H, step);  // step^T H step, the decrement
            // So near the minimum a full step goes down, and the next would be lost in rounding.
            const bool is_near = slope <= 1e-8 * weight, is_last = !(slope > 1e-10 * weight);
            for (double fraction = 1; fraction > 1e-10; fraction *= 0.5) {
                for (long i = 0; i < N; ++i) trial[i] = u[i] - fraction * step[i];
                const double next = objective(Phi, K, y, weight, trial, q);
                if (is_near || next <= value - 1e-4 * fraction * slope) {
                    value = next;
                    break;
                }
            }
            copy(trial, N, u);
            if (is_last) break;
        }
        copy(u, N, w);
        curvature(Phi, K, q, at, H);
        for (long i = 0; i < N * N; ++i) A[i] += 0.5 * weight * beta_ * H[i];
        copy(A, N * N, S);
        invert(S);
        if (drift_ == 0) return;
        for (long i = 0; i < N; ++i) S[i * N + i] += drift_;
        copy(S, N * N, A);
        invert(A);
    }

    /// Whether w, A and S, as just read from a saved state, can be some that learning made.
    bool is_valid() const {
        for (long i = 0; i < N; ++i)
            if (!(std::fabs(w[i]) <= 1e6)) return false;
        for (long i = 0; i < N * N; ++i)
            if (!(std::fabs(A[i]) <= 1e30 && std::fabs(S[i]) <= 1e30)) return false;
        Buffer one(N * N);
        for (const Buffer* M : {&A, &S}) {
            copy(*M, N * N, one);
            if (!is_symmetric(one, N, N, true) || !invert_small(N, one, N)) return false;
        }
        return can_be_inverse(N, A, S);
    }

   private:
    static constexpr long most_pairs = 12;

    /// Phi^T u, with zeros behind.
    void logits(const double* Phi, long K, const double* u, double* out) const {
        combine(1, K, N, 1.0, {u, 0, 1}, Phi, pad(K), out, pad(K), false);
    }
    static double softmax(long K, double* z) {
        const double top = *std::max_element(z, z + K);
        double total = 0;
        for (long c = 0; c < K; c += W) store(z + c, exp(load(z + c) - top));
        for (long c = 0; c < K; ++c) total += z[c];
        for (long c = 0; c < K; ++c) z[c] /= total;
        set_to_zero(z + K, pad(K) - K);
        return top + std::log(total);
    }
    /// What is minimised, and q = softmax(Phi^T u).
    double objective(const double* Phi, long K, long y, double weight, const double* u,
                     double* q) const {
        logits(Phi, K, u, q);
        const double own = q[y], loss = softmax(K, q) - own;
        double square = 0;
        for (long i = 0; i < N; ++i)
            for (long j = 0; j < N; ++j) square += (u[i] - w[i]) * A[i * N + j] * (u[j] - w[j]);
        return square + weight * loss;
    }
    /// at = Phi q and H = Phi (diag(q) - q q^T) Phi^T.
    void curvature(const double* Phi, long K, const double* q, double* at, double* H) const {
        const long n = pad(K);
        for (long i = 0; i < N; ++i) at[i] = plain_dot(Phi + i * n, q, n);
        for (long i = 0; i < N; ++i)
            for (long j = 0; j <= i; ++j) {
                vec sums{};
                for (long c = 0; c < n; c += W)
                    sums += (load(Phi + i * n + c) - at[i]) * (load(Phi + j * n + c) - at[j]) *
                            load(q + c);
                H[i * N + j] = H[j * N + i] = sum(sums);
            }
    }
    /// b <- H^-1 b by Cholesky; returns b^T H^-1 b. H is spoiled.
    double solve(double* H, double* b) const {
        double product = 0;
        for (long i = 0; i < N; ++i) {
            double* row = H + i * N;
            for (long j = 0; j <= i; ++j) {
                double entry = row[j];
                for (long l = 0; l < j; ++l) entry -= row[l] * H[j * N + l];
                if (j < i)
                    row[j] = entry / H[j * N + j];
                else if (entry > 0)
                    row[i] = std::sqrt(entry);
                else
                    refuse_example();
            }
            for (long l = 0; l < i; ++l) b[i] -= row[l] * b[l];
            b[i] /= row[i];
            product += b[i] * b[i];
        }
        for (long i = N - 1; i >= 0; --i) {
            for (long l = i + 1; l < N; ++l) b[i] -= H[l * N + i] * b[l];
            b[i] /= H[i * N + i];
        }
        return product;
    }
    /// Room for K classes.
    void reserve(long K) {
        const long n = pad(K), size = std::max(n * (N + 2), N * (N + 4) + n);
        if (work_.size() < size) work_ = Buffer(size);
    }
    void invert(Buffer& M) const {
        if (!invert_small(N, M, N)) refuse_example();
        mirror(M, N, 0, N);
    }

    double lam_, beta_, drift_;
    Buffer work_;
};

/// The judge over some experts. Its input is their forecasts (N x K); its forecast is that of two
/// pools, each read at two widths, and of the experts themselves, mixed by their losses. One of the
/// pools forgets.
class Judge final : public AnyForecaster<long> {
   public:
    Judge(long experts, long classes, double lam, double drift, double smoothing, double share,
          double least_gain)
        : N(experts),
          K(classes),
          smoothing_(smoothing),
          pools_{SharedGaf(N, lam, 1.0, 0.0), SharedGaf(N, lam, 1.0, drift)},
          weights_(N + readings, share),
          rest_(least_gain),
          Phi_(N * pad(K)),
          forecasts_((N + readings) * K),
          likelihood_(N + readings) {
        start_over();
    }

    const long N, K;

    long predictions() const override { return 2; }
    long features() const override { return N; }
    long row_length() const override { return N * K; }
    long outputs() const override { return K; }
    long steps() const override { return steps_ + rest_.alone(); }
    long block() const override { return 1; }
    double largest_square() const override { return 1e280; }
    double cost() const override { return 200.0 * double(N * N * K); }

    void predict(const double* x, double* p) override {
        read(x);
        set_to_zero(p, K);
        for (long r = 0; r < N + readings; ++r)
            for (long c = 0; c < K; ++c) p[c] += weights_.trust(r) * forecasts_[r * K + c];
    }
    void predict_many(const double* X, long n, double* out) override {
        for (long t = 0; t < n; ++t) predict(X + t * N * K, out + t * K);
    }
    void learn(const double* x, long y, double weight) override {
        read(x);
        push(y, weight);
    }
    void run(const double* X, const long* y, const double* weight, long n, double* out) override {
        for (long t = 0; t < n; ++t) {
            predict(X + t * N * K, out + t * K);
            push(y[t], weight ? weight[t] : 1.0);
        }
    }

    /// The weights of the two pools (2 x N).
    void mean(double* out) const override {
        for (std::size_t i = 0; i < 2; ++i) copy(pools_[i].w, N, out + long(i) * N);
    }
    long judged() const { return N + readings; }
    /// The trust in the four readings of the pools, then in the experts.
    void trust(double* out) const { weights_.all(out); }

    const Rest& rest() const { return rest_; }
    Rest& rest() { return rest_; }

    /// Takes over what a judge of fewer classes has learned.
    void adopt(const AnyForecaster<long>& from) override {
        const auto& other = static_cast<const Judge&>(from);
        steps_ = other.steps_;
        rest_ = other.rest_;  // of a judge with the same parameters
        weights_.adopt(other.weights_);
        for (std::size_t i = 0; i < 2; ++i) {
            copy(other.pools_[i].w, N, pools_[i].w);
            copy(other.pools_[i].A, N * N, pools_[i].A);
            copy(other.pools_[i].S, N * N, pools_[i].S);
        }
        everyone();
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        Prefixed resting(visitor, "rest.");
        rest_.visit(resting);
        weights_.visit_counters(visitor);
        weights_.visit_arrays(visitor);
        for (std::size_t i = 0; i < 2; ++i) {
            Prefixed prefixed(visitor, std::to_string(i) + ".");
            prefixed("w", pools_[i].w, 1, N, N);
            prefixed("A", pools_[i].A, N, N, N);
            prefixed("S", pools_[i].S, N, N, N);
        }
        everyone();
    }
    [[gnu::cold]] bool counters_are_valid() const override {
        return steps_ >= 0 && steps_ <= most_steps && rest_.sound(most_steps);
    }
    [[gnu::cold]] bool contents_are_valid() const override {
        return weights_.sound() && pools_[0].is_valid() && pools_[1].is_valid();
    }
    void start_over() {
        steps_ = 0;
        rest_.start_over();
        weights_.start_over();
        for (SharedGaf& pool : pools_) pool.start_over();
        everyone();
    }
    void clear() override {}
    void forget_reading() override {}

   private:
    static constexpr long readings = 4;
    static constexpr double alpha = 4;  // the hedge of the second reading of each pool

    void everyone() {
        std::vector<long> all(std::size_t(N + readings));
        for (std::size_t r = 0; r < all.size(); ++r) all[r] = long(r);
        weights_.set_awake(std::move(all));
    }

    /// Sets Phi, centred over the classes, and what all say.
    void read(const double* x) {
        for (long e = 0; e < N; ++e) {
            double mean = 0, *logs = Phi_ + e * pad(K);
            for (long c = 0; c < K; ++c)
                logs[c] = (1 - smoothing_) * x[e * K + c] + smoothing_ / double(K);
            for (long c = K; c < pad(K); ++c) logs[c] = 1;
            for (long c = 0; c < K; c += W) store(logs + c, log(load(logs + c)));
            for (long c = 0; c < K; ++c) mean += logs[c];
            for (long c = 0; c < K; ++c) logs[c] -= mean / double(K);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            double* two = forecasts_ + 2 * long(i) * K;
            pools_[i].predict(Phi_, K, two);
            pools_[i].predict(Phi_, K, alpha, two + K);
        }
        copy(x, N * K, forecasts_ + readings * K);
        for (long i = 0; i < (N + readings) * K; ++i)
            forecasts_[i] = std::max(forecasts_[i], std::numeric_limits<double>::min());
    }

    void push(long y, double weight) {
        if (!(weight <= 1e12)) refuse_example();
        if (weight > 0) {
            double top = 0, pooled = 0;
            for (long r = 0; r < N + readings; ++r) {
                top = std::max(top, forecasts_[r * K + y]);
                pooled += weights_.trust(r) * forecasts_[r * K + y];
            }
            for (long r = 0; r < N + readings; ++r)
                likelihood_[r] = std::pow(forecasts_[r * K + y] / top, weight);
            for (SharedGaf& pool : pools_) pool.learn(Phi_, K, y, weight);
            weights_.learn(likelihood_);
            rest_.note(forecasts_[readings * K + y], pooled);
        }
        ++steps_;
    }

    double smoothing_;
    std::array<SharedGaf, 2> pools_;
    Weights weights_;
    Rest rest_;
    long steps_ = 0;
    Buffer Phi_, forecasts_, likelihood_;
};

}  // namespace MIXABLE_ISA
