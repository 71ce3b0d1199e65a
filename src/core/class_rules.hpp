// The rules of GAF and FOLKLORE for posteriors with structure, in the coordinates of the classes:
// G is diagonal, and so is the curvature that is learned.
#pragma once

#include <limits>

#include "class_softmax.hpp"
#include "pairwise.hpp"
#include "shape.hpp"

namespace MIXABLE_ISA {

/// f_c = scale p_c (1 - p_c) K / (K - 1) for each class; if one block is shared, their mean. (1 -
/// p_y is taken as what the others have.) In K - 1 coordinates diag(p) - p p^T has the same trace.
inline void class_curvature(const ClassSoftmax& softmax, double scale, bool shared, double* f) {
    const long K = softmax.K;
    double total = 0;
    for (long c = 0; c < K; ++c) {
        const double r = softmax.residual[c], rest = r < 0 ? -r : std::max(1 - r, 0.0);
        f[c] = scale * double(K) / double(K - 1) * softmax.p[c] * rest;
        total += f[c];
    }
    if (shared)
        for (long c = 0; c < K; ++c) f[c] = total / double(K);
}

class ClassGafRule {
   public:
    using Outcome = long;

    ClassGafRule(long classes, double beta, double alpha, double mu, bool shared)
        : outputs(classes),
          beta_(beta),
          alpha_(alpha),
          mu_(mu),
          shared_(shared),
          softmax_(classes),
          z_(pad_to(classes, 8)) {}

    const long outputs;

    double beta() const { return beta_; }
    double mu() const { return mu_; }
    /// Of posteriors that it suits, unless they are diagonal.
    Structure structure() const { return shared_ ? Structure::shared : Structure::blocks; }

    void begin(const double* m, const double* g, long) {
        m_ = m;
        g_ = g;
    }

    void predict(double* out) { predict(alpha_, out); }

    /// smooth_mu(E softmax(m + w)), w ~ N(0, diag(g) / (2 alpha)), in closed form (pairwise.hpp).
    void predict(double alpha, double* out) {
        const double width = std::isinf(alpha) ? 0.0 : 0.5 / alpha;
        if (shared_ || width == 0) {  // one scale for all pairs
            const double scale = 1.0 / std::sqrt(1 + pi_by_8 * 2 * width * g_[0]);
            for (long c = 0; c < outputs; c += W) store(z_ + c, scale * load(m_ + c));
            softmax_.evaluate(z_);
            copy(softmax_.p, outputs, out);
        } else {
            const auto variance = [&](long c, long j) { return width * (g_[c] + load(g_ + j)); };
            pairwise(outputs, m_, variance, out);
        }
        for (long c = 0; c < outputs; ++c)
            out[c] = std::max((1.0 - mu_) * out[c] + mu_ / double(outputs),
                              std::numeric_limits<double>::min());
    }

    /// v = (weight / 2) (p - e_y) at the next leader, Eq. (2); the curvature of Eq. (3), class by
    /// class.
    void learn(long y, double weight, double* v, double* f) {
        softmax_.solve_step(m_, g_, y, weight);
        for (long c = 0; c < outputs; ++c) v[c] = 0.5 * weight * softmax_.residual[c];
        class_curvature(softmax_, 0.5 * weight * beta_, shared_, f);
    }

   private:
    double beta_, alpha_, mu_;
    bool shared_;
    const double *m_ = nullptr, *g_ = nullptr;
    ClassSoftmax softmax_;
    Buffer z_;
};

class ClassFolkloreRule {
   public:
    using Outcome = long;

    ClassFolkloreRule(long classes, double beta, bool shared)
        : outputs(classes),
          curvature_(beta / 2),
          shared_(shared),
          softmax_(classes),
          u_(pad_to(classes, 8)) {}

    const long outputs;

    /// u = m + g / 4 - g softmax(u) / 2: the point that hedges against every label at once.
    void begin(const double* m, const double* g, long) {
        m_ = m;
        g_ = g;
        for (long c = 0; c < outputs; ++c) u_[c] = m[c] + 0.25 * g[c];
        u_[0] -= 0.5 * g[0];  // solve_step adds it for its label; here no label is known
        softmax_.solve_step(u_, g, 0, 1.0);
        copy(softmax_.u, outputs, u_);
    }

    void predict(double* p) {
        softmax_.evaluate(u_);
        copy(softmax_.p, outputs, p);
    }

    /// The surrogate is expanded at u; folklore.hpp has the equations. Here they are scalar.
    void learn(long y, double weight, double* v, double* f) {
        softmax_.evaluate(u_);
        softmax_.subtract_label(y);
        class_curvature(softmax_, weight * curvature_, shared_, f);
        for (long c = 0; c < outputs; ++c) {
            const double half = 0.5 * weight * softmax_.residual[c];
            v[c] = half + f[c] * (m_[c] - u_[c] - g_[c] * half) / (1 + f[c] * g_[c]);
        }
    }

   private:
    double curvature_;
    bool shared_;
    const double *m_ = nullptr, *g_ = nullptr;
    ClassSoftmax softmax_;
    Buffer u_;
};

}  // namespace MIXABLE_ISA
