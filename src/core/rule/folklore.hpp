// The rule of FOLKLORE (Agarwal, Kale, Zimmert, ALT 2022), multiclass, no sampling, with the
// corrected update (docs/forecasters/folklore.md).
#pragma once

#include "softmax.hpp"

namespace MIXABLE_ISA {

struct FolkloreWork {
    explicit FolkloreWork(long classes)
        : softmax(classes), shifted(softmax.sk), work(2 * pad_to(classes, 8)) {}
    Softmax<double> softmax;
    Buffer shifted, work;
};

class FolkloreRule {
   public:
    using Outcome = long;

    FolkloreRule(long classes, double beta)
        : outputs(classes),
          k(classes - 1),
          curvature_(beta / 2),
          work_(classes),
          u_(pad_to(k, 8)) {}

    const long outputs, k;

    /// u = m + Q^T a / 2 - G Q^T softmax(Q u) / 2, a the diagonal of Q G Q^T / 2: the point that
    /// hedges against every label at once.
    void begin(const double* m, const double* G, long) {
        auto& [softmax, shifted, work] = work_;
        const long sk = softmax.sk;
        softmax.factorise(G);
        double *a = work, *e = work + pad_to(outputs, 8);
        for (long c = 0; c < outputs; ++c) {
            double s = 0;
            for (long l = 0; l < k; ++l) s += softmax.N[c * sk + l] * softmax.N[c * sk + l];
            a[c] = 0.25 * s;
            e[c] = c == 0 ? 0.5 : 0.0;
        }
        softmax.contract(a, shifted);
        softmax.contract(e, u_);
        // solve_step adds G Q^T e_0 / 2 for its label; take it away beforehand, since here no label
        // is known.
        for (long i = 0; i < k; ++i) {
            double s = m[i] + shifted[i];
            for (long l = 0; l < k; ++l) s -= G[i * sk + l] * u_[l];
            shifted[i] = s;
        }
        softmax.solve_step(shifted, 0, 1.0);
        softmax.solution(shifted, u_);
        m_ = m;
        G_ = G;
    }

    void predict(double* p) {
        Softmax<double>& softmax = work_.softmax;
        softmax.evaluate(u_);
        copy(softmax.p, outputs, p);
    }

    /// The surrogate is expanded at u: with g = Q^T (softmax(Q u) - e_y) and C = F F^T = c S, the
    /// new leader's prediction w solves (I + G C) w = m - G g / 2 + G C u, and v = g / 2 + C (w -
    /// u). With r = w - u: (I + G C) r = m - u - G g / 2.
    void learn(long y, double weight, double* v, double* F) {
        auto& [softmax, shifted, work] = work_;
        const long sk = softmax.sk;
        softmax.evaluate(u_);
        softmax.gradient(y, v);
        softmax.curvature(weight * curvature_, F);
        for (long i = 0; i < k; ++i) {
            double s = m_[i] - u_[i];
            for (long l = 0; l < k; ++l) s -= 0.5 * weight * G_[i * sk + l] * v[l];
            shifted[i] = s;
        }
        softmax.damp(G_, F, shifted);  // F^T r
        for (long i = 0; i < k; ++i) {
            double s = 0.5 * weight * v[i];
            for (long l = 0; l < k; ++l) s += F[i * sk + l] * shifted[l];
            work[i] = s;
        }
        copy(work, k, v);
    }

   private:
    double curvature_;
    const double *m_ = nullptr, *G_ = nullptr;
    FolkloreWork work_;
    Buffer u_;
};

}  // namespace MIXABLE_ISA
