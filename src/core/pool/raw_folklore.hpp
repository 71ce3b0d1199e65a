// Folklore on inputs as they come: each input is measured by a unit of its own, the least power of
// two that is not below it so far. A larger input raises the unit, and with it the regulariser,
// which costs the bound nothing (docs: Proofs, "The default"). For few weights: A and A^-1 are
// kept as they are.
#pragma once

#include <cmath>
#include <memory>

#include "core/numbers/symmetric.hpp"
#include "core/rule/folklore.hpp"
#include "core/visitor.hpp"

namespace MIXABLE_ISA {

class RawFolklore {
   public:
    /// Rows have d numbers, up to 1e100 in size.
    RawFolklore(long d, long K, double lam, double beta)
        : d(d),
          K(K),
          k(K - 1),
          D(k * d),
          ld(pad_to(D, 8)),
          dp(pad_to(d, 8)),
          sk(pad_to(k, 8)),
          lam_(lam),
          beta_(beta),
          rule_(K, beta),
          unit_(dp),
          x_(dp),
          A(D * ld),
          S(D * ld),
          V(k * dp),
          P(k * ld),
          m_(sk),
          G_(k * sk),
          p_(K),
          work_(5 * k * sk + sk + k * ld) {
        for (long i = 0; i < D; ++i) A[i * ld + i] = lam_, S[i * ld + i] = 1 / lam_;
    }

    const long d, K;

    void read(const double* row) {
        is_larger_ = !fits(row);
        if (!is_larger_) return read_scaled(row);
        if (!larger_) larger_ = std::make_unique<RawFolklore>(d, K, lam_, beta_);
        larger_->adopt(*this);
        larger_->grow(row);
        larger_->read(row);
        copy(larger_->p_, K, p_);
    }
    const double* p() const { return p_; }

    /// Learns the row that was read. Weights are at most 1: the bound is for that.
    void learn(const double* row, long y, double weight) {
        if (is_larger_) {
            grow(row);
            read_scaled(row);
        }
        if (k == 1)
            push_of_two(y, weight);
        else
            push(y, weight);
        if (++steps_ % refresh_period == 0) refresh();
    }

    /// Takes over one of at most as many inputs and classes. Newcomers have mean 0 and know
    /// nothing.
    void adopt(const RawFolklore& other) {
        steps_ = other.steps_;
        lam_ = other.lam_;
        for (long a = 0; a < D; ++a) {
            set_to_zero(A + a * ld, D);
            set_to_zero(S + a * ld, D);
            A[a * ld + a] = lam_, S[a * ld + a] = 1 / lam_;
        }
        copy(other.unit_, other.d, unit_);
        for (long j = 0; j < other.k; ++j) {
            copy(other.V + j * other.dp, other.d, V + j * dp);
            for (long l = 0; l < other.d; ++l)
                for (long i = 0; i < other.k; ++i) {
                    const long from = (j * other.d + l) * other.ld + i * other.d,
                               to = (j * d + l) * ld + i * d;
                    copy(other.A + from, other.d, A + to);
                    copy(other.S + from, other.d, S + to);
                }
        }
    }

    [[gnu::cold]] void visit(Visitor& visitor) {
        visitor("steps", steps_);
        visitor("lam", lam_);
        visitor("units", unit_, 1, d, dp);
        visitor("V", V, k, d, dp);
        visitor("A", A, D, D, ld);
        visitor("S", S, D, D, ld);
    }
    [[gnu::cold]] bool contents_are_valid() const {
        if (!(steps_ >= 0 && steps_ <= most_steps && lam_ >= 1e-3 && lam_ <= 1e6)) return false;
        for (long l = 0; l < d; ++l) {
            int power;
            const bool is_unit = std::frexp(unit_[l], &power) == 0.5 && std::abs(power) <= 340;
            if (!(unit_[l] == 0 || is_unit)) return false;
            for (long j = 0; j < k; ++j)
                if (!(std::fabs(V[j * dp + l]) <= 1e9)) return false;
        }
        Buffer both[2] = {Buffer(D * D), Buffer(D * D)}, one(D * D);
        for (long m = 0; m < 2; ++m) {
            const Buffer& M = m == 0 ? A : S;
            for (long a = 0; a < D; ++a) {
                copy(M + a * ld, D, both[m] + a * D);
                for (long b = 0; b < D; ++b)
                    if (!(std::fabs(M[a * ld + b]) <= 1e17)) return false;
            }
            copy(both[m], D * D, one);
            if (!is_symmetric(one, D, D, true) || !invert_small(D, one, D)) return false;
        }
        for (long a = 0; a < D; ++a)
            if (!(A[a * ld + a] >= 0.999999 * lam_)) return false;
        return can_be_inverse(D, both[0], both[1]);
    }

   private:
    static constexpr long refresh_period = 256;  // steps after which A^-1 is made from A again
    static constexpr long most_steps = (1L << 53) - 1;

    bool fits(const double* row) const {
        for (long l = 0; l < d; ++l)
            if (std::fabs(row[l]) > unit_[l]) return false;
        return true;
    }
    void read_scaled(const double* row) {
        for (long l = 0; l < d; ++l) x_[l] = unit_[l] > 0 ? row[l] / unit_[l] : 0.0;
        for (long j = 0; j < k; ++j) {
            combine(1, D, d, 1.0, {x_, 0, 1}, S + j * d * ld, ld, P + j * ld, ld, false);
            m_[j] = plain_dot(x_, V + j * dp, d);
            for (long i = 0; i <= j; ++i)
                G_[i * sk + j] = G_[j * sk + i] = plain_dot(x_, P + j * ld + i * d, d);
        }
        if (k == 1) return predict_of_two();
        rule_.begin(m_, G_, steps_);
        rule_.predict(p_);
    }

    /// The step of Posterior::push, at once.
    void push(long y, double weight) {
        double *v = work_, *F = v + sk, *GF = F + k * sk, *C = GF + k * sk, *L = C + k * sk,
               *c = L + k * sk, *U = c + k * sk;
        set_to_zero(work_, work_.size());
        rule_.learn(y, weight, v, F);
        for (long j = 0; j < k; ++j)
            for (long i = 0; i < k; ++i)
                for (long l = 0; l < d; ++l) V[j * dp + l] -= v[i] * P[i * ld + j * d + l];
        // A^-1 <- A^-1 - P L L^T P^T with L = F C^-1, C^T C = I + F^T G F.
        combine(k, k, k, 1.0, {G_, sk, 1}, F, sk, GF, sk, false);
        combine(k, k, k, 1.0, {F, 1, sk}, GF, sk, C, sk, false);
        for (long i = 0; i < k; ++i) C[i * (sk + 1)] += 1.0;
        cholesky(k, C, sk, 1.0);
        copy(F, k * sk, L);
        for (long i = 0; i < k; ++i) solve_transposed(k, C, sk, L + i * sk);
        combine(k, D, k, 1.0, {L, 1, sk}, P, ld, U, ld, false);
        combine(D, D, k, -1.0, {U, 1, ld}, U, ld, S, ld, true);
        dots(k, k, F, sk, k, F, sk, c, sk);
        for (long a = 0; a < D; ++a)
            for (long j = 0; j < k; ++j) {
                const double by = c[a / d * sk + j] * x_[a % d];
                for (long l = 0; l < d; ++l) A[a * ld + j * d + l] += by * x_[l];
            }
    }
    /// The same of two classes, whose logits are (u, -u) / sqrt(2).
    void push_of_two(long y, double weight) {
        const double g = G_[0], f = weight * beta_ * p_[0] * p_[1],
                     slope = std::sqrt(2.0) * (y == 0 ? -p_[1] : p_[0]),
                     r = (m_[0] - u_ - 0.5 * weight * g * slope) / (1 + g * f),
                     v = 0.5 * weight * slope + f * r, by = f / (1 + g * f);
        for (long l = 0; l < d; l += W) store(V + l, load(V + l) - v * load(P + l));
        for (long a = 0; a < d; ++a) {
            const double of_S = by * P[a], of_A = f * x_[a];
            for (long l = 0; l < ld; l += W) {
                store(S + a * ld + l, load(S + a * ld + l) - of_S * load(P + l));
                store(A + a * ld + l, load(A + a * ld + l) + of_A * load(x_ + l));
            }
        }
    }
    /// The point u + g tanh(u / sqrt(2)) / (2 sqrt(2)) = m of the forecast: the left side grows in
    /// u by 1 to 1 + g/4 and less the larger |u| is, so Newton's method comes from one side.
    void predict_of_two() {
        const double root = std::sqrt(2.0), m = m_[0], g = G_[0];
        u_ = m / (1 + 0.25 * g);
        for (int iteration = 0; iteration < 50; ++iteration) {
            const double t = std::tanh(u_ / root), miss = u_ + g * t / (2 * root) - m;
            const double step = miss / (1 + 0.25 * g * (1 - t * t));
            u_ -= step;
            if (!(std::fabs(step) > 1e-12 * (1 + std::fabs(m)))) break;
        }
        const double e = std::exp(-root * std::fabs(u_)), low = e / (1 + e), high = 1 / (1 + e);
        p_[0] = u_ > 0 ? high : low;
        p_[1] = u_ > 0 ? low : high;
    }

    /// Raises the units so that a row fits. In the new ones A is R^-1 (A - lam I) R^-1 + lam I, and
    /// R A theta stays what it was.
    void grow(const double* row) {
        Buffer by(dp), b(D);
        for (long l = 0; l < d; ++l) {
            by[l] = 1;
            if (std::fabs(row[l]) <= unit_[l]) continue;
            int power;
            const bool is_power = std::frexp(std::fabs(row[l]), &power) == 0.5;
            const double unit = std::ldexp(1.0, is_power ? power - 1 : power);
            if (unit_[l] > 0) by[l] = unit_[l] / unit;
            unit_[l] = unit;
        }
        for (long a = 0; a < D; ++a) {
            double s = 0;
            for (long j = 0; j < k; ++j) s += plain_dot(A + a * ld + j * d, V + j * dp, d);
            b[a] = by[a % d] * s;
        }
        for (long a = 0; a < D; ++a) {
            A[a * ld + a] -= lam_;
            for (long c = 0; c < D; ++c) A[a * ld + c] *= by[a % d] * by[c % d];
            A[a * ld + a] += lam_;
        }
        refresh();
        for (long j = 0; j < k; ++j)
            for (long l = 0; l < d; ++l) V[j * dp + l] = plain_dot(S + (j * d + l) * ld, b, D);
    }
    /// A is at least lam I, and inputs are at most 1: there is an inverse.
    void refresh() {
        Buffer inverse(D * ld);
        copy(A, D * ld, inverse);
        if (!invert_small(D, inverse, ld)) return;
        mirror(inverse, ld, 0, D);
        S = std::move(inverse);
    }

    const long k, D, ld, dp, sk;
    double lam_, beta_, u_ = 0;  // u_: where two classes are forecast
    FolkloreRule rule_;
    Buffer unit_, x_, A, S, V, P, m_, G_, p_, work_;
    std::unique_ptr<RawFolklore> larger_;  // where a row that does not fit is predicted
    long steps_ = 0;
    bool is_larger_ = false;
};

}  // namespace MIXABLE_ISA
