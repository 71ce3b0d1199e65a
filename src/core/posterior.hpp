// The Gaussian over the weights: mean V (k x d) and inverse curvature A^-1 (D x D, D = k d,
// class-major). It knows nothing of losses. Of the symmetric matrices only the d x d blocks (a, b)
// with b <= a are kept up to date.
//
// A forecaster asks for the reading of an input x, the mean m (k) and the width G = Phi(x)^T A^-1
// Phi(x) (k x k) of the k linear predictions, solves its own k-dimensional problem, and pushes the
// answer: V <- V - A^-1 Phi v and A <- A + Phi F F^T Phi^T.
//
// Updates are delayed. Within a block of up to `capacity` steps, A^-1 = A0^-1 + s q I - U U^T, and
// U is never formed: with P = the rows A0^-1 Phi(x_s) of the block (plus q s Phi(x_s)), U = P T for
// a small triangular T, so that
//     m_t = V0 x_t - K_t h,   B_t = K_t T,   G_t = K_tt - B_t B_t^T,   K_t = Phi(x_t)^T P.
// Only P and the Gram rows K touch vectors of length D, and both are matrix products when the
// inputs are known in advance.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "blas.hpp"
#include "dense.hpp"

namespace MIXABLE_ISA {

[[noreturn]] inline void refuse_example() {
    throw std::domain_error(
        "this example cannot be learned in double precision: its input, weight or the parameters "
        "are too large");
}

struct PosteriorShape {
    long k, d, rank;    // linear predictions, features, columns of F
    double lam, drift;  // A_0 = lam I; A^-1 += drift I after each step
    long block = 0;     // steps in a block; 0 picks the size measured to be fastest
    long period = 0;    // steps between refreshes of A^-1; 0 means 4 D

    long D() const { return k * d; }
    long ld() const { return pad_to(D(), 8); }
    /// Whether BLAS does the large products; below, our own kernels are faster.
    bool by_blas() const { return D() > (k == 1 ? 400 : 1200); }
    long capacity() const {
        if (block > 0) return block;
        if (by_blas()) return k == 1 ? 64 : 32;
        return std::max(1L, std::min(6L, 54 / k));
    }
    long refresh_period() const { return period > 0 ? period : 4 * D(); }
    /// Steps whose curvature is kept before it is added to A: as many as its work space has rows
    /// for, unless that would take much memory.
    long curvature_capacity() const {
        return std::max(capacity(), std::min(capacity() * rank, d * d / 8));
    }
    /// Doubles that a Posterior of this shape allocates.
    double doubles() const {
        const double D = double(k) * double(d), r = double(capacity()),
                     steps = double(curvature_capacity()), rk = r * double(k);
        const double matrices = (drift == 0 ? 2 : 1) * D * double(ld()),
                     block = double(ld()) * r * double(k + rank);
        return matrices + block + rk * (rk + r * double(rank)) +
               steps * (double(pad_to(d, 8)) + double(k) * double(k)) + 6.0 * double(k) * double(k);
    }
    /// The largest |x|^2 that can be learned from: beyond, A^-1 would lose all its digits.
    double largest_square() const { return 1e15 * lam; }
};

class Posterior {
   public:
    Posterior(const PosteriorShape& shape, const Blas& blas)
        : shape_(shape),
          blas_(blas),
          k(shape.k),
          d(shape.d),
          D(shape.D()),
          sk(pad_to(shape.k, 8)),
          sr(pad_to(shape.rank, 8)),
          ld(shape.ld()),
          dp(pad_to(shape.d, 8)),
          rank(shape.rank),
          r(shape.capacity()),
          lt(pad_to(r * k, 8)),
          lb(pad_to(r * rank, 8)),
          Ainv(D * ld),
          A(shape.drift == 0 ? D * ld : 0),
          V(k * dp),
          X(r * dp),
          P(r * k * ld),
          U(r * rank * ld),
          K(r * k * lt),
          m0(r * k),
          T(r * rank * lt),
          h(lt),
          curvature_x(shape.curvature_capacity() * dp),
          curvature_c(shape.curvature_capacity() * k * k),
          B(k * lb),
          Z(k * lt),
          L(k * sr),
          GF(k * sr),
          C(rank * sr),
          m(k),
          G(k * sk) {
        for (long i = 0; i < D; ++i) Ainv[i * ld + i] = 1.0 / shape.lam;
        if (shape.drift == 0)
            for (long i = 0; i < D; ++i) A[i * ld + i] = shape.lam;
        const long parts = shape.by_blas() ? (d + 255) / 256 : 1, height = (d + parts - 1) / parts;
        for (long j = 0; j < k; ++j)
            for (long l = 0; l < d; l += height) panels_.push_back({j, l, std::min(l + height, d)});
        regulariser_ = shape.drift == 0 ? shape.lam : 0.0;
    }

    const PosteriorShape& shape() const { return shape_; }
    double largest_square() const { return shape_.largest_square(); }
    long steps() const { return steps_; }
    /// How many inputs may be prepared at once, now.
    long room() const { return r - n_; }

    /// Prepares `count` <= room() inputs (rows of `x`): their P, Gram rows and means before the
    /// block. They are the next ones, each to be learned after the one before, or (in_turn = false)
    /// only looked at, all from the present state.
    void prepare(const double* x, long stride, long count, bool in_turn = true) {
        for (long t = 0; t < count; ++t)
            std::memcpy(X + (n_ + t) * dp, x + t * stride, std::size_t(d) * 8);
        project(count);
        if (shape_.drift > 0)
            for (long t = n_; t < n_ + count; ++t)
                for (long j = 0; j < k; ++j)
                    for (long l = 0; l < d; ++l)
                        P[(t * k + j) * ld + j * d + l] +=
                            shape_.drift * double(in_turn ? t : n_) * X[t * dp + l];
        dots(d, count, X + n_ * dp, dp, k, V, dp, m0 + n_ * k, k);
        gram(count);
        prepared_ = n_ + (in_turn ? count : 0);
    }

    /// Whether the next input has been prepared and is this one, to the bit.
    bool is_prepared(const double* x) const {
        return has_prepared() && std::memcmp(X + n_ * dp, x, std::size_t(d) * 8) == 0;
    }
    bool has_prepared() const { return prepared_ > n_; }
    void forget_prepared() { prepared_ = n_; }

    /// Computes m and G of the prepared input that is `ahead` of the next one.
    void read(long ahead = 0) {
        const long c = n_ * k, cu = n_ * rank, own = (n_ + ahead) * k;
        const double* Kt = K + own * lt;
        dots(c, 1, h, lt, k, Kt, lt, m, k);
        for (long i = 0; i < k; ++i) m[i] = m0[own + i] - m[i];
        if (c * k >= 512)
            blas_.gemm(false, true, k, cu, c, 1.0, Kt, lt, T, lt, 0.0, B, lb);
        else
            dots(c, k, Kt, lt, cu, T, lt, B, lb);
        dots(cu, k, B, lb, k, B, lb, G, sk);
        for (long i = 0; i < k; ++i) {
            for (long j = 0; j <= i; ++j)
                G[j * sk + i] = G[i * sk + j] =
                    0.5 * (Kt[i * lt + own + j] + Kt[j * lt + own + i]) - G[i * sk + j];
        }
    }

    /// Learns from the input last read: V <- V - A^-1 Phi v, then A <- A + Phi F F^T Phi^T (F is k
    /// x rank, its rows `sr` apart and padded with zeros), then the drift.
    void push(const double* v, const double* F) {
        const long c = n_ * k, cu = n_ * rank;
        // A^-1 <- A^-1 - P L L^T P^T with L = F C^-1, C^T C = I + F^T G F.
        combine(k, rank, k, 1.0, {G, sk, 1}, F, sr, GF, sr, false);
        combine(rank, rank, k, 1.0, {F, 1, sr}, GF, sr, C, sr, false);
        double gain =
            0;  // tr(G F F^T): A^-1 is about to lose this many times its size, hence digits
        for (long i = 0; i < rank; ++i) gain += C[i * sr + i], C[i * sr + i] += 1.0;
        cholesky(rank, C, sr, 1.0);
        std::memcpy(L, F, std::size_t(k * sr) * 8);
        double check = 0 * gain;
        for (long i = 0; i < k; ++i) {
            solve_transposed(rank, C, sr, L + i * sr);
            for (long j = 0; j < rank; ++j) check += 0 * L[i * sr + j];
            check += 0 * v[i];
        }
        if (!(check == 0 && (shape_.drift == 0 || gain < 1e14))) refuse_example();
        if (c * k >= 512)
            blas_.gemm(false, false, k, c, cu, 1.0, B, lb, T, lt, 0.0, Z, lt);
        else
            combine(k, c, cu, 1.0, {B, lb, 1}, T, lt, Z, lt, false);
        combine(rank, c, k, -1.0, {L, 1, sr}, Z, lt, T + cu * lt, lt, false);
        for (long i = 0; i < k; ++i)
            for (long j = 0; j < rank; ++j) T[(cu + j) * lt + c + i] = L[i * sr + j];
        combine(1, c, k, -1.0, {v, 0, 1}, Z, lt, h, lt, true);
        std::memcpy(h + c, v, std::size_t(k) * 8);
        if (shape_.drift == 0) remember_curvature(F);
        ++n_;
        ++steps_;
        if (gain > 1e8)
            since_refresh_ =
                shape_.refresh_period();  // refresh at once: half of A^-1's digits are gone
        if (n_ == r || (gain > 1e8 && shape_.drift == 0)) flush();
    }

    /// The current mean (k x d).
    void mean(double* out) const {
        Buffer change(ld);
        combine(1, D, n_ * k, 1.0, {h, 0, 1}, P, ld, change, ld, false);
        for (long j = 0; j < k; ++j)
            for (long l = 0; l < d; ++l) out[j * d + l] = V[j * dp + l] - change[j * d + l];
    }

    /// Replaces the mean (k x d); the width stays.
    void set_mean(const double* mean) {
        flush();
        for (long j = 0; j < k; ++j) std::memcpy(V + j * dp, mean + j * d, std::size_t(d) * 8);
    }

    /// Takes over what another posterior has learned, of at most this many predictions and
    /// features: the newcomers have mean 0 and width 1 / lam, and do not yet vary with anything
    /// else. The parameters stay; to `exchange` the regulariser is to replace the other's lam by
    /// ours in what was learned.
    void adopt(const Posterior& other, bool exchange = false) {
        const long D0 = other.D;
        const double change = exchange ? shape_.lam - other.regulariser_ : 0.0;
        Buffer small(D0 * D0), mean(D0);
        const auto place = [&](Buffer& M) {  // the lower class blocks of `small`
            for (long i = 0; i < D0; ++i)
                for (long b = 0; b <= i / other.d; ++b)
                    std::memcpy(M + (i / other.d * d + i % other.d) * ld + b * d,
                                small + i * D0 + b * other.d, std::size_t(other.d) * 8);
        };
        const auto invert = [&] {
            if (!blas_.invert_spd(D0, small, D0))
                throw std::domain_error("the posterior is singular in double precision");
            mirror(small, D0, 0, D0);
        };
        const auto precision = [&] {
            if (other.shape_.drift == 0) {
                other.precision(small);
            } else {
                other.covariance(small);
                invert();
            }
            for (long i = 0; i < D0; ++i) small[i * D0 + i] += change;
        };
        if (shape_.drift == 0) {
            precision();
            place(A);
        }
        other.mean(mean);
        if (change == 0) {
            other.covariance(small);
        } else {
            precision();
            invert();
            for (long i = 0; i < D0; ++i) {
                double s = 0;
                for (long l = 0; l < D0; ++l) s += small[i * D0 + l] * mean[l];
                V[i / other.d * dp + i % other.d] = -change * s;
            }
        }
        place(Ainv);
        for (long i = 0; i < D0; ++i) V[i / other.d * dp + i % other.d] += mean[i];
        regulariser_ = exchange ? (shape_.drift == 0 ? shape_.lam : 0.0) : other.regulariser_;
        steps_ = other.steps_;
        since_refresh_ = other.since_refresh_;
    }

    /// The current A (D x D), as accumulated: needs drift = 0.
    void precision(double* out) const {
        for (long i = 0; i < D; ++i)
            for (long j = 0; j <= i; ++j) out[i * D + j] = A[i * ld + j];
        for (long t = 0; t < curvature_n_; ++t) {
            const double* x = curvature_x + t * dp;
            for (long i = 0; i < D; ++i)
                for (long b = 0; b <= i / d; ++b) {
                    const double c = curvature_c[(t * k + i / d) * k + b] * x[i % d];
                    for (long l = 0; l < d; ++l) out[i * D + b * d + l] += c * x[l];
                }
        }
        mirror(out, D, 0, D);
    }

    /// The current A^-1 (D x D).
    void covariance(double* out) const {
        const long cu = n_ * rank;
        Buffer u(cu * ld), S(D * ld);
        std::memcpy(S, Ainv, std::size_t(D * ld) * 8);
        combine(cu, D, n_ * k, 1.0, {T, lt, 1}, P, ld, u, ld, false);
        subtract_gram(D, d, cu, u, ld, S, ld);
        for (long i = 0; i < D; ++i) {
            std::memcpy(out + i * D, S + i * ld, std::size_t(i + 1) * 8);
            out[i * D + i] += double(n_) * shape_.drift;
        }
        mirror(out, D, 0, D);
    }

    /// Calls f(name, data, rows, columns, stride) for every array of the state and f(name,
    /// integer&) for every counter, in a fixed order.
    template <class F>
    void visit(F&& f) {
        f("steps", steps_);
        f("pending", n_);
        f("curvature_pending", curvature_n_);
        f("since_refresh", since_refresh_);
        f("regulariser", regulariser_);
        f("A_inverse", Ainv, D, D, ld);
        if (shape_.drift == 0) f("A", A, D, D, ld);
        f("V", V, k, d, dp);
        f("X", X, n_, d, dp);
        f("P", P, n_ * k, D, ld);
        f("T", T, n_ * rank, n_ * k, lt);
        f("h", h, 1L, n_ * k, lt);
        f("curvature_x", curvature_x, curvature_n_, d, dp);
        f("curvature_c", curvature_c, curvature_n_, k * k, k * k);
    }
    /// Forgets the block, before another state is read in.
    void clear_block() {
        for (Buffer* buffer : {&T, &B, &Z, &h})
            std::memset(*buffer, 0, std::size_t(buffer->size()) * 8);
        prepared_ = n_;
    }
    /// Whether the counters, as just read from a saved state, make sense.
    bool counters_are_valid() const {
        return n_ >= 0 && n_ < r && curvature_n_ >= 0 &&
               curvature_n_ < shape_.curvature_capacity() && steps_ >= n_ && steps_ <= most_steps &&
               since_refresh_ >= 0 && since_refresh_ <= steps_ + shape_.refresh_period() + r &&
               regulariser_ >= 0 && std::isfinite(regulariser_);
    }
    /// Whether the arrays, as just read, can be some that learning made: A and A^-1 are positive
    /// definite (up to rounding) and can belong together, and what is computed from them for any
    /// input that is not too large stays below `limit`.
    bool contents_are_valid(double limit) const {
        const double square = std::min(largest_square(), 1e280), reach = std::sqrt(square);
        for (const Buffer* rows : {&X, &curvature_x})
            for (long t = 0; t < (rows == &X ? n_ : curvature_n_); ++t)
                if (!(norm2(*rows + t * dp, d) <= std::max(largest_square(), 1.001e100)))
                    return false;  // an ensemble shows what it does not let learn
        Buffer mean_(D), S(D * D);
        mean(mean_);
        for (long i = 0; i < D; ++i)
            if (!(reach * std::fabs(mean_[i]) <= limit)) return false;
        for (long c = 0; c < n_ * k; ++c) {
            double most = 0;
            for (long i = 0; i < D; ++i) most = std::max(most, reach * std::fabs(P[c * ld + i]));
            if (!(most <= limit && most * std::fabs(h[c]) <= limit)) return false;
            for (long u = 0; u < n_ * rank; ++u)
                if (!(std::fabs(T[u * lt + c]) <= 1e155 &&
                      most * std::fabs(T[u * lt + c]) <= std::sqrt(limit)))
                    return false;
        }
        for (const Panel& p : panels_)  // the only entries above the diagonal that are used
            for (long i = p.j * d + p.l0; i < p.j * d + p.l1; ++i)
                for (long j = p.j * d + p.l0; j < i; ++j)
                    if (!(std::fabs(Ainv[i * ld + j] - Ainv[j * ld + i]) <=
                          1e-6 * (std::fabs(Ainv[i * ld + i]) + std::fabs(Ainv[j * ld + j]))))
                        return false;
        Buffer A1(shape_.drift == 0 ? D * D : 0);
        covariance(S);
        if (shape_.drift > 0 && regulariser_ != 0) return false;
        if (shape_.drift == 0) {
            precision(A1);
            if (!can_be_inverse(A1, S)) return false;
            for (long i = 0; i < D; ++i)
                if (!(regulariser_ <= 1.000001 * A1[i * D + i]))
                    return false;  // A is that multiple of I and more
        }
        if (!is_definite(S, limit / square)) return false;
        for (long i = 0; i < D; ++i)
            if (!(std::fabs(Ainv[i * ld + i]) * square <= limit)) return false;
        if (shape_.drift > 0) return true;
        for (long t = 0; t < curvature_n_; ++t)
            for (long i = 0; i < k * k; ++i)
                if (!(std::fabs(curvature_c[t * k * k + i]) * norm2(curvature_x + t * dp, d) <=
                      1e308))
                    return false;
        return is_definite(A1, 1e308);
    }

   private:
    struct Panel {
        long j, l0, l1;  // rows j d + l0 .. j d + l1 of the matrix
    };

    static constexpr long most_steps = 1L << 53;

    static double norm2(const double* x, long n) {
        double s = 0;
        for (long i = 0; i < n; ++i) s += x[i] * x[i];
        return s;
    }

    /// Whether positive definite matrices (D x D) can be each other's inverse, up to rounding and
    /// to what `refresh` may have added: each product of their diagonals is then at least 1, and
    /// the trace of their product D.
    bool can_be_inverse(const Buffer& M, const Buffer& S) const {
        double trace = 0, size = 0;
        for (long i = 0; i < D; ++i)
            if (!(M[i * D + i] * S[i * D + i] >= 0.1)) return false;
        for (long i = 0; i < D * D; ++i) {
            trace += M[i] * S[i];
            size += std::fabs(M[i] * S[i]);
        }
        return trace <= 1.1 * double(D) + 1e-6 * size;
    }

    /// Whether a symmetric matrix S (D x D), which is used up, has a positive diagonal up to
    /// `largest` and, with that scaled to 1, no eigenvalue below -1/10: rounding may leave an
    /// honest one a little less than positive definite.
    bool is_definite(Buffer& S, double largest) const {
        std::vector<double> root(static_cast<std::size_t>(D));
        for (long i = 0; i < D; ++i) {
            if (!(S[i * D + i] > 0 && S[i * D + i] <= largest)) return false;
            root[std::size_t(i)] = std::sqrt(S[i * D + i]);
        }
        for (long i = 0; i < D; ++i) {
            for (long j = 0; j < i; ++j)
                S[i * D + j] = S[i * D + j] / root[std::size_t(i)] / root[std::size_t(j)];
            S[i * D + i] = 1.1;
        }
        return blas_.factorise_spd(D, S, D);
    }

    /// Copies the lower triangle of rows and columns [first, end) to the upper one.
    static void mirror(double* M, long stride, long first, long end) {
        for (long i = first; i < end; ++i)
            for (long j = first; j < i; ++j) M[j * stride + i] = M[i * stride + j];
    }

    /// P = A0^-1 Phi(x) for the inputs prepared last: row (t, j) combines the rows of class j with
    /// the weights x_t. Of these rows the part up to the diagonal block is at hand; the rest stands
    /// in the columns of class j.
    void project(long count) {
        const double* x = X + n_ * dp;
        for (const Panel& p : panels_) {
            const long i0 = p.j * d + p.l0, i1 = p.j * d + p.l1;
            double* out = P + (n_ * k + p.j) * ld;
            if (shape_.by_blas()) {
                const double keep = p.l0 == 0 ? 0.0 : 1.0;
                blas_.gemm(false, false, count, i1, i1 - i0, 1.0, x + p.l0, dp, Ainv + i0 * ld, ld,
                           keep, out, k * ld);
                blas_.gemm(false, true, count, D - i1, i1 - i0, 1.0, x + p.l0, dp,
                           Ainv + i1 * ld + i0, ld, keep, out + i1, k * ld);
            } else {
                combine(count, i1, d, 1.0, {x, dp, 1}, Ainv + i0 * ld, ld, out, k * ld, false);
                for (long b = 0; b < p.j; ++b)
                    dots(d, count, x, dp, d, Ainv + i0 * ld + b * d, ld, P + (n_ * k + b) * ld + i0,
                         k * ld);
            }
        }
    }

    /// K_t = Phi(x_t)^T P for the inputs prepared last, against the whole block.
    void gram(long count) {
        const long rows = (n_ + count) * k;
        for (long i = 0; i < k; ++i)
            if (shape_.by_blas())
                blas_.gemm(false, true, count, rows, d, 1.0, X + n_ * dp, dp, P + i * d, ld, 0.0,
                           K + (n_ * k + i) * lt, k * lt);
            else
                dots(d, count, X + n_ * dp, dp, rows, P + i * d, ld, K + (n_ * k + i) * lt, k * lt);
    }

    void remember_curvature(const double* F) {
        std::memcpy(curvature_x + curvature_n_ * dp, X + n_ * dp, std::size_t(d) * 8);
        double* c = curvature_c + curvature_n_ * k * k;
        dots(rank, k, F, sr, k, F, sr, c, k);
        if (++curvature_n_ == shape_.curvature_capacity()) accumulate_curvature();
    }

    /// A += sum of Phi(x) C Phi(x)^T over the remembered steps, lower panels only. U serves as work
    /// space.
    void accumulate_curvature() {
        const long count = curvature_n_;
        for (const Panel& p : panels_) {
            const long i0 = p.j * d + p.l0, columns = p.j * d + p.l1;
            for (long t = 0; t < count; ++t) {
                double* row = U + t * ld;
                for (long b = 0; b <= p.j; ++b) {
                    const double c = curvature_c[(t * k + p.j) * k + b];
                    const long width = b < p.j ? d : p.l1;
                    for (long l = 0; l < width; ++l) row[b * d + l] = c * curvature_x[t * dp + l];
                }
                for (long l = columns; l < pad_to(columns, 8); ++l) row[l] = 0;
            }
            const double* x = curvature_x + p.l0;
            if (shape_.by_blas())
                blas_.gemm(true, false, p.l1 - p.l0, columns, count, 1.0, x, dp, U, ld, 1.0,
                           A + i0 * ld, ld);
            else
                combine(p.l1 - p.l0, columns, count, 1.0, {x, 1, dp}, U, ld, A + i0 * ld, ld, true);
        }
        curvature_n_ = 0;
    }

    /// Folds the block into V and A0^-1.
    void flush() {
        const long c = n_ * k, cu = n_ * rank;
        combine(1, D, c, 1.0, {h, 0, 1}, P, ld, U, ld, false);
        for (long j = 0; j < k; ++j)
            for (long l = 0; l < d; ++l) V[j * dp + l] -= U[j * d + l];
        // U = T P. T is triangular: a group of steps needs only the rows up to its last.
        const long group = shape_.by_blas() ? 8 : (2 * tile_rows + rank - 1) / rank;
        for (long s = 0; s < n_; s += group) {
            const long rows = std::min(group, n_ - s) * rank, inner = std::min(s + group, n_) * k;
            if (shape_.by_blas())
                blas_.gemm(false, false, rows, D, inner, 1.0, T + s * rank * lt, lt, P, ld, 0.0,
                           U + s * rank * ld, ld);
            else
                combine(rows, D, inner, 1.0, {T + s * rank * lt, lt, 1}, P, ld, U + s * rank * ld,
                        ld, false);
        }
        if (shape_.by_blas())
            for (const Panel& p : panels_) {
                const long i0 = p.j * d + p.l0, i1 = p.j * d + p.l1;
                blas_.gemm(true, false, i1 - i0, i1, cu, -1.0, U + i0, ld, U, ld, 1.0,
                           Ainv + i0 * ld, ld);
            }
        else
            subtract_gram(D, d, cu, U, ld, Ainv, ld);
        for (long i = 0; i < D; ++i) Ainv[i * ld + i] += double(n_) * shape_.drift;
        since_refresh_ += n_;
        n_ = 0;
        clear_block();
        if (shape_.drift == 0 && since_refresh_ >= shape_.refresh_period()) refresh();
    }

    /// A^-1 from the accumulated A, so that rounding cannot pile up. Should A be singular to
    /// working precision, the least multiple of I that helps is added.
    void refresh() {
        since_refresh_ = 0;
        accumulate_curvature();
        double largest = 0, jitter = 0;
        for (long i = 0; i < D; ++i) largest = std::max(largest, A[i * ld + i]);
        for (int attempt = 0; attempt < 20 && jitter <= largest;
             ++attempt, jitter = std::max(10 * jitter, 1e-16 * largest)) {
            for (long i = 0; i < D; ++i) {
                std::memcpy(Ainv + i * ld, A + i * ld, std::size_t(i + 1) * 8);
                Ainv[i * ld + i] += jitter;
            }
            if (blas_.invert_spd(D, Ainv, ld)) break;
        }
        for (const Panel& p : panels_) mirror(Ainv, ld, p.j * d + p.l0, p.j * d + p.l1);
    }

    PosteriorShape shape_;
    Blas blas_;
    std::vector<Panel> panels_;
    long n_ = 0, prepared_ = 0, steps_ = 0, curvature_n_ = 0, since_refresh_ = 0;
    double regulariser_;  // the multiple of I that A has besides what was learned; 0 if that is not
                          // known

   public:
    const long k, d, D, sk, sr;  // sk, sr: row strides of k- and rank-vectors

   private:
    const long ld, dp, rank, r, lt,
        lb;  // row strides of D-, d-vectors; columns of F; steps in a block; row strides of T, B
    Buffer Ainv, A, V;
    Buffer X, P, U, K, m0, T, h;
    Buffer curvature_x, curvature_c;
    Buffer B, Z, L, GF, C;

   public:
    Buffer m, G;  // the last reading
};

}  // namespace MIXABLE_ISA
