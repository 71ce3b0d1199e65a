// A Gaussian over the weights in which predictions are independent: each has a d x d block S_c of
// A^-1 of its own, or one block serves them all ("shared").
//
// Reading: P_c = S_c x, m_c = V_c x, g_c = x . P_c. Learning v, f (the diagonal of F F^T):
//     V_c <- V_c - v_c P_c,   S_c <- S_c - w_c P_c P_c^T,   w_c = f_c / (1 + f_c g_c).
// Updates of S are delayed: for up to r steps the rows sqrt(w_c) P_c are kept, and a reading
// subtracts what they say. Then S_c is touched once, by matrix products. When the next inputs are
// known, their products with S_c are taken together. With drift q, S_c is S_c + s q I after s
// steps.
#pragma once

#include "core/rule/coordinates.hpp"

namespace MIXABLE_ISA {

class Blocks final : public Delayed {
   public:
    Blocks(const PosteriorShape& shape, const Blas& blas)
        : Delayed(shape, block_of(shape), shape.block_refresh_period()),
          blas_(blas),
          s(shape.matrices()),
          by_blas_(shape.d >= least_for_blas),
          phase_(by_blas_ ? shape.phase % r : 0),
          S(s * d * dp),
          A(keeps_precision() ? s * d * dp : 0),
          P(r * s * dp),
          roots_(r * s + 8),
          along_(pad_to(r, 8)),
          scaled_(keeps_precision() ? r * dp : 0) {
        for (long c = 0; c < s; ++c) start(c);
    }

    long room() const override {
        return phase_ ? std::min(r - n_, r - (steps_ + phase_) % r) : r - n_;
    }

    void prepare(const Rows& rows, bool in_turn = true) override {
        keep(rows, in_turn);
        for (long c = 0; c < s; ++c) project(c, rows.count);
        read_ = -1;
    }

    void read(long after = 0) override {
        const long t = n_ + after;
        if (read_ == t) return;  // P holds what was subtracted already
        const double* x = X + t * dp;
        for (long c = 0; c < s; ++c) {
            double* p = P + (t * s + c) * dp;
            if (n_ > 0) subtract_pending(c, x, p);
            G[c] = std::max(dot(x, p), 0.0);
        }
        for (long c = s; c < k; ++c) G[c] = G[0];
        for (long c = 0; c < k; ++c) m[c] = dot(V + c * dp, x);
        read_ = t;
    }

    void push(const double* v, const double* f) override {
        double check = 0, gain = 0, most = 0;
        for (long c = 0; c < k; ++c) check += 0 * v[c] + 0 * f[c];
        for (long c = 0; c < s; ++c) {
            gain = std::max(gain, f[c] * G[c]);
            most = std::max(most, f[c]);
        }
        if (!(check == 0 && gain <= (keeps_precision() ? 1e300 : 1e14))) refuse_example();
        const double* x = X + n_ * dp;
        // Beyond, nothing is left of the other directions of A.
        if (!(most * squared_norm(x, d) <= 1e15 * shape_.lam && most <= most_curvature))
            refuse_example();
        for (long c = 0; c < k; ++c) {
            const double* p = P + (n_ * s + (s == 1 ? 0 : c)) * dp;
            double* mean = V + c * dp;
            for (long l = 0; l < d; l += W) store(mean + l, load(mean + l) - v[c] * load(p + l));
        }
        for (long c = 0; c < s; ++c) {
            roots_[n_ * s + c] = std::sqrt(f[c]);
            double* p = P + (n_ * s + c) * dp;
            const double root = roots_[n_ * s + c] / std::sqrt(1 + f[c] * G[c]);
            for (long l = 0; l < d; l += W) store(p + l, root * load(p + l));
        }
        ++n_;
        ++steps_;
        read_ = -1;
        const bool half_lost = gain > 1e8;  // of the digits of S: refresh at once
        if (half_lost) since_refresh_ = period_;
        if (n_ == r || is_end_of_phase() || (half_lost && keeps_precision())) flush();
    }

    std::pair<long, long> covariance_size() const override { return {s * d, d}; }
    void covariance(double* out) const override {
        for (long c = 0; c < s; ++c)
            for (long i = 0; i < d; ++i)
                for (long j = 0; j < d; ++j) {
                    double entry = S[(c * d + std::max(i, j)) * dp + std::min(i, j)];
                    if (i == j) entry += added_drift();
                    for (long t = 0; t < n_; ++t) {
                        const double* p = P + (t * s + c) * dp;
                        entry -= p[i] * p[j];
                    }
                    out[(c * d + i) * d + j] = entry;
                }
    }

    /// The other may be shared where this has blocks and the other way round, or full. A new
    /// prediction has the mean of the others.
    void adopt(const Knowledge& state, bool exchange = false) override {
        if (const auto own = state.apart()) return adopt(*own, exchange);
        const auto* full = dynamic_cast<const Posterior*>(&state);
        const ClassView view = full ? class_view(*full) : dynamic_cast<const Blocks&>(state).view();
        const long d0 = view.d, k0 = view.k, s0 = view.matrices;
        const double regulariser = view.regulariser;
        const Buffer &theirs = view.mean, &all = view.covariance;
        const double change = exchange ? shape_.lam - regulariser : 0.0;
        // A shared block has the mean of the blocks' precisions, as when it learns.
        const bool averaged = s == 1 && s0 > 1, changed = averaged || change != 0;
        Buffer precision(d0 * d0), one(d0 * d0);
        for (long c = 0; c < s && (s == 1 || c < k0); ++c) {
            const double* first = all + (averaged ? 0 : std::min(c, s0 - 1)) * d0 * d0;
            copy(first, d0 * d0, one);
            if (changed || keeps_precision()) mean_inverse(first, averaged ? s0 : 1, d0, precision);
            for (long i = 0; i < d0; ++i) precision[i * d0 + i] += change;
            if (changed) mean_inverse(precision, 1, d0, one);
            start(c);
            place(one, d0, S + c * d * dp);
            if (keeps_precision()) place(precision, d0, A + c * d * dp);
        }
        V.clear();
        for (long c = 0; c < k0; ++c) {
            const double *mean = theirs + c * d0, *block = S + (s == 1 ? 0 : c) * d * dp;
            for (long i = 0; i < d0; ++i)  // A' theta' = A theta, A' = A + change I
                V[c * dp + i] =
                    mean[i] - (change == 0 ? 0.0 : change * times(block + i * dp, mean, d0));
        }
        fill_means(k0, d0);
        if (!exchange) regulariser_ = keeps_precision() ? regulariser : 0.0;
        steps_ = state.steps();
        since_refresh_ = n_ = prepared_ = 0;
        read_ = -1;
    }

    /// Replaces all; A is for one without drift.
    void set(const Counters& counters, const double* covariance, const double* precision,
             const double* mean) {
        Delayed::set(counters);
        for (long i = 0; i < s * d; ++i) copy(covariance + i * d, d, S + i * dp);
        for (long i = 0; i < s * d && keeps_precision(); ++i)
            copy(precision + i * d, d, A + i * dp);
        for (long c = 0; c < k; ++c) copy(mean + c * d, d, V + c * dp);
    }
    /// Whether there are steps whose updates are delayed, and not only their number.
    bool has_pending_steps() const { return roots_.is_filled(); }
    /// The matrices A_c, one below the other.
    void precision(double* out) const {
        for (long c = 0; c < s; ++c) precision_of(c, out + c * d * d);
    }

    ClassView view() const {
        ClassView out{k, d, s, regulariser_, Buffer(k * d), Buffer(s * d * d)};
        mean(out.mean);
        covariance(out.covariance);
        return out;
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("pending", n_);
        visitor("since_refresh", since_refresh_);
        visitor("regulariser", regulariser_);
        for (long c = 0; c < s && has_triangles(); ++c) mirror(S + c * d * dp, dp, 0, d);
        visitor("S", S, s * d, d, dp);
        visitor("V", V, k, d, dp);
        const long n = std::clamp(n_, 0L, r);  // as read from a file, it may be anything
        visitor("X", X, n, d, dp);
        visitor("P", P, n * s, d, dp);
        visitor("roots", roots_, n, s, s);
        if (keeps_precision()) visitor("A", A, s * d, d, dp);
    }
    void clear() override {
        forget_prepared();
        read_ = -1;
    }
    [[gnu::cold]] bool contents_are_valid(double limit) const override {
        const double square = std::min(largest_square(), 1e280), reach = std::sqrt(square);
        const double shown = std::max(largest_square(), 1.001e100);
        for (long t = 0; t < n_; ++t)
            if (!(squared_norm(X + t * dp, d) <= shown)) return false;
        for (long i = 0; i < k * dp; ++i)
            if (!(std::max(reach, 1.0) * std::fabs(V[i]) <= limit)) return false;
        for (long i = 0; i < n_ * s; ++i) {
            if (!(roots_[i] >= 0 && roots_[i] * roots_[i] <= 1.001 * most_curvature)) return false;
            for (long l = 0; l < d; ++l)
                if (!(reach * std::fabs(P[i * dp + l]) <= std::sqrt(limit))) return false;
        }
        Buffer now(s * d * d), one(d * d), precision(keeps_precision() ? d * d : 0);
        covariance(now);
        for (long c = 0; c < s; ++c) {
            if (!is_symmetric(S + c * d * dp, d, dp, by_blas_)) return false;
            for (long i = 0; i < d; ++i)
                if (!(std::fabs(S[(c * d + i) * dp + i]) * square <= limit)) return false;
            copy(now + c * d * d, d * d, one);
            if (keeps_precision()) {
                precision_of(c, precision);
                if (!can_be_inverse(d, precision, one)) return false;
                for (long i = 0; i < d; ++i)  // A is that multiple of I and more
                    if (!(regulariser_ <= 1.000001 * precision[i * d + i])) return false;
                if (!is_definite(blas_, d, precision, 1e308)) return false;
            }
            if (!is_definite(blas_, d, one, limit / square, !keeps_precision())) return false;
        }
        return true;
    }

    static constexpr double most_curvature = 1e150;  // f, of an input that may be 0

   private:
    static constexpr long least_for_blas = 256;
    static constexpr long panel = 256;  // rows of A that BLAS updates together

    static long block_of(const PosteriorShape& shape) {
        if (shape.block > 0) return shape.block;
        return shape.d >= least_for_blas ? 32 : 8;
    }
    bool is_end_of_phase() const { return phase_ && (steps_ + phase_) % r == 0; }
    /// Whether only the lower triangles of S are kept up to date: less memory to go through.
    bool has_triangles() const { return d <= 48; }
    double added_drift() const { return double(n_) * shape_.drift; }

    void start(long c) {
        double* block = S + c * d * dp;
        set_to_zero(block, d * dp);
        for (long i = 0; i < d; ++i) block[i * dp + i] = 1.0 / shape_.lam;
        if (!keeps_precision()) return;
        block = A + c * d * dp;
        set_to_zero(block, d * dp);
        for (long i = 0; i < d; ++i) block[i * dp + i] = shape_.lam;
    }

    static double times(const double* a, const double* b, long n) {
        double sum = 0;
        for (long i = 0; i < n; ++i) sum += a[i] * b[i];
        return sum;
    }
    /// a . b of vectors of d numbers with zeros behind.
    double dot(const double* a, const double* b) const {
        vec even{}, odd{};
        long l = 0;
        for (; l + W < d; l += 2 * W) {
            even += load(a + l) * load(b + l);
            odd += load(a + l + W) * load(b + l + W);
        }
        if (l < d) even += load(a + l) * load(b + l);
        return sum(even + odd);
    }

    /// S_c x for the inputs prepared last.
    void project(long c, long count) {
        const double *x = X + n_ * dp, *block = S + c * d * dp;
        double* out = P + (n_ * s + c) * dp;
        if (by_blas_ && count == 1)
            blas_.symv(d, block, dp, x, out);
        else if (by_blas_)
            blas_.gemm(false, false, count, d, d, 1.0, x, dp, block, dp, 0.0, out, s * dp);
        else if (has_triangles())
            for (long t = 0; t < count; ++t)
                times_symmetric(d, block, dp, x + t * dp, out + t * s * dp);
        else if (count == 1)
            combine_row(d, d, x, block, dp, out);
        else
            combine(count, d, d, 1.0, {x, dp, 1}, block, dp, out, s * dp, false);
    }

    void subtract_pending(long c, const double* x, double* p) {
        const double* pending = P + c * dp;
        const long stride = s * dp;
        const double q = added_drift();
        if (q > 0)
            for (long l = 0; l < d; l += W) store(p + l, load(p + l) + q * load(x + l));
        dots(d, 1, x, dp, n_, pending, stride, along_, r);
        combine(1, d, n_, -1.0, {along_, 0, 1}, pending, stride, p, dp, true);
    }

    /// Folds what is pending into S and A.
    void flush() {
        since_refresh_ += n_;
        const bool due = keeps_precision() && since_refresh_ >= period_;
        for (long c = 0; c < s; ++c) {
            if (keeps_precision()) accumulate(c);
            if (due) {
                refresh(c);
                continue;
            }
            double* block = S + c * d * dp;
            const double* rows = P + c * dp;
            if (by_blas_)
                blas_.gemm(true, false, d, d, n_, -1.0, rows, s * dp, rows, s * dp, 1.0, block, dp);
            else {
                add_gram(d, 1, n_, -1.0, rows, s * dp, block, dp);
                if (!has_triangles()) mirror_all(block, dp, d);
            }
            if (shape_.drift > 0)
                for (long i = 0; i < d; ++i) block[i * dp + i] += added_drift();
        }
        if (due) since_refresh_ = 0;
        n_ = prepared_ = 0;
    }

    /// Adds what is pending to A_c, of which only the lower triangle is used.
    void accumulate(long c) {
        for (long t = 0; t < n_; ++t)
            for (long l = 0; l < d; l += W)
                store(scaled_ + t * dp + l, roots_[t * s + c] * load(X + t * dp + l));
        double* block = A + c * d * dp;
        if (!by_blas_) return add_gram(d, 1, n_, 1.0, scaled_, dp, block, dp);
        for (long i = 0; i < d; i += panel)
            blas_.gemm(true, false, std::min(panel, d - i), std::min(i + panel, d), n_, 1.0,
                       scaled_ + i, dp, scaled_, dp, 1.0, block + i * dp, dp);
    }

    /// S_c = A_c^-1.
    void refresh(long c) {
        double* block = S + c * d * dp;
        invert_with_jitter(blas_, d, A + c * d * dp, block, dp);
        mirror(block, dp, 0, d);
    }

    /// The mean of the inverses of `count` matrices (n x n).
    void mean_inverse(const double* matrices, long count, long n, double* out) const {
        Buffer one(n * n);
        set_to_zero(out, n * n);
        for (long b = 0; b < count; ++b) {
            copy(matrices + b * n * n, n * n, one);
            invert(blas_, n, one);
            for (long i = 0; i < n * n; ++i) out[i] += one[i] / double(count);
        }
    }
    void place(const double* small, long n, double* block) const {
        for (long i = 0; i < n; ++i) copy(small + i * n, n, block + i * dp);
    }
    /// A_c (d x d).
    void precision_of(long c, double* out) const {
        for (long i = 0; i < d; ++i)
            for (long j = 0; j <= i; ++j) {
                double entry = A[(c * d + i) * dp + j];
                for (long t = 0; t < n_; ++t) {
                    const double root = roots_[t * s + c];
                    entry += root * X[t * dp + i] * (root * X[t * dp + j]);
                }
                out[j * d + i] = out[i * d + j] = entry;
            }
    }

    Blas blas_;
    const long s;  // matrices
    const bool by_blas_;
    const long phase_;
    long read_ = -1;
    Buffer S, A;
    // For each input S_c x (row t s + c), less what is pending; once it is learned,
    // sqrt(w_c) times that.
    Buffer P;
    Buffer roots_;  // sqrt(f_c) of the pending steps
    Buffer along_, scaled_;
};

}  // namespace MIXABLE_ISA
