// GAF on weights that all classes share, in N dimensions, for a pool (pool.hpp): f(w) = Phi^T w
// with Phi (N x K). N is small, so A and A^-1 are kept as they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/numbers/symmetric.hpp"
#include "core/posterior/state.hpp"
#include "core/rule/pairwise.hpp"

namespace MIXABLE_ISA {

/// What experts say of an example: Phi (N x K), centred over the classes, rows of pad(K) numbers
/// with zeros behind the K; and its transpose (K x N), rows of pad(N) likewise.
struct Said {
    Said(long experts, long classes)
        : N(experts), K(classes), rows(N * pad(K)), columns(K * pad(N)) {}
    long N, K;
    Buffer rows, columns;

    const double* of_class(long c) const { return columns + c * pad(N); }
    void transpose() {
        for (long e = 0; e < N; ++e)
            for (long c = 0; c < K; ++c) columns[c * pad(N) + e] = rows[e * pad(K) + c];
    }
};

/// Around w = 1/N, or the weights that it begins with. At first A = lam I + (tie / N) 1 1^T: a tie
/// holds the sum of the weights near 1 until enough has been seen.
class SharedGaf {
   public:
    /// `first` are the weights that it begins with; none: 1/N each.
    SharedGaf(long features, double lam, double tie, double beta, double drift,
              const std::vector<double>& first)
        : N(features),
          stride(pad(N)),
          w(stride),
          A(N * stride),
          S(N * stride),
          lam_(lam),
          tie_(tie),
          beta_(beta),
          drift_(drift),
          first_(N),
          row_(stride) {
        for (long i = 0; i < N; ++i)
            first_[i] = first.empty() ? 1.0 / double(N) : first[std::size_t(i)];
        start_over();
    }

    const long N, stride;  // of the rows of A and S
    Buffer w, A, S;

    void start_over() {
        const double each = tie_ / double(N);
        for (long i = 0; i < N; ++i) {
            w[i] = first_[i];
            for (long j = 0; j < N; ++j) {
                A[i * stride + j] = each + (i == j ? lam_ : 0.0);
                S[i * stride + j] = ((i == j ? 1.0 : 0.0) - each / (lam_ + tie_)) / lam_;
            }
        }
    }
    void adopt(const SharedGaf& other) {
        copy(other.w, N, w);
        copy(other.A, N * stride, A);
        copy(other.S, N * stride, S);
    }

    /// p = softmax(Phi^T w).
    void predict(const Said& said, double* p) {
        reserve(said.K);
        logits(said, w, work_);
        softmax(said.K, work_);
        copy(work_, said.K, p);
    }

    /// E softmax(Phi^T (w + N(0, A^-1 / (2 alpha)))) in closed form. Of many classes, with the mean
    /// variance of a difference in place of each.
    void predict(const Said& said, double alpha, double* p) {
        const long K = said.K, n = pad(K);
        const double* Phi = said.rows;
        reserve(K);
        double *spread = work_, *m = spread + N * n, *variance = m + n;  // S Phi, and Phi^T w
        combine(N, K, N, 1.0, {S, stride, 1}, Phi, n, spread, n, false);
        logits(said, w, m);
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
    /// there. `said` is transposed, too.
    void learn(const Said& said, long y, double weight) {
        const long n = stride;
        reserve(said.K);
        double *u = work_, *trial = u + n, *step = trial + n, *at = step + n, *moved = at + n,
               *H = moved + n, *q = H + N * n;
        copy(w, n, u);  // 0 behind the N
        double value = objective(said, y, weight, u, moved, q);
        for (int iteration = 0; iteration < 50; ++iteration) {
            curvature(said, q, at, H);
            const double* own = said.of_class(y);
            for (long i = 0; i < n; i += W)  // `moved` is A (u - w)
                store(step + i, weight * (load(at + i) - load(own + i)) + 2.0 * load(moved + i));
            for (long i = 0; i < N * n; i += W)
                store(H + i, weight * load(H + i) + 2.0 * load(A + i));
            const double slope = solve(H, step);  // step^T H step, the decrement
            // So near the minimum a full step goes down, and the next would change u by less than
            // 1e-8: convergence is quadratic.
            const bool is_last = !(slope > 1e-8 * weight);
            for (double fraction = 1; fraction > 1e-10; fraction *= 0.5) {
                for (long i = 0; i < n; i += W)
                    store(trial + i, load(u + i) - fraction * load(step + i));
                const double next = objective(said, y, weight, trial, moved, q);
                if (is_last || next <= value - 1e-4 * fraction * slope) {
                    value = next;
                    break;
                }
            }
            copy(trial, n, u);
            if (is_last) break;
        }
        copy(u, N, w);
        curvature(said, q, at, H);
        double by = 0.5 * weight * beta_;
        for (long i = 0; i < N; ++i)  // beyond, nothing would be left of the other directions
            by = std::min(
                by, std::max(largest * lam_ - A[i * n + i], 0.0) / std::max(H[i * n + i], 1e-300));
        for (long i = 0; i < N * n; i += W) store(A + i, load(A + i) + by * load(H + i));
        copy(A, N * n, S);
        invert(S);
        if (drift_ == 0) return;
        for (long i = 0; i < N; ++i) S[i * n + i] += drift_;
        copy(S, N * n, A);
        invert(A);
    }

    /// The log probabilities of y by the pool without the first of some experts, without the first
    /// two, and so on: their weights are held at 0, the others follow.
    void without(const Said& said, long y, const std::vector<long>& experts, double* out) {
        const long K = said.K, n = stride;
        reserve(K);
        double *cov = work_, *u = cov + N * n, *z = u + n;
        copy(S, N * n, cov);
        copy(w, n, u);
        for (const long e : experts) {
            hold_at_zero(e, cov, u);
            logits(said, u, z);
            const double own = z[y];
            *out++ = own - softmax(K, z);
        }
    }
    /// Some experts in the order in which the pool can do without them: the next is always the one
    /// that costs least by this Gaussian, u_e^2 / M_ee.
    std::vector<long> ranked(std::vector<long> experts) {
        reserve(1);
        double *cov = work_, *u = cov + N * stride;
        copy(S, N * stride, cov);
        copy(w, stride, u);
        const auto cost = [&](long e) { return u[e] * u[e] / cov[e * (stride + 1)]; };
        for (auto next = experts.begin(); next != experts.end(); ++next) {
            std::iter_swap(next, std::min_element(next, experts.end(), [&](long a, long b) {
                               return cost(a) < cost(b);
                           }));
            hold_at_zero(*next, cov, u);
        }
        return experts;
    }
    /// Holds the weight of an expert at 0, near to which it begins anew. The others follow.
    void set_apart(long e) {
        hold_at_zero(e, S, w);
        w[e] = 0;
        for (long i = 0; i < N; ++i)
            S[e * stride + i] = S[i * stride + e] = i == e ? 0.1 / lam_ : 0;
        copy(S, N * stride, A);
        invert(A);
    }

    /// Whether w, A and S, as just read from a saved state, can be some that learning made.
    bool is_valid() const {
        for (long i = 0; i < N; ++i)
            if (!(std::fabs(w[i]) <= 1e6)) return false;
        Buffer both[2] = {Buffer(N * N), Buffer(N * N)}, one(N * N);
        for (long m = 0; m < 2; ++m) {
            const Buffer& M = m == 0 ? A : S;
            for (long i = 0; i < N; ++i) copy(M + i * stride, N, both[m] + i * N);
            for (long i = 0; i < N * N; ++i)
                if (!(std::fabs(both[m][i]) <= 1e30)) return false;
            copy(both[m], N * N, one);
            if (!is_symmetric(one, N, N, true) || !invert_small(N, one, N)) return false;
        }
        return can_be_inverse(N, both[0], both[1]);
    }

   private:
    /// A Gaussian of mean u and covariance M becomes that in which u_e is known to be 0.
    void hold_at_zero(long e, double* M, double* u) {
        const long n = stride;
        copy(M + e * n, n, row_);
        const double by = 1 / row_[e], step = by * u[e];
        for (long j = 0; j < n; j += W) store(u + j, load(u + j) - step * load(row_ + j));
        for (long i = 0; i < N; ++i) {
            const double factor = by * row_[i];
            for (long j = 0; j < n; j += W)
                store(M + i * n + j, load(M + i * n + j) - factor * load(row_ + j));
        }
    }
    static constexpr long most_pairs = 12;
    static constexpr double largest = 1e9;  // of A, over lam

    /// Phi^T u, with zeros behind.
    void logits(const Said& said, const double* u, double* out) const {
        combine(1, said.K, N, 1.0, {u, 0, 1}, said.rows, pad(said.K), out, pad(said.K), false);
    }
    static double softmax(long K, double* z) {
        const double top = *std::max_element(z, z + K);
        double total = 0;
        for (long c = 0; c < K; c += W) store(z + c, exp(load(z + c) - top));
        for (long c = 0; c < K; ++c) total += z[c];
        const double by = 1.0 / total;
        for (long c = 0; c < K; c += W) store(z + c, by * load(z + c));
        set_to_zero(z + K, pad(K) - K);
        return top + std::log(total);
    }
    /// What is minimised, moved = A (u - w), and q = softmax(Phi^T u).
    double objective(const Said& said, long y, double weight, const double* u, double* moved,
                     double* q) const {
        logits(said, u, q);
        const double own = q[y], loss = softmax(said.K, q) - own;
        vec square{};
        for (long j = 0; j < stride; j += W) {
            vec sums{};
            for (long i = 0; i < N; ++i) sums += (u[i] - w[i]) * load(A + i * stride + j);
            store(moved + j, sums);
            square += sums * (load(u + j) - load(w + j));
        }
        return sum(square) + weight * loss;
    }
    /// at = Phi q and H = Phi (diag(q) - q q^T) Phi^T.
    void curvature(const Said& said, const double* q, double* at, double* H) {
        const long K = said.K, n = stride;
        double *centred = classes_, *weighted = centred + K * n;
        for (long i = 0; i < n; i += W) {
            vec mean{};
            for (long c = 0; c < K; ++c) mean += q[c] * load(said.of_class(c) + i);
            store(at + i, mean);
            for (long c = 0; c < K; ++c) {
                const vec from_mean = load(said.of_class(c) + i) - mean;
                store(centred + c * n + i, from_mean);
                store(weighted + c * n + i, q[c] * from_mean);
            }
        }
        combine(N, n, K, 1.0, {weighted, 1, n}, centred, n, H, n, false);
    }
    /// b <- H^-1 b by elimination; returns b^T H^-1 b. H is spoiled.
    double solve(double* H, double* b) const {
        const long n = stride;
        double product = 0;
        for (long i = 0; i < N; ++i) {
            double* row = H + i * n;
            if (!(row[i] > 0)) refuse_example();
            const double by = 1.0 / row[i];
            product += by * b[i] * b[i];
            for (long l = i + 1; l < N; ++l) {
                const double factor = by * row[l];
                double* below = H + l * n;
                for (long j = (i + 1) / W * W; j < n; j += W)
                    store(below + j, load(below + j) - factor * load(row + j));
                b[l] -= factor * b[i];
            }
        }
        for (long i = N - 1; i >= 0; --i) {
            for (long l = i + 1; l < N; ++l) b[i] -= H[i * n + l] * b[l];
            b[i] /= H[i * n + i];
        }
        return product;
    }
    /// By Gauss and Jordan: the pivots of a positive definite matrix are positive. Where that would
    /// lose half of the digits, by Cholesky: what is small stays positive.
    void invert(Buffer& M) const {
        const long n = stride;
        double top = 0;
        for (long i = 0; i < N; ++i) top = std::max(top, M[i * n + i]);
        if (top > 1e6 * lam_) {
            if (!invert_small(N, M, n)) refuse_example();
            mirror(M, n, 0, N);
            return;
        }
        for (long k = 0; k < N; ++k) {
            double* row = M + k * n;
            if (!(row[k] > 0)) refuse_example();
            const double by = 1.0 / row[k];
            // Numbers of column k are written last: loads of whole vectors would wait for them.
            for (long j = 0; j < n; j += W) store(row + j, by * load(row + j));
            for (long i = 0; i < N; ++i) {
                if (i == k) continue;
                double* other = M + i * n;
                const double factor = other[k];
                for (long j = 0; j < n; j += W)
                    store(other + j, load(other + j) - factor * load(row + j));
                other[k] = -(factor * by);
            }
            row[k] = by;
        }
        mirror(M, n, 0, N);
    }
    /// Room for K classes.
    void reserve(long K) {
        const long n = pad(K), size = std::max(n * (N + 2), stride * (N + 5) + n);
        if (work_.size() < size) work_ = Buffer(size);
        if (classes_.size() < 2 * K * stride) classes_ = Buffer(2 * K * stride);
    }

    double lam_, tie_, beta_, drift_;
    Buffer first_, work_, classes_, row_;
};

}  // namespace MIXABLE_ISA
