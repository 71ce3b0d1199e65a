// Posteriors of one shape, one in each lane of the vectors: a mixture has many small ones, and what
// is done to one of them is done to all at once. posterior.hpp and blocks.hpp have the equations.
// Here updates of A^-1 are not delayed, and of symmetric matrices the lower triangle is kept, by
// rows. That is fastest as long as the matrices fit in the nearer caches.
//
// All structures are s matrices, each over the weights of c predictions that are not independent: a
// full posterior has s = 1, c = k, blocks have s = k, c = 1, and a shared block s = c = 1.
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
          is_full(shape.structure == Structure::full),
          s(is_full ? 1 : shape.matrices()),
          c(is_full ? k : 1),
          n(c * d),
          m(k * W),
          g(k * c * W),
          x(d * W),
          triangle_(n * (n + 1) / 2),
          blas_(blas),
          S_(s * triangle_ * W),
          A_(s * triangle_ * W),
          V_(k * d * W),
          P_(s * c * n * W),
          U_(n * std::min(c, most_rank) * W),
          F_(s * c * c * W),
          L_(s * c * c * W),
          gF_(c * c * W),
          C_(c * c * W),
          kept_x_(delay * d * W),
          kept_c_(delay * s * c * c * W) {
        PosteriorShape unused = shape;
        unused.lam = 1;
        unused.drift = 0;
        for (long lane = 0; lane < W; ++lane) start(lane, unused);
    }

    /// Whether posteriors of this shape are faster in lanes than each by itself.
    static bool suits(const PosteriorShape& shape) {
        constexpr long most_weights = 128;  // of a full one: more, and they are far from the core
        constexpr double most = 3.5e5;      // bytes of eight others, likewise
        constexpr long many = 32;           // classes: then vectors of those are as fast
        if (shape.block != 0) return false;
        if (shape.structure == Structure::full)
            return shape.rank == shape.k && shape.D() <= most_weights;
        const bool shared = shape.structure == Structure::shared && shape.k <= many;
        return (shared || shape.structure == Structure::blocks) &&
               32.0 * double(shape.matrices()) * double(shape.d) * double(shape.d + 1) <= most;
    }

    const long k, d;     // predictions, features
    const bool is_full;  // one matrix for all predictions together
    const long s, c, n;  // matrices, the predictions of each, their weights
    Buffer m, g;  // the last reading: (k), and (k x k) or with structure (k), a number in each lane
    Buffer x;     // the inputs to be read, for each feature a number in each lane

    /// Lets a lane know nothing.
    void start(long lane, const PosteriorShape& shape) {
        settle();
        shape_[std::size_t(lane)] = shape;
        steps_[std::size_t(lane)] = since_refresh_[std::size_t(lane)] = 0;
        lam_[lane] = shape.lam;
        drift_[lane] = shape.drift;
        most_gain_[lane] = is_kept(lane) ? 1e300 : 1e14;
        for_entries(lane, [&](long, long i, long j, long at) {
            S_[at] = i == j ? 1.0 / shape.lam : 0.0;
            A_[at] = i == j ? shape.lam : 0.0;
        });
        for (long i = 0; i < k * d; ++i) V_[i * W + lane] = 0;
    }

    /// Sets m and G of the inputs x.
    void read() {
        for (long a = 0; a < k; ++a) store(m + a * W, along(V_ + a * d * W));
        for (long q = 0; q < s; ++q)
            for (long a = 0; a < c; ++a)
                for (long b = 0; b <= a; ++b) multiply(q, a, b);
        for (long q = 0; q < s; ++q)
            for (long a = 0; a < c; ++a)
                for (long b = 0; b <= a; ++b) {
                    vec inner = along(P_ + ((q * c + b) * n + a * d) * W);
                    if (a == b) inner = max(inner, vec{});
                    store(g + ((q * c + a) * c + b) * W, inner);
                    store(g + ((q * c + b) * c + a) * W, inner);
                }
        for (long b = s * c; b < k; ++b) store(g + b * W, load(g));
    }

    /// Learns v (k) and F (k x k; with structure k numbers, the diagonal of F F^T) from the inputs
    /// last read. Lanes whose |x|^2 is above `most`, or for which it is beyond double precision,
    /// take a step without learning anything.
    void push(const double* v, const double* F, vec most) {
        copy(F, s * c * c * W, F_);
        vec gain{};
        for (long q = 0; q < s; ++q) gain = max(gain, damp(q));
        const ivec learns = may_learn(v, gain, most);
        for (long i = 0; i < s * c * c * W; i += W) {
            store(F_ + i, learns ? load(F_ + i) : vec{});
            store(L_ + i, learns ? load(L_ + i) : vec{});
        }
        move(v, learns);
        for (long q = 0; q < s; ++q)
            for (long first = 0; first < c; first += most_rank) subtract(q, first);
        keep();
        for (long lane = 0; lane < W; ++lane) {
            const std::size_t at = std::size_t(lane);
            ++steps_[at];
            ++since_refresh_[at];
            const bool half_lost = learns[lane] != 0 && gain[lane] > 1e8;  // of the digits of S
            if ((half_lost || since_refresh_[at] >= period(shape_[at])) && is_kept(lane))
                refresh(lane);
        }
    }

   private:
    template <class Whole>
    friend class Lane;

    static constexpr long delay = 16;     // steps before they are added to A,
    static constexpr int together = 8;    // as many at a time as there are registers for
    static constexpr long most_rank = 6;  // columns of U whose entries of two rows are in registers

    bool is_kept(long lane) const { return shape_[std::size_t(lane)].drift == 0; }
    static long period(const PosteriorShape& shape) {
        return shape.structure == Structure::full ? shape.lane_refresh_period()
                                                  : shape.block_refresh_period();
    }
    double* row(long q, long i) { return S_ + (q * triangle_ + i * (i + 1) / 2) * W; }

    /// f(matrix, i, j, where that entry of a triangle is in the lanes).
    template <class F>
    void for_entries(long lane, F&& f) const {
        for (long q = 0, at = lane; q < s; ++q)
            for (long i = 0; i < n; ++i)
                for (long j = 0; j <= i; ++j, at += W) f(q, i, j, at);
    }

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

    /// What block (a, b) of a matrix adds to P_b and, if it is not on the diagonal, to P_a. Four
    /// rows at a time: each entry is read once.
    void multiply(long q, long a, long b) {
        double *down = P_ + ((q * c + b) * n + a * d) * W,
               *across = P_ + ((q * c + a) * n + b * d) * W;
        long i = 0;
        for (; i + 4 <= d; i += 4) {
            const long at = a * d + i;
            const double *r0 = row(q, at) + b * d * W, *r1 = row(q, at + 1) + b * d * W,
                         *r2 = row(q, at + 2) + b * d * W, *r3 = row(q, at + 3) + b * d * W;
            const vec x0 = load(x + i * W), x1 = load(x + (i + 1) * W), x2 = load(x + (i + 2) * W),
                      x3 = load(x + (i + 3) * W);
            vec s0{}, s1{}, s2{}, s3{};
            const long columns = a == b ? i : d;
            const auto add = [&](long j, vec before) {
                const vec xj = load(x + j), e0 = load(r0 + j), e1 = load(r1 + j), e2 = load(r2 + j),
                          e3 = load(r3 + j);
                s0 += e0 * xj;
                s1 += e1 * xj;
                s2 += e2 * xj;
                s3 += e3 * xj;
                store(across + j, before + e0 * x0 + e1 * x1 + (e2 * x2 + e3 * x3));
            };
            if (i == 0)
                for (long j = 0; j < columns * W; j += W) add(j, vec{});
            else
                for (long j = 0; j < columns * W; j += W) add(j, load(across + j));
            if (a == b) {
                const double *q0 = r0 + i * W, *q1 = r1 + i * W, *q2 = r2 + i * W, *q3 = r3 + i * W;
                const vec m10 = load(q1), m20 = load(q2), m21 = load(q2 + W), m30 = load(q3),
                          m31 = load(q3 + W), m32 = load(q3 + 2 * W);
                s0 += load(q0) * x0 + m10 * x1 + m20 * x2 + m30 * x3;
                s1 += m10 * x0 + load(q1 + W) * x1 + m21 * x2 + m31 * x3;
                s2 += m20 * x0 + m21 * x1 + load(q2 + 2 * W) * x2 + m32 * x3;
                s3 += m30 * x0 + m31 * x1 + m32 * x2 + load(q3 + 3 * W) * x3;
            }
            store(down + i * W, s0);
            store(down + (i + 1) * W, s1);
            store(down + (i + 2) * W, s2);
            store(down + (i + 3) * W, s3);
        }
        for (; i < d; ++i) {
            const double* r = row(q, a * d + i) + b * d * W;
            const vec xi = load(x + i * W);
            vec sum{};
            for (long j = 0; j < (a == b ? i : d) * W; j += W) {
                sum += load(r + j) * load(x + j);
                store(across + j, (i == 0 ? vec{} : load(across + j)) + load(r + j) * xi);
            }
            store(down + i * W, a == b ? sum + load(r + i * W) * xi : sum);
        }
    }

    /// L = F C^-1, C^T C = I + F^T G F, of one matrix; with structure the square of that. Returns
    /// tr(F^T G F): A^-1 is about to lose this many times its size, hence digits.
    vec damp(long q) {
        if (!is_full) {
            const vec f = load(F_ + q * W), gain = f * load(g + q * W);
            store(L_ + q * W, f / (1.0 + gain));
            return gain;
        }
        const double *G = g + q * c * c * W, *F = F_ + q * c * c * W;
        double* L = L_ + q * c * c * W;
        const vec gain = factor_gain<vec>(c, c, G, c, F, c, gF_, C_);
        copy(F, c * c * W, L);
        for (long i = 0; i < c; ++i) solve_transposed<vec>(c, C_, c, L + i * c * W);
        return gain;
    }

    ivec may_learn(const double* v, vec gain, vec most) const {
        vec check{}, curvature{};
        const vec square = along(x);
        for (long i = 0; i < k * W; i += W) check += 0.0 * load(v + i);
        for (long q = 0; q < s; ++q) {
            vec own{};
            for (long i = q * c * c * W; i < (q + 1) * c * c * W; i += W) {
                check += 0.0 * load(L_ + i);
                own += is_full ? load(F_ + i) * load(F_ + i) : load(F_ + i);
            }
            curvature = max(curvature, own);
        }
        return (check == 0.0) & (gain <= most_gain_) & (square <= most) & (square <= 1e15 * lam_) &
               (curvature * square <= 1e15 * lam_) & (curvature <= Blocks::most_curvature);
    }

    /// V <- V - P v.
    void move(const double* v, ivec learns) {
        for (long b = 0; b < k; ++b)
            for (long a = 0; a < c; ++a) {
                const vec step = learns ? load(v + (is_full ? a : b) * W) : vec{};
                const double* p = P_ + (is_full ? a * n + b * d : (s == 1 ? 0 : b * n)) * W;
                double* mean = V_ + b * d * W;
                for (long i = 0; i < d * W; i += W)
                    store(mean + i, load(mean + i) - step * load(p + i));
            }
    }

    /// S <- S - u u^T for up to `most_rank` columns u of U = P L, of one matrix; then the drift.
    void subtract(long q, long first) {
        const long columns = std::min(c - first, most_rank);
        if (columns == 1) return subtract_columns<1>(q, first);
        if (columns == 2) return subtract_columns<2>(q, first);
        if (columns == 3) return subtract_columns<3>(q, first);
        if (columns == 4) return subtract_columns<4>(q, first);
        if (columns == 5) return subtract_columns<5>(q, first);
        subtract_columns<most_rank>(q, first);
    }
    template <int R>
    void subtract_columns(long q, long first) {
        const double *P = P_ + q * c * n * W, *L = L_ + q * c * c * W;
        const vec weight = is_full ? splat(1.0) : load(L), drift = first == 0 ? drift_ : vec{};
        for (long i = 0; i < n && is_full; ++i) {
            vec sums[R] = {};
            for (long a = 0; a < c; ++a) {
                const vec entry = load(P + (a * n + i) * W);
                for (int b = 0; b < R; ++b) sums[b] += entry * load(L + (a * c + first + b) * W);
            }
            for (int b = 0; b < R; ++b) store(U_ + (i * R + b) * W, sums[b]);
        }
        const double* u = is_full ? U_ : P;
        long i = 0;
        for (; i + 2 <= n; i += 2) {
            vec above[R], below[R];
            for (int a = 0; a < R; ++a) {
                above[a] = weight * load(u + (i * R + a) * W);
                below[a] = weight * load(u + ((i + 1) * R + a) * W);
            }
            double *top = row(q, i), *next = row(q, i + 1);
            for (long j = 0; j <= i * W; j += W) {
                vec one = load(top + j), two = load(next + j);
                for (int a = 0; a < R; ++a) {
                    const vec entry = load(u + j * R + a * W);
                    one -= above[a] * entry;
                    two -= below[a] * entry;
                }
                store(top + j, one);
                store(next + j, two);
            }
            vec last = load(next + (i + 1) * W) + drift;
            for (int a = 0; a < R; ++a) last -= below[a] * load(u + ((i + 1) * R + a) * W);
            store(next + (i + 1) * W, last);
            store(top + i * W, load(top + i * W) + drift);
        }
        for (; i < n; ++i) {
            double* entry = row(q, i);
            for (long j = 0; j <= i; ++j, entry += W) {
                vec one = load(entry);
                for (int a = 0; a < R; ++a)
                    one -= weight * load(u + (i * R + a) * W) * load(u + (j * R + a) * W);
                store(entry, one);
            }
            store(entry - W, load(entry - W) + drift);
        }
    }

    /// Remembers the step x, F for A.
    void keep() {
        double* xs = kept_x_ + (kept_ / together * d * together + kept_ % together) * W;
        for (long i = 0; i < d; ++i) store(xs + i * together * W, load(x + i * W));
        if (!is_full) copy(F_, s * W, kept_c_ + kept_ * s * W);
        for (long q = 0; q < s && is_full; ++q) {
            const double* F = F_ + q * c * c * W;
            double* to = kept_c_ + (kept_ * s + q) * c * c * W;
            for (long a = 0; a < c; ++a)
                for (long b = 0; b <= a; ++b) {
                    vec sum{};
                    for (long l = 0; l < c; ++l)
                        sum += load(F + (a * c + l) * W) * load(F + (b * c + l) * W);
                    store(to + (a * c + b) * W, sum);
                }
        }
        if (++kept_ == delay) settle();
    }
    /// Adds what is remembered to A, step after step: how many come together does not matter to the
    /// bits.
    void settle() {
        long t = 0;
        for (; t + together <= kept_; t += together) accumulate<together>(t);
        for (; t < kept_; ++t) accumulate<1>(t);
        kept_ = 0;
    }
    template <int T>
    void accumulate(long first) {
        const double* xs = kept_x_ + (first / together * d * together + first % together) * W;
        double* to = A_;
        for (long q = 0; q < s; ++q)
            for (long a = 0; a < c; ++a)
                for (long i = 0; i < d; ++i)
                    for (long b = 0; b <= a; ++b) {
                        const double* curvature = kept_c_ + ((q * c + a) * c + b) * W;
                        const long columns = b < a ? d : i + 1;
                        vec left[T];
                        for (int t = 0; t < T; ++t)
                            left[t] = load(curvature + (first + t) * s * c * c * W) *
                                      load(xs + (i * together + t) * W);
                        for (long j = 0; j < columns; ++j) {
                            vec sum = load(to + j * W);
                            for (int t = 0; t < T; ++t)
                                sum += left[t] * load(xs + (j * together + t) * W);
                            store(to + j * W, sum);
                        }
                        to += columns * W;
                    }
    }

    /// S = A^-1 in one lane.
    void refresh(long lane) {
        settle();
        Buffer all(s * n * n), inverse(n * n);
        for_entries(lane,
                    [&](long q, long i, long j, long at) { all[(q * n + i) * n + j] = A_[at]; });
        for (long q = 0; q < s; ++q) {
            invert_with_jitter(blas_, n, all + q * n * n, inverse, n);
            copy(inverse, n * n, all + q * n * n);
        }
        for_entries(lane,
                    [&](long q, long i, long j, long at) { S_[at] = all[(q * n + i) * n + j]; });
        since_refresh_[std::size_t(lane)] = 0;
    }

    const long triangle_;
    Blas blas_;
    std::array<PosteriorShape, W> shape_{};
    std::array<long, W> steps_{}, since_refresh_{};
    vec lam_{}, drift_{}, most_gain_{};
    Buffer S_, A_;  // for each matrix the lower triangle by rows, each entry in all lanes
    Buffer V_, P_;  // k x d; for each matrix c vectors of n
    Buffer U_, F_, L_, gF_, C_;  // U_: some columns of P L
    Buffer kept_x_, kept_c_;     // steps that are not in A yet: x, side by side, and F F^T
    long kept_ = 0;
};

/// What is known in one lane. To be changed or shown it becomes a Posterior, or Blocks.
template <class Whole>
class Lane final : public Knowledge {
   public:
    Lane(std::shared_ptr<Lanes> lanes, long lane, const PosteriorShape& shape)
        : Knowledge(shape), lanes_(std::move(lanes)), lane_(lane) {
        lanes_->start(lane, shape);
        counters_.regulariser = shape.drift == 0 ? shape.lam : 0.0;
    }

    long steps() const override { return lanes_->steps_[at()]; }
    void mean(double* out) const override {
        for (long i = 0; i < k * d; ++i) out[i] = lanes_->V_[i * W + lane_];
    }
    std::pair<long, long> covariance_size() const override {
        return {lanes_->s * lanes_->n, lanes_->n};
    }
    void covariance(double* out) const override { whole().covariance(out); }
    std::unique_ptr<Knowledge> apart() const override { return std::make_unique<Whole>(whole()); }
    void adopt(const Knowledge& other, bool exchange = false) override {
        Whole own = whole();
        own.adopt(other, exchange);
        take(own);
    }
    [[gnu::cold]] void visit(Visitor& visitor) override {
        Whole own = whole();
        own.visit(visitor);
        take(own);
    }
    void clear() override {}
    [[gnu::cold]] bool counters_are_valid() const override { return whole().counters_are_valid(); }
    [[gnu::cold]] bool contents_are_valid(double limit) const override {
        return whole().contents_are_valid(limit);
    }

   private:
    std::size_t at() const { return std::size_t(lane_); }
    long numbers() const { return lanes_->s * lanes_->n * lanes_->n; }

    [[gnu::cold]] Whole whole() const {
        Whole out(shape_, lanes_->blas_);
        Counters counters = counters_;
        counters.steps = steps();
        counters.since_refresh = lanes_->since_refresh_[at()];
        lanes_->settle();
        Buffer S(numbers()), A(numbers()), V(k * d);
        const long n = lanes_->n;
        lanes_->for_entries(lane_, [&](long q, long i, long j, long from) {
            const long lower = (q * n + i) * n + j, upper = (q * n + j) * n + i;
            S[lower] = S[upper] = lanes_->S_[from];
            A[lower] = A[upper] = lanes_->A_[from];
        });
        mean(V);
        out.set(counters, S, A, V);
        return out;
    }

    /// Takes over a posterior, with what is pending in it.
    [[gnu::cold]] void take(const Whole& own) {
        counters_ = own.counters();
        lanes_->steps_[at()] = counters_.steps;
        lanes_->since_refresh_[at()] = counters_.since_refresh;
        if (!own.counters_are_valid()) return;  // as they stand in a file: to be refused
        lanes_->settle();
        Buffer all(numbers()), V(k * d);
        const long n = lanes_->n;
        const auto place = [&](Buffer& to) {
            lanes_->for_entries(lane_, [&](long q, long i, long j, long entry) {
                to[entry] = all[(q * n + i) * n + j];
            });
        };
        own.covariance(all);
        place(lanes_->S_);
        if (own.keeps_precision()) {
            own.precision(all);
            place(lanes_->A_);
        }
        own.mean(V);
        for (long i = 0; i < k * d; ++i) lanes_->V_[i * W + lane_] = V[i];
        // Now nothing is pending, unless only counters were read from a file so far.
        if (own.has_pending_steps()) counters_.pending = counters_.curvature_pending = 0;
    }

    std::shared_ptr<Lanes> lanes_;
    const long lane_;
    Counters counters_;  // steps that a file says were pending, and the regulariser
};

inline std::unique_ptr<Knowledge> make_lane(std::shared_ptr<Lanes> lanes, long lane,
                                            const PosteriorShape& shape) {
    if (lanes->is_full) return std::make_unique<Lane<Posterior>>(std::move(lanes), lane, shape);
    return std::make_unique<Lane<Blocks>>(std::move(lanes), lane, shape);
}

}  // namespace MIXABLE_ISA
