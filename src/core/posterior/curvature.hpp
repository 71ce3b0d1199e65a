// A as it is accumulated, A = lam I + sum of Phi(x) C Phi(x)^T: what A^-1 is made from again now
// and then, so that rounding cannot pile up. With drift there is no such sum.
#pragma once

#include <vector>

#include "core/numbers/blas.hpp"
#include "core/numbers/symmetric.hpp"
#include "core/visitor.hpp"
#include "shape.hpp"

namespace MIXABLE_ISA {

/// Where a thread computes, until it asks again: many models need memory for what they know only.
inline double* workspace(long n) {
    thread_local Buffer shared;
    if (shared.size() < n) shared = Buffer(n);
    return shared;
}

/// Copies the lower halves of the blocks on the diagonal to the upper ones.
inline void mirror_blocks(const PosteriorShape& shape, double* M) {
    for (const Panel p : shape.panels())
        mirror(M, shape.ld(), p.j * shape.d + p.l0, p.j * shape.d + p.l1);
}
/// The same where that was not done before: for what is saved.
inline Buffer& whole(const PosteriorShape& shape, Buffer& M) {
    if (shape.has_triangles()) mirror_blocks(shape, M);
    return M;
}

class Curvature {
   public:
    Curvature(const PosteriorShape& shape, const Blas& blas)
        : shape_(shape),
          blas_(blas),
          k(shape.k),
          d(shape.d),
          D(shape.D()),
          ld(shape.ld()),
          dp(pad_to(shape.d, 8)),
          A(is_kept() ? D * ld : 0),
          x_(shape.curvature_capacity() * dp),
          c_(shape.curvature_capacity() * k * k) {
        if (is_kept())
            for (long i = 0; i < D; ++i) A[i * ld + i] = shape.lam;
    }

    bool is_kept() const { return shape_.drift == 0; }
    long pending() const { return n_; }
    void set_pending(long steps) { n_ = steps; }
    bool has_pending_steps() const { return x_.is_filled(); }
    /// The lower class blocks of A, which may be written.
    Buffer& matrix() { return A; }

    /// Remembers the step x, F (k x rank, its rows sr apart). `work` has `capacity` * rank rows.
    void add(const double* x, const double* F, long sr, double* work) {
        if (!is_kept()) return;
        copy(x, d, x_ + n_ * dp);
        dots(shape_.rank, k, F, sr, k, F, sr, c_ + n_ * k * k, k);
        if (++n_ == shape_.curvature_capacity()) accumulate(work);
    }

    /// Adds the remembered steps to A, lower panels only.
    void accumulate(double* work) {
        const long width = shape_.has_triangles() ? tile_vectors * W : ld;
        for (const Panel p : shape_.panels()) {
            const long i0 = p.j * d + p.l0, columns = p.j * d + p.l1;
            for (long t = 0; t < n_; ++t) {
                double* row = work + t * ld;
                for (long b = 0; b <= p.j; ++b) {
                    const double c = c_[(t * k + p.j) * k + b];
                    const long end = b < p.j ? d : p.l1;
                    for (long l = 0; l < end; ++l) row[b * d + l] = c * x_[t * dp + l];
                }
                for (long l = columns; l < pad_to(columns, 8); ++l) row[l] = 0;
            }
            const double* x = x_ + p.l0;
            if (shape_.by_blas())
                blas_.gemm(true, false, p.l1 - p.l0, columns, n_, 1.0, x, dp, work, ld, 1.0,
                           A + i0 * ld, ld);
            else
                for (long c = 0; c < columns; c += width) {  // of the last block half is enough
                    const long first = std::max(0L, c - i0);
                    combine(d - first, std::min(width, columns - c), n_, 1.0, {x + first, 1, dp},
                            work + c, ld, A + (i0 + first) * ld + c, ld, true);
                }
        }
        n_ = 0;
    }

    /// The inverse of A (its lower triangle, rows ld apart).
    void invert(double* work, double* out) {
        accumulate(work);
        invert_with_jitter(blas_, D, A, out, ld);
    }

    /// A (D x D).
    void precision(double* out) const {
        for (long i = 0; i < D; ++i)
            for (long j = 0; j <= i; ++j) out[i * D + j] = A[i * ld + j];
        for (long t = 0; t < n_; ++t) {
            const double* x = x_ + t * dp;
            for (long i = 0; i < D; ++i)
                for (long b = 0; b <= i / d; ++b) {
                    const double c = c_[(t * k + i / d) * k + b] * x[i % d];
                    for (long l = 0; l < d; ++l) out[i * D + b * d + l] += c * x[l];
                }
        }
        mirror(out, D, 0, D);
    }

    [[gnu::cold]] void visit_counters(Visitor& visitor) { visitor("curvature_pending", n_); }
    [[gnu::cold]] void visit_arrays(Visitor& visitor) {
        if (is_kept()) visitor("A", whole(shape_, A), D, D, ld);
        visitor("curvature_x", x_, n_, d, dp);
        visitor("curvature_c", c_, n_, k * k, k * k);
    }
    [[gnu::cold]] bool counters_are_valid() const {
        return n_ >= 0 && n_ < shape_.curvature_capacity();
    }
    /// Whether the remembered steps have inputs of at most this squared norm, and a sum; and the
    /// last of them these inputs, as far as both go back.
    [[gnu::cold]] bool contents_are_valid(double largest, const double* X, long count) const {
        for (long t = 1; t <= std::min(count, n_); ++t)
            if (!std::equal(X + (count - t) * dp, X + (count - t) * dp + d, x_ + (n_ - t) * dp))
                return false;
        for (long t = 0; t < n_; ++t) {
            const double square = squared_norm(x_ + t * dp, d);
            if (!(square <= largest)) return false;
            for (long i = 0; i < k * k; ++i)
                if (!(std::fabs(c_[t * k * k + i]) * square <= 1e308)) return false;
        }
        return true;
    }

   private:
    PosteriorShape shape_;
    Blas blas_;
    const long k, d, D, ld, dp;
    Buffer A, x_, c_;  // c_: k x k for each step, C = F F^T
    long n_ = 0;       // steps that are remembered
};

}  // namespace MIXABLE_ISA
