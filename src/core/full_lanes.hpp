// Full posteriors, one in each lane of the vectors: what lanes.hpp does for blocks. posterior.hpp
// has the equations. Updates of A^-1 are not delayed; of symmetric matrices the lower triangle is
// kept, by rows.
#pragma once

#include <array>
#include <memory>

#include "lane_algebra.hpp"
#include "posterior.hpp"

namespace MIXABLE_ISA {

class FullLanes {
   public:
    FullLanes(const PosteriorShape& shape, const Blas& blas)
        : k(shape.k),
          d(shape.d),
          D(k * d),
          m(k * W),
          g(k * k * W),
          x(d * W),
          blas_(blas),
          S_(D * (D + 1) / 2 * W),
          A_(D * (D + 1) / 2 * W),
          V_(D * W),
          P_(k * D * W),
          U_(D * std::min(k, most_rank) * W),
          L_(k * k * W),
          gF_(k * k * W),
          C_(k * k * W),
          kept_x_(delay * d * W),
          kept_c_(delay * k * k * W) {
        for (long lane = 0; lane < W; ++lane) start(lane, {k, d, k, 1.0, 0.0});
    }

    /// Whether posteriors of this shape are faster in lanes than each by itself.
    static bool suits(const PosteriorShape& shape) {
        return shape.structure == Structure::full && shape.block == 0 && shape.rank == shape.k &&
               shape.D() <= most_weights;
    }
    static constexpr long most_weights = 128;  // more, and they are far from the core

    const long k, d, D;
    Buffer m, g;  // the last reading: (k) and (k x k), a number in each lane
    Buffer x;     // the inputs to be read, for each feature a number in each lane

    /// Lets a lane know nothing.
    void start(long lane, const PosteriorShape& shape) {
        settle();
        shape_[std::size_t(lane)] = shape;
        steps_[std::size_t(lane)] = since_refresh_[std::size_t(lane)] = 0;
        lam_[lane] = shape.lam;
        drift_[lane] = shape.drift;
        most_gain_[lane] = is_kept(lane) ? 1e300 : 1e14;
        for (long i = 0, at = lane; i < D; ++i)
            for (long j = 0; j <= i; ++j, at += W) {
                S_[at] = i == j ? 1.0 / shape.lam : 0.0;
                A_[at] = i == j ? shape.lam : 0.0;
            }
        for (long i = 0; i < D; ++i) V_[i * W + lane] = 0;
    }

    /// Sets m and G of the inputs x.
    void read() {
        for (long a = 0; a < k; ++a) {
            vec inner{};
            for (long l = 0; l < d * W; l += W) inner += load(V_ + a * d * W + l) * load(x + l);
            store(m + a * W, inner);
        }
        for (long a = 0; a < k; ++a)
            for (long b = 0; b <= a; ++b) multiply(a, b);
        for (long a = 0; a < k; ++a)
            for (long b = 0; b <= a; ++b) {
                const double* along = P_ + (b * D + a * d) * W;
                vec inner{};
                for (long l = 0; l < d * W; l += W) inner += load(along + l) * load(x + l);
                if (a == b) inner = max(inner, vec{});
                store(g + (a * k + b) * W, inner);
                store(g + (b * k + a) * W, inner);
            }
    }

    /// Learns v (k) and F (k x k) from the inputs last read. Lanes whose |x|^2 is above `most`, or
    /// for which it is beyond double precision, take a step without learning anything.
    void push(double* v, double* F, vec most) {
        const vec gain = damp(F);
        const ivec learns = may_learn(v, F, gain, most);
        for (long i = 0; i < k * W; i += W) store(v + i, learns ? load(v + i) : vec{});
        for (long i = 0; i < k * k * W; i += W) {
            store(F + i, learns ? load(F + i) : vec{});
            store(L_ + i, learns ? load(L_ + i) : vec{});
        }
        for (long i = 0; i < D; ++i) {
            vec moved{};
            for (long a = 0; a < k; ++a) moved += load(v + a * W) * load(P_ + (a * D + i) * W);
            store(V_ + i * W, load(V_ + i * W) - moved);
        }
        for (long first = 0; first < k; first += most_rank) subtract(first);
        for (long i = 0; i < D; ++i) {
            double* entry = S_ + (i * (i + 1) / 2 + i) * W;
            store(entry, load(entry) + drift_);
        }
        keep(F);
        for (long lane = 0; lane < W; ++lane) {
            const std::size_t at = std::size_t(lane);
            ++steps_[at];
            ++since_refresh_[at];
            const bool half_lost = learns[lane] != 0 && gain[lane] > 1e8;  // of the digits of S
            if ((half_lost || since_refresh_[at] >= shape_[at].lane_refresh_period()) &&
                is_kept(lane))
                refresh(lane);
        }
    }

   private:
    friend class FullLane;

    static constexpr long delay = 16;     // steps before they are added to A
    static constexpr long most_rank = 6;  // columns of U whose entries of two rows are in registers

    bool is_kept(long lane) const { return shape_[std::size_t(lane)].drift == 0; }
    double* row(long i) { return S_ + i * (i + 1) / 2 * W; }

    /// What block (a, b) of S adds to P_b and, if it is not on the diagonal, to P_a. Four rows at a
    /// time: each entry is read once.
    void multiply(long a, long b) {
        double *down = P_ + (b * D + a * d) * W, *across = P_ + (a * D + b * d) * W;
        long i = 0;
        for (; i + 4 <= d; i += 4) {
            const long at = a * d + i;
            const double *r0 = row(at) + b * d * W, *r1 = row(at + 1) + b * d * W,
                         *r2 = row(at + 2) + b * d * W, *r3 = row(at + 3) + b * d * W;
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
            const double* r = row(a * d + i) + b * d * W;
            const vec xi = load(x + i * W);
            vec sum{};
            for (long j = 0; j < (a == b ? i : d) * W; j += W) {
                sum += load(r + j) * load(x + j);
                store(across + j, (i == 0 ? vec{} : load(across + j)) + load(r + j) * xi);
            }
            store(down + i * W, a == b ? sum + load(r + i * W) * xi : sum);
        }
    }

    /// L = F C^-1, C^T C = I + F^T G F; returns tr(F^T G F): A^-1 is about to lose this many times
    /// its size, hence digits.
    vec damp(const double* F) {
        const auto product = [&](const double* left, long rows, long columns, const double* right,
                                 double* out) {
            for (long i = 0; i < k; ++i)
                for (long j = 0; j < k; ++j) {
                    vec sum{};
                    for (long l = 0; l < k; ++l)
                        sum += load(left + (i * rows + l * columns) * W) *
                               load(right + (l * k + j) * W);
                    store(out + (i * k + j) * W, sum);
                }
        };
        product(g, k, 1, F, gF_);
        product(F, 1, k, gF_, C_);
        vec gain{};
        for (long i = 0; i < k; ++i) {
            double* entry = C_ + i * (k + 1) * W;
            gain += load(entry);
            store(entry, load(entry) + 1.0);
        }
        cholesky_in_lanes(k, C_, k, 1.0);
        copy(F, k * k * W, L_);
        solve_transposed_in_lanes(k, C_, k, L_, k);
        return gain;
    }

    ivec may_learn(const double* v, const double* F, vec gain, vec most) const {
        vec square{}, check{}, curvature{};
        for (long l = 0; l < d * W; l += W) square += load(x + l) * load(x + l);
        for (long i = 0; i < k * W; i += W) check += 0.0 * load(v + i);
        for (long i = 0; i < k * k * W; i += W) {
            check += 0.0 * load(L_ + i);
            curvature += load(F + i) * load(F + i);
        }
        return (check == 0.0) & (gain <= most_gain_) & (square <= most) & (square <= 1e15 * lam_) &
               (curvature * square <= 1e15 * lam_);
    }

    /// S <- S - u u^T for up to `most_rank` columns u of U = P L.
    void subtract(long first) {
        switch (std::min(k - first, most_rank)) {
            case 1:
                return subtract_columns<1>(first);
            case 2:
                return subtract_columns<2>(first);
            case 3:
                return subtract_columns<3>(first);
            case 4:
                return subtract_columns<4>(first);
            case 5:
                return subtract_columns<5>(first);
            default:
                return subtract_columns<6>(first);
        }
    }
    template <int R>
    void subtract_columns(long first) {
        for (long i = 0; i < D; ++i) {
            vec sums[R] = {};
            for (long a = 0; a < k; ++a) {
                const vec entry = load(P_ + (a * D + i) * W);
                for (int b = 0; b < R; ++b) sums[b] += entry * load(L_ + (a * k + first + b) * W);
            }
            for (int b = 0; b < R; ++b) store(U_ + (i * R + b) * W, sums[b]);
        }
        const double* u = U_;
        long i = 0;
        for (; i + 2 <= D; i += 2) {
            vec above[R], below[R];
            for (int a = 0; a < R; ++a) {
                above[a] = load(u + (i * R + a) * W);
                below[a] = load(u + ((i + 1) * R + a) * W);
            }
            double *s = row(i), *t = row(i + 1);
            const double* other = u;
            for (long j = 0; j <= i; ++j, s += W, t += W, other += R * W) {
                vec p = load(s), q = load(t);
                for (int a = 0; a < R; ++a) {
                    const vec entry = load(other + a * W);
                    p -= above[a] * entry;
                    q -= below[a] * entry;
                }
                store(s, p);
                store(t, q);
            }
            vec q = load(t);
            for (int a = 0; a < R; ++a) q -= below[a] * below[a];
            store(t, q);
        }
        for (; i < D; ++i) {
            double* s = row(i);
            for (long j = 0; j <= i; ++j, s += W) {
                vec p = load(s);
                for (int a = 0; a < R; ++a)
                    p -= load(u + (i * R + a) * W) * load(u + (j * R + a) * W);
                store(s, p);
            }
        }
    }

    /// Remembers the step x, F for A.
    void keep(const double* F) {
        copy(x, d * W, kept_x_ + kept_ * d * W);
        double* c = kept_c_ + kept_ * k * k * W;
        for (long a = 0; a < k; ++a)
            for (long b = 0; b <= a; ++b) {
                vec sum{};
                for (long l = 0; l < k; ++l)
                    sum += load(F + (a * k + l) * W) * load(F + (b * k + l) * W);
                store(c + (a * k + b) * W, sum);
            }
        if (++kept_ == delay) settle();
    }
    /// Adds what is remembered to A, step after step: how many come together does not matter to the
    /// bits.
    void settle() {
        long t = 0;
        for (; t + 8 <= kept_; t += 8) accumulate<8>(t);
        for (; t < kept_; ++t) accumulate<1>(t);
        kept_ = 0;
    }
    template <int T>
    void accumulate(long t) {
        const double* xs = kept_x_ + t * d * W;
        for (long a = 0; a < k; ++a)
            for (long i = 0; i < d; ++i)
                for (long b = 0; b <= a; ++b) {
                    vec left[T];
                    for (int s = 0; s < T; ++s)
                        left[s] = load(kept_c_ + (((t + s) * k + a) * k + b) * W) *
                                  load(xs + (s * d + i) * W);
                    const long at = a * d + i;
                    double* to = A_ + (at * (at + 1) / 2 + b * d) * W;
                    const long columns = (b < a ? d : i + 1) * W;
                    for (long j = 0; j < columns; j += W) {
                        vec sum = load(to + j);
                        for (int s = 0; s < T; ++s) sum += left[s] * load(xs + s * d * W + j);
                        store(to + j, sum);
                    }
                }
    }

    /// S = A^-1 in one lane.
    void refresh(long lane) {
        settle();
        Buffer one(D * D), inverse(D * D);
        for (long i = 0, at = lane; i < D; ++i)
            for (long j = 0; j <= i; ++j, at += W) one[i * D + j] = A_[at];
        invert_with_jitter(blas_, D, one, inverse, D);
        for (long i = 0, at = lane; i < D; ++i)
            for (long j = 0; j <= i; ++j, at += W) S_[at] = inverse[i * D + j];
        since_refresh_[std::size_t(lane)] = 0;
    }

    Blas blas_;
    std::array<PosteriorShape, W> shape_{};
    std::array<long, W> steps_{}, since_refresh_{};
    vec lam_{}, drift_{}, most_gain_{};
    Buffer S_, A_, V_;
    Buffer P_, U_, L_, gF_, C_;  // P_: k vectors of D; U_: some columns of P L
    Buffer kept_x_, kept_c_;     // steps that are not in A yet: x, and F F^T
    long kept_ = 0;
};

}  // namespace MIXABLE_ISA
