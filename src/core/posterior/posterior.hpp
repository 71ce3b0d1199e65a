// The full Gaussian over the weights: mean V (k x d) and inverse curvature A^-1 (D x D, D = k d,
// class-major). Of the symmetric matrices only the d x d blocks (a, b) with b <= a are kept up to
// date; if they are small, only the lower triangle.
//
// Updates are delayed. Within a block of up to `capacity` steps, A^-1 = A0^-1 + s q I - U U^T, and
// U is never formed: with P = the rows A0^-1 Phi(x_s) of the block (plus q s Phi(x_s)), U = P T for
// a small triangular T, so that
//     m_t = V0 x_t - K_t h,   B_t = K_t T,   G_t = K_tt - B_t B_t^T,   K_t = Phi(x_t)^T P.
// Only P and the Gram rows K touch vectors of length D, and both are matrix products when the
// inputs are known in advance.
#pragma once

#include "curvature.hpp"
#include "state.hpp"

namespace MIXABLE_ISA {

class Posterior final : public Delayed {
   public:
    Posterior(const PosteriorShape& shape, const Blas& blas)
        : Delayed(shape, shape.capacity(), shape.refresh_period()),
          blas_(blas),
          curvature_(shape, blas),
          D(shape.D()),
          ld(shape.ld()),
          rank(shape.rank),
          lt(pad_to(r * k, 8)),
          lb(pad_to(r * rank, 8)),
          Ainv(D * ld),
          P(r * k * ld),
          K(r * k * lt),
          m0(r * k),
          T(r * rank * lt),
          h(lt),
          B(k * lb) {
        for (long i = 0; i < D; ++i) Ainv[i * ld + i] = 1.0 / shape.lam;
    }

    /// Their P, Gram rows and means before the block.
    [[gnu::noinline]] void prepare(const Rows& rows, bool in_turn = true) override {
        const long count = rows.count;
        keep(rows, in_turn);
        project(count);
        if (shape_.drift > 0)
            for (long t = n_; t < n_ + count; ++t)
                for (long j = 0; j < k; ++j)
                    for (long l = 0; l < d; ++l)
                        P[(t * k + j) * ld + j * d + l] +=
                            shape_.drift * double(in_turn ? t : n_) * X[t * dp + l];
        dots(d, count, X + n_ * dp, dp, k, V, dp, m0 + n_ * k, k);
        gram(count);
    }

    [[gnu::noinline]] void read(long after = 0) override {
        const long c = n_ * k, cu = n_ * rank, own = (n_ + after) * k;
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

    [[gnu::noinline]] void push(const double* v, const double* F) override {
        const long c = n_ * k, cu = n_ * rank;
        double *L = workspace(k * lt + 2 * k * sr + rank * sr), *GF = L + k * sr, *C = GF + k * sr,
               *Z = C + rank * sr;
        // A^-1 <- A^-1 - P L L^T P^T with L = F C^-1, C^T C = I + F^T G F.
        // A^-1 is about to lose `gain` times its size, hence digits.
        const double gain = factor_gain(k, rank, G, sk, F, sr, GF, C);
        copy(F, k * sr, L);
        double check = 0 * gain;
        for (long i = 0; i < k; ++i) {
            solve_transposed(rank, C, sr, L + i * sr);
            for (long j = 0; j < rank; ++j) check += 0 * L[i * sr + j];
            check += 0 * (1e108 * v[i]);  // NaN above 1e200: V must stay below what may be loaded
        }
        if (!(check == 0 && (shape_.drift == 0 || gain < 1e14))) refuse_example();
        // Beyond, nothing is left of the other directions of A.
        const double curvature = squared_norm(F, k * sr) * squared_norm(X + n_ * dp, d);
        const double most = rank < k ? 2e17 : 1e15;  // ONS squares the weight of an example
        if (!(curvature <= most * shape_.lam)) refuse_example();
        if (c * k >= 512) {
            set_to_zero(Z, k * lt);
            blas_.gemm(false, false, k, c, cu, 1.0, B, lb, T, lt, 0.0, Z, lt);
        } else {
            combine(k, c, cu, 1.0, {B, lb, 1}, T, lt, Z, lt, false);
        }
        combine(rank, c, k, -1.0, {L, 1, sr}, Z, lt, T + cu * lt, lt, false);
        for (long i = 0; i < k; ++i)
            for (long j = 0; j < rank; ++j) T[(cu + j) * lt + c + i] = L[i * sr + j];
        combine(1, c, k, -1.0, {v, 0, 1}, Z, lt, h, lt, true);
        copy(v, k, h + c);
        curvature_.add(X + n_ * dp, F, sr, workspace(r * rank * ld));
        ++n_;
        ++steps_;
        const bool half_lost = gain > 1e8 || gain < -1e-6;  // digits of A^-1: refresh at once
        if (half_lost) since_refresh_ = period_;
        if (n_ == r || (half_lost && keeps_precision())) flush();
    }

    void mean(double* out) const override {
        Buffer change(ld);
        combine(1, D, n_ * k, 1.0, {h, 0, 1}, P, ld, change, ld, false);
        for (long j = 0; j < k; ++j)
            for (long l = 0; l < d; ++l) out[j * d + l] = V[j * dp + l] - change[j * d + l];
    }

    /// Replaces the mean (k x d); the width stays.
    void set_mean(const double* mean) {
        flush();
        for (long j = 0; j < k; ++j) copy(mean + j * d, d, V + j * dp);
    }

    void adopt(const Knowledge& state, bool exchange = false) override {
        if (const auto own = state.apart()) return adopt(*own, exchange);
        const auto& other = dynamic_cast<const Posterior&>(state);
        const long D0 = other.D;
        const double change = exchange ? shape_.lam - other.regulariser_ : 0.0;
        Buffer small(D0 * D0), mean(D0);
        const auto precision = [&] {
            if (other.keeps_precision()) {
                other.precision(small);
            } else {
                other.covariance(small);
                invert(blas_, D0, small);
            }
            for (long i = 0; i < D0; ++i) small[i * D0 + i] += change;
        };
        if (keeps_precision()) {
            precision();
            place(small, D0, other.d, curvature_.matrix());
        }
        other.mean(mean);
        if (change == 0) {
            other.covariance(small);
        } else {
            precision();
            invert(blas_, D0, small);
            for (long i = 0; i < D0; ++i) {
                double s = 0;
                for (long l = 0; l < D0; ++l) s += small[i * D0 + l] * mean[l];
                V[i / other.d * dp + i % other.d] = -change * s;
            }
        }
        place(small, D0, other.d, Ainv);
        for (long i = 0; i < D0; ++i) V[i / other.d * dp + i % other.d] += mean[i];
        if (!exchange) regulariser_ = keeps_precision() ? other.regulariser_ : 0.0;
        steps_ = other.steps_;
        since_refresh_ = other.since_refresh_;
    }

    Counters counters() const {
        Counters out = Delayed::counters();
        out.curvature_pending = curvature_.pending();
        return out;
    }
    /// Replaces all; A is for one without drift.
    void set(const Counters& counters, const double* covariance, const double* precision,
             const double* mean) {
        Delayed::set(counters);
        curvature_.set_pending(counters.curvature_pending);
        place(covariance, D, d, Ainv);
        if (keeps_precision()) place(precision, D, d, curvature_.matrix());
        for (long j = 0; j < k; ++j) copy(mean + j * d, d, V + j * dp);
    }
    /// Whether there are steps whose updates are delayed, and not only their number.
    bool has_pending_steps() const { return X.is_filled() || curvature_.has_pending_steps(); }

    /// A (D x D), as accumulated, if it is kept.
    void precision(double* out) const { curvature_.precision(out); }

    void covariance(double* out) const override {
        const long cu = n_ * rank;
        Buffer u(cu * ld), S(D * ld);
        copy(Ainv, D * ld, S);
        combine(cu, D, n_ * k, 1.0, {T, lt, 1}, P, ld, u, ld, false);
        add_gram(D, d, cu, -1.0, u, ld, S, ld);
        for (long i = 0; i < D; ++i) {
            copy(S + i * ld, i + 1, out + i * D);
            out[i * D + i] += double(n_) * shape_.drift;
        }
        mirror(out, D, 0, D);
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("pending", n_);
        curvature_.visit_counters(visitor);
        visitor("since_refresh", since_refresh_);
        visitor("regulariser", regulariser_);
        visitor("A_inverse", whole(shape_, Ainv), D, D, ld);
        visitor("V", V, k, d, dp);
        const long n = std::clamp(n_, 0L, r);  // as read from a file, it may be anything
        visitor("X", X, n, d, dp);
        visitor("P", P, n * k, D, ld);
        visitor("T", T, n * rank, n * k, lt);
        visitor("h", h, 1L, n * k, lt);
        curvature_.visit_arrays(visitor);
    }
    void clear() override {
        for (Buffer* buffer : {&T, &B, &h}) buffer->clear();
        forget_prepared();
    }
    [[gnu::cold]] bool counters_are_valid() const override {
        return Delayed::counters_are_valid() && curvature_.counters_are_valid();
    }
    /// A and A^-1 are positive definite (up to rounding) and can belong together.
    [[gnu::cold]] bool contents_are_valid(double limit) const override {
        // An ensemble shows a posterior what it does not let it learn, up to this size.
        const double shown = std::max(largest_square(), 1.001e100);
        for (long t = 0; t < n_; ++t)
            if (!(squared_norm(X + t * dp, d) <= shown)) return false;
        if (!curvature_.contents_are_valid(shown, X, n_) || !block_is_valid(limit)) return false;
        for (long i = 0; i < D * D; ++i)  // also those entries that are not used
            if (!(std::fabs(Ainv[i / D * ld + i % D]) <= limit)) return false;
        for (const Panel p : shape_.panels()) {  // above the diagonal nothing else is used
            const long first = p.j * d + p.l0;
            if (!is_symmetric(Ainv + first * (ld + 1), p.l1 - p.l0, ld, shape_.by_blas()))
                return false;
        }
        Buffer S(D * D), A(keeps_precision() ? D * D : 0);
        covariance(S);
        if (keeps_precision()) {
            precision(A);
            for (long i = 0; i < D; ++i)  // A is that multiple of I and more
                if (!(regulariser_ <= 1.000001 * A[i * D + i])) return false;
            if (!can_be_inverse(D, A, S) || !is_definite(blas_, D, A, 1e308)) return false;
        }
        const double square = std::min(largest_square(), 1e280);
        if (!is_definite(blas_, D, S, limit / square, shape_.drift > 0)) return false;
        for (long i = 0; i < D; ++i)
            if (!(std::fabs(Ainv[i * ld + i]) * square <= limit)) return false;
        return true;
    }

   private:
    /// The lower class blocks of a matrix (D0 x D0, d0 features).
    void place(const double* small, long D0, long d0, Buffer& M) const {
        for (long i = 0; i < D0; ++i)
            for (long b = 0; b <= i / d0; ++b)
                copy(small + i * D0 + b * d0, d0, M + (i / d0 * d + i % d0) * ld + b * d);
    }

    /// Whether the mean and what is pending stay below `limit` for every input.
    bool block_is_valid(double limit) const {
        const double reach = std::sqrt(std::min(largest_square(), 1e280));
        Buffer now(D);
        mean(now);
        for (long i = 0; i < D; ++i)
            if (!(std::max(reach, 1.0) * std::fabs(now[i]) <= limit)) return false;
        for (long c = 0; c < n_ * k; ++c) {
            double most = 0, q = shape_.drift * double(c / k);
            for (long i = 0; i < D; ++i) most = std::max(most, reach * std::fabs(P[c * ld + i]));
            if (!(most <= limit && most * std::fabs(h[c]) <= limit)) return false;
            if (!is_combination(D, Ainv, ld, X + c / k * dp, c % k * d, d, q, P + c * ld))
                return false;
            const double largest = std::min(1e155, std::sqrt(limit) / most);
            for (long u = 0; u < n_ * rank; ++u)
                if (!(std::fabs(T[u * lt + c]) <= largest)) return false;
        }
        return true;
    }

    /// P = A0^-1 Phi(x) for the inputs prepared last: row (t, j) combines the rows of class j with
    /// the weights x_t. Of these rows the part up to the diagonal block is at hand; the rest stands
    /// in the columns of class j.
    void project(long count) {
        const double* x = X + n_ * dp;
        for (const Panel p : shape_.panels()) {
            const long i0 = p.j * d + p.l0, i1 = p.j * d + p.l1;
            double* out = P + (n_ * k + p.j) * ld;
            if (shape_.by_blas()) {
                const double keep = p.l0 == 0 ? 0.0 : 1.0;
                blas_.gemm(false, false, count, i1, i1 - i0, 1.0, x + p.l0, dp, Ainv + i0 * ld, ld,
                           keep, out, k * ld);
                blas_.gemm(false, true, count, D - i1, i1 - i0, 1.0, x + p.l0, dp,
                           Ainv + i1 * ld + i0, ld, keep, out + i1, k * ld);
            } else {
                const bool lower = shape_.has_triangles();
                combine(count, lower ? i0 : i1, d, 1.0, {x, dp, 1}, Ainv + i0 * ld, ld, out, k * ld,
                        false);
                for (long t = 0; t < count && lower; ++t)
                    times_symmetric(d, Ainv + i0 * (ld + 1), ld, x + t * dp, out + t * k * ld + i0);
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

    /// Folds the block into V and A0^-1.
    void flush() {
        const long c = n_ * k, cu = n_ * rank;
        double* U = workspace(r * rank * ld);
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
            for (const Panel p : shape_.panels()) {
                const long i0 = p.j * d + p.l0, i1 = p.j * d + p.l1;
                blas_.gemm(true, false, i1 - i0, i1, cu, -1.0, U + i0, ld, U, ld, 1.0,
                           Ainv + i0 * ld, ld);
            }
        else
            add_gram(D, shape_.has_triangles() ? 1 : d, cu, -1.0, U, ld, Ainv, ld);
        for (long i = 0; i < D; ++i) Ainv[i * ld + i] += double(n_) * shape_.drift;
        since_refresh_ += n_;
        n_ = 0;
        clear();
        if (!keeps_precision() || since_refresh_ < period_) return;
        since_refresh_ = 0;
        curvature_.invert(U, Ainv);
        if (!shape_.has_triangles()) mirror_blocks(shape_, Ainv);
    }

    Blas blas_;
    Curvature curvature_;
    // Row stride of D-vectors; columns of F; row strides of T and B.
    const long D, ld, rank, lt, lb;
    Buffer Ainv, P, K, m0, T, h, B;
};

}  // namespace MIXABLE_ISA
