// Posteriors in blocks, or of a shared one, one in each lane of the vectors: a mixture has many
// small ones of the same shape, and what is done to one of them is done to all at once. blocks.hpp
// has the equations. Here updates are not delayed, and of symmetric matrices the lower triangle is
// kept. That is fastest as long as the matrices fit in the nearer caches.
#pragma once

#include <array>
#include <memory>

#include "blocks.hpp"

namespace MIXABLE_ISA {

class Lanes {
   public:
    Lanes(const PosteriorShape& shape, const Blas& blas)
        : k(shape.k),
          d(shape.d),
          s(shape.matrices()),
          m(k * W),
          g(k * W),
          x(d * W),
          triangle_(d * (d + 1) / 2),
          blas_(blas),
          S_(s * triangle_ * W),
          A_(s * triangle_ * W),
          V_(k * d * W),
          P_(s * d * W),
          kept_x_(delay * d * W),
          kept_f_(delay * s * W) {
        for (long lane = 0; lane < W; ++lane) start(lane, {k, d, 0, 1.0, 0.0});
    }

    /// Whether posteriors of this shape are faster in lanes than each by itself.
    static bool suits(const PosteriorShape& shape) {
        constexpr double most = 3.5e5;  // bytes of eight: more, and they are far from the core
        constexpr long many = 32;       // classes: then vectors of those are as fast
        const bool shared = shape.structure == Structure::shared && shape.k <= many;
        return (shared || shape.structure == Structure::blocks) && shape.block == 0 &&
               32.0 * double(shape.matrices()) * double(shape.d) * double(shape.d + 1) <= most;
    }

    const long k, d, s;  // predictions, features, matrices
    Buffer m, g;         // the last reading: for each prediction a number in each lane
    Buffer x;            // the inputs to be read, for each feature a number in each lane

    /// Lets a lane know nothing.
    void start(long lane, const PosteriorShape& shape) {
        settle();
        shape_[lane] = shape;
        steps_[lane] = since_refresh_[lane] = 0;
        lam_[lane] = shape.lam;
        drift_[lane] = shape.drift;
        most_gain_[lane] = is_kept(lane) ? 1e300 : 1e14;
        for (long c = 0; c < s; ++c)
            for (long i = 0, at = c * triangle_ * W + lane; i < d; ++i)
                for (long j = 0; j <= i; ++j, at += W) {
                    S_[at] = i == j ? 1.0 / shape.lam : 0.0;
                    A_[at] = i == j ? shape.lam : 0.0;
                }
        for (long i = 0; i < k * d; ++i) V_[i * W + lane] = 0;
    }

    /// Sets m and g of the inputs x.
    void read() {
        for (long c = 0; c < s; ++c) {
            double* p = P_ + c * d * W;
            multiply(S_ + c * triangle_ * W, p);
            store(g + c * W, max(along(p), vec{}));
        }
        for (long c = s; c < k; ++c) store(g + c * W, load(g));
        for (long c = 0; c < k; ++c) store(m + c * W, along(V_ + c * d * W));
    }

    /// Learns v and f (for each prediction a number in each lane) from the inputs last read. Lanes
    /// whose |x|^2 is above `most`, or for which it is beyond double precision, take a step without
    /// learning anything.
    void push(const double* v, const double* f, vec most) {
        const vec square = squares();
        vec gain{}, largest{}, check{};
        for (long c = 0; c < k; ++c) {
            const vec one = load(f + c * W);
            gain = max(gain, one * load(g + c * W));
            largest = max(largest, one);
            check += 0.0 * load(v + c * W) + 0.0 * one;
        }
        const ivec learns = (check == 0.0) & (gain <= most_gain_) & (square <= most) &
                            (square <= 1e15 * lam_) & (largest * square <= 1e15 * lam_) &
                            (largest <= Blocks::most_curvature);
        for (long c = 0; c < k; ++c) {
            const vec step = learns ? load(v + c * W) : vec{};
            const double* p = P_ + (s == 1 ? 0 : c) * d * W;
            double* mean = V_ + c * d * W;
            for (long i = 0; i < d * W; i += W)
                store(mean + i, load(mean + i) - step * load(p + i));
        }
        for (long c = 0; c < s; ++c) {
            const vec F = learns ? load(f + c * W) : vec{};
            store(kept_f_ + (kept_ * s + c) * W, F);
            subtract(F / (1.0 + F * load(g + c * W)), P_ + c * d * W, S_ + c * triangle_ * W);
        }
        copy(x, d * W, kept_x_ + kept_ * d * W);
        if (++kept_ == delay) settle();
        for (long lane = 0; lane < W; ++lane) {
            ++steps_[lane];
            ++since_refresh_[lane];
            const bool half_lost = learns[lane] != 0 && gain[lane] > 1e8;  // of the digits of S
            if ((half_lost || since_refresh_[lane] >= shape_[lane].block_refresh_period()) &&
                is_kept(lane))
                refresh(lane);
        }
    }

    vec squares() const { return along(x); }

   private:
    friend class Lane;

    static constexpr long delay = 16;  // steps before they are added to A

    bool is_kept(long lane) const { return shape_[std::size_t(lane)].drift == 0; }

    /// a . x
    vec along(const double* a) const {
        vec even{}, odd{};
        long l = 0;
        for (; l + 2 <= d; l += 2) {
            even += load(a + l * W) * load(x + l * W);
            odd += load(a + (l + 1) * W) * load(x + (l + 1) * W);
        }
        if (l < d) even += load(a + l * W) * load(x + l * W);
        return even + odd;
    }

    /// out = M x, M (d x d) symmetric. Four rows at a time: each entry is read once.
    void multiply(const double* M, double* out) const {
        const auto row = [&](long i) { return M + i * (i + 1) / 2 * W; };
        long i = 0;
        for (; i + 4 <= d; i += 4) {
            const double *r0 = row(i), *r1 = row(i + 1), *r2 = row(i + 2), *r3 = row(i + 3);
            const vec x0 = load(x + i * W), x1 = load(x + (i + 1) * W), x2 = load(x + (i + 2) * W),
                      x3 = load(x + (i + 3) * W);
            vec s0{}, s1{}, s2{}, s3{};
            for (long j = 0; j < i * W; j += W) {
                const vec xj = load(x + j), a = load(r0 + j), b = load(r1 + j), c = load(r2 + j),
                          e = load(r3 + j);
                s0 += a * xj;
                s1 += b * xj;
                s2 += c * xj;
                s3 += e * xj;
                store(out + j, load(out + j) + a * x0 + b * x1 + (c * x2 + e * x3));
            }
            const double *q0 = r0 + i * W, *q1 = r1 + i * W, *q2 = r2 + i * W, *q3 = r3 + i * W;
            const vec m10 = load(q1), m20 = load(q2), m21 = load(q2 + W), m30 = load(q3),
                      m31 = load(q3 + W), m32 = load(q3 + 2 * W);
            store(out + i * W, s0 + load(q0) * x0 + m10 * x1 + m20 * x2 + m30 * x3);
            store(out + (i + 1) * W, s1 + m10 * x0 + load(q1 + W) * x1 + m21 * x2 + m31 * x3);
            store(out + (i + 2) * W, s2 + m20 * x0 + m21 * x1 + load(q2 + 2 * W) * x2 + m32 * x3);
            store(out + (i + 3) * W, s3 + m30 * x0 + m31 * x1 + m32 * x2 + load(q3 + 3 * W) * x3);
        }
        for (; i < d; ++i) {
            const double* r = row(i);
            const vec xi = load(x + i * W);
            vec sum{};
            for (long j = 0; j < i * W; j += W) {
                sum += load(r + j) * load(x + j);
                store(out + j, load(out + j) + load(r + j) * xi);
            }
            store(out + i * W, sum + load(r + i * W) * xi);
        }
    }

    /// S <- S - w p p^T + drift I, two rows at a time.
    void subtract(vec w, const double* p, double* s) const {
        long i = 0;
        for (; i + 2 <= d; i += 2) {
            const vec above = w * load(p + i * W), below = w * load(p + (i + 1) * W);
            double* t = s + (i + 1) * W;
            for (long j = 0; j < i * W; j += W) {
                const vec entry = load(p + j);
                store(s + j, load(s + j) - above * entry);
                store(t + j, load(t + j) - below * entry);
            }
            s += i * W;
            t += i * W;
            store(s, load(s) - above * load(p + i * W) + drift_);
            store(t, load(t) - below * load(p + i * W));
            store(t + W, load(t + W) - below * load(p + (i + 1) * W) + drift_);
            s = t + 2 * W;
        }
        for (; i < d; ++i) {
            const vec left = w * load(p + i * W);
            for (long j = 0; j <= i * W; j += W, s += W) store(s, load(s) - left * load(p + j));
            store(s - W, load(s - W) + drift_);
        }
    }

    /// Adds the steps that are remembered to A, one after the other: how many come together does
    /// not matter to the bits.
    void settle() {
        long t = 0;
        for (; t + 8 <= kept_; t += 8) accumulate<8>(t);
        for (; t < kept_; ++t) accumulate<1>(t);
        kept_ = 0;
    }
    template <int T>
    void accumulate(long first) {
        const double* xs = kept_x_ + first * d * W;
        double* a = A_;
        for (long c = 0; c < s; ++c)
            for (long i = 0; i < d * W; i += W) {
                vec left[T];
                for (int t = 0; t < T; ++t)
                    left[t] = load(kept_f_ + ((first + t) * s + c) * W) * load(xs + t * d * W + i);
                for (long j = 0; j <= i; j += W, a += W) {
                    vec sum = load(a);
                    for (int t = 0; t < T; ++t) sum += left[t] * load(xs + t * d * W + j);
                    store(a, sum);
                }
            }
    }

    /// S = A^-1 in one lane.
    void refresh(long lane) {
        settle();
        Buffer one(d * d), inverse(d * d);
        for (long c = 0; c < s; ++c) {
            for (long i = 0, at = c * triangle_ * W + lane; i < d; ++i)
                for (long j = 0; j <= i; ++j, at += W) one[i * d + j] = A_[at];
            invert_with_jitter(blas_, d, one, inverse, d);
            for (long i = 0, at = c * triangle_ * W + lane; i < d; ++i)
                for (long j = 0; j <= i; ++j, at += W) S_[at] = inverse[i * d + j];
        }
        since_refresh_[std::size_t(lane)] = 0;
    }

    const long triangle_;
    Blas blas_;
    std::array<PosteriorShape, W> shape_{};
    std::array<long, W> steps_{}, since_refresh_{};
    vec lam_{}, drift_{}, most_gain_{};
    Buffer S_, A_;            // for each matrix the lower triangle by rows, each entry in all lanes
    Buffer V_, P_;            // k x d, s x d
    Buffer kept_x_, kept_f_;  // steps that are not in A yet
    long kept_ = 0;
};

/// What is known in one lane. To be changed or shown as a whole it becomes Blocks.
class Lane final : public Knowledge, public InBlocks {
   public:
    Lane(std::shared_ptr<Lanes> lanes, long lane, const PosteriorShape& shape)
        : Knowledge(shape.k, shape.d),
          lanes_(std::move(lanes)),
          lane_(lane),
          regulariser_(shape.drift == 0 ? shape.lam : 0.0) {
        lanes_->start(lane, shape);
    }

    long steps() const override { return lanes_->steps_[at()]; }
    double largest_square() const override { return shape().largest_square(); }
    double cost() const override { return shape().cost(); }
    double bytes() const override { return shape().bytes(); }
    void mean(double* out) const override { as_blocks().mean(out); }
    std::pair<long, long> covariance_size() const override { return {lanes_->s * d, d}; }
    void covariance(double* out) const override { as_blocks().covariance(out); }
    void feature_covariances(double* out) const override { as_blocks().feature_covariances(out); }
    ClassView view() const override { return as_blocks().view(); }
    void adopt(const Knowledge& other, bool exchange = false) override {
        Blocks blocks = as_blocks();
        blocks.adopt(other, exchange);
        take(blocks);
    }
    [[gnu::cold]] void visit(Visitor& visitor) override {
        Blocks blocks = as_blocks();
        blocks.visit(visitor);
        take(blocks);
    }
    void clear() override {}
    [[gnu::cold]] bool counters_are_valid() const override {
        return as_blocks().counters_are_valid();
    }
    [[gnu::cold]] bool contents_are_valid(double limit) const override {
        return as_blocks().contents_are_valid(limit);
    }

   private:
    std::size_t at() const { return std::size_t(lane_); }
    const PosteriorShape& shape() const { return lanes_->shape_[at()]; }

    /// f(c, i, j, where that entry of a triangle is in the lanes).
    template <class F>
    void for_entries(F&& f) const {
        long entry = lane_;
        for (long c = 0; c < lanes_->s; ++c)
            for (long i = 0; i < d; ++i)
                for (long j = 0; j <= i; ++j, entry += W) f(c, i, j, entry);
    }

    [[gnu::cold]] Blocks as_blocks() const {
        Blocks out(shape(), lanes_->blas_);
        out.steps_ = steps();
        out.since_refresh_ = lanes_->since_refresh_[at()];
        out.regulariser_ = regulariser_;
        out.n_ = pending_;
        lanes_->settle();
        const bool kept = out.is_kept();
        for_entries([&](long c, long i, long j, long from) {
            const long lower = (c * d + i) * out.dp + j, upper = (c * d + j) * out.dp + i;
            out.S[lower] = out.S[upper] = lanes_->S_[from];
            if (kept) out.A[lower] = out.A[upper] = lanes_->A_[from];
        });
        for (long c = 0; c < k; ++c)
            for (long l = 0; l < d; ++l)
                out.V[c * out.dp + l] = lanes_->V_[(c * d + l) * W + lane_];
        return out;
    }

    /// Takes over blocks, with what is pending in them.
    [[gnu::cold]] void take(const Blocks& blocks) {
        lanes_->steps_[at()] = blocks.steps_;
        lanes_->since_refresh_[at()] = blocks.since_refresh_;
        regulariser_ = blocks.regulariser_;
        pending_ = blocks.n_;
        if (!blocks.counters_are_valid()) return;  // as they stand in a file: to be refused
        lanes_->settle();
        Buffer now(k * d * d), precision(d * d);
        blocks.covariance(now);
        for_entries(
            [&](long c, long i, long j, long to) { lanes_->S_[to] = now[(c * d + i) * d + j]; });
        if (blocks.is_kept())
            for_entries([&](long c, long i, long j, long to) {
                if (i == 0) blocks.precision_of(c, precision);
                lanes_->A_[to] = precision[i * d + j];
            });
        for (long c = 0; c < k; ++c)
            for (long l = 0; l < d; ++l)
                lanes_->V_[(c * d + l) * W + lane_] = blocks.V[c * blocks.dp + l];
        // Now nothing is pending, unless only counters were read from a file so far.
        for (long i = 0; i < blocks.n_ * blocks.s; ++i)
            if (blocks.roots_[i] != 0) pending_ = 0;
    }

    std::shared_ptr<Lanes> lanes_;
    const long lane_;
    double regulariser_;
    long pending_ = 0;  // steps that a file of Blocks says were pending
};

}  // namespace MIXABLE_ISA
