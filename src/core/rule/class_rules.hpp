// The rules of GAF and FOLKLORE for posteriors with structure, in the coordinates of the classes:
// G is diagonal, and so is the curvature that is learned.
#pragma once

#include "class_softmax.hpp"
#include "pairwise.hpp"

namespace MIXABLE_ISA {

/// f_c = scale p_c (1 - p_c) K / (K - 1) for each class; if one block is shared, their mean. (1 -
/// p_y is taken as what the others have.) In K - 1 coordinates diag(p) - p p^T has the same trace.
template <class Number>
void class_curvature(const ClassSoftmax<Number>& softmax, Number scale, bool shared, double* f) {
    const long K = softmax.K;
    const Number one = double(K) / double(K - 1) * scale;
    Number total{};
    for (long c = 0; c < K; ++c) {
        const Number r = at<Number>(softmax.residual, c);
        const Number rest = r < 0.0 ? -r : max(1.0 - r, Number{});
        put(f, c, one * at<Number>(softmax.p, c) * rest);
        total += at<Number>(f, c);
    }
    for (long c = 0; c < K && shared; ++c) put(f, c, total / double(K));
}

/// One posterior, or one in each lane, each with its own beta.
template <class Number>
class ClassGafRule {
   public:
    using Outcome = long;

    ClassGafRule(long classes, Number beta, double alpha, double mu, bool shared)
        : outputs(classes), beta(beta), mu(mu), is_shared(shared), alpha_(alpha), work_(classes) {}

    const long outputs;
    Number beta;
    const double mu;
    const bool is_shared;

    void begin(const double* m, const double* g, long = 0) {
        m_ = m;
        g_ = g;
    }

    void predict(double* out) { predict(alpha_, out); }

    /// smooth_mu(E softmax(m + w)), w ~ N(0, diag(g) / (2 alpha)), in closed form (pairwise.hpp).
    void predict(double alpha, double* out) {
        const double width = std::isinf(alpha) ? 0.0 : pi_by_8 * 0.5 / alpha;
        if (is_shared || width == 0) {  // one scale for all pairs
            ClassSoftmax<Number>& softmax = work_;
            softmax.evaluate(m_, 1.0 / root(1.0 + 2 * width * at<Number>(g_, 0)));
            copy(softmax.p, outputs * lanes_of<Number>, out);
        } else {
            pairwise<Number>(
                outputs, m_,
                [&](long c, long j) {
                    return 1.0 + width * at<Number>(g_, c) +
                           width * load(g_ + j * lanes_of<Number>);
                },
                out);
        }
        smooth<Number>(outputs, mu, out);
    }

    /// v = (weight / 2) (p - e_y) at the next leader, Eq. (2); the curvature of Eq. (3), class by
    /// class.
    void learn(long y, double weight, double* v, double* f) {
        ClassSoftmax<Number>& softmax = work_;
        softmax.solve_step(m_, g_, y, weight);
        for (long c = 0; c < outputs; ++c)
            put(v, c, 0.5 * weight * at<Number>(softmax.residual, c));
        class_curvature<Number>(softmax, 0.5 * weight * beta, is_shared, f);
    }

   private:
    double alpha_;
    const double *m_ = nullptr, *g_ = nullptr;
    ClassSoftmax<Number> work_;
};

class ClassFolkloreRule {
   public:
    using Outcome = long;

    ClassFolkloreRule(long classes, double beta, bool shared)
        : outputs(classes),
          curvature_(beta / 2),
          shared_(shared),
          work_(classes),
          u_(pad_to(classes, 8)) {}

    const long outputs;

    /// u = m + g / 4 - g softmax(u) / 2: the point that hedges against every label at once.
    void begin(const double* m, const double* g, long) {
        m_ = m;
        g_ = g;
        for (long c = 0; c < outputs; ++c) u_[c] = m[c] + 0.25 * g[c];
        u_[0] -= 0.5 * g[0];  // solve_step adds it for its label; here no label is known
        work_.solve_step(u_, g, 0, 1.0);
        copy(work_.u, outputs, u_);
    }

    void predict(double* p) {
        work_.evaluate(u_, 1.0);
        copy(work_.p, outputs, p);
    }

    /// The surrogate is expanded at u; folklore.hpp has the equations. Here they are scalar.
    void learn(long y, double weight, double* v, double* f) {
        ClassSoftmax<double>& softmax = work_;
        softmax.evaluate(u_, 1.0);
        softmax.subtract_label(y);
        class_curvature<double>(softmax, weight * curvature_, shared_, f);
        for (long c = 0; c < outputs; ++c) {
            const double half = 0.5 * weight * softmax.residual[c];
            v[c] = half + f[c] * (m_[c] - u_[c] - g_[c] * half) / (1 + f[c] * g_[c]);
        }
    }

   private:
    double curvature_;
    bool shared_;
    const double *m_ = nullptr, *g_ = nullptr;
    ClassSoftmax<double> work_;
    Buffer u_;
};

}  // namespace MIXABLE_ISA
