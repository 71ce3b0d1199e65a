// The rule of Online Newton Step (Hazan, Agarwal, Kale 2007) for multinomial logistic loss, without
// projection.
#pragma once

#include "softmax.hpp"

namespace MIXABLE_ISA {

class OnsRule {
   public:
    using Outcome = long;

    OnsRule(long classes, double beta)
        : outputs(classes), k(classes - 1), beta_(beta), work_(classes), p_(classes) {}

    const long outputs, k;

    void begin(const double* m, const double* G, long) {
        work_.evaluate(m);
        copy(work_.p, outputs, p_);
        G_ = G;
    }

    void predict(double* p) { copy(p_, outputs, p); }

    /// A <- A + g g^T, theta <- theta - A^-1 g / beta, where g = Phi q, q = Q^T (p - e_y): A^-1 g
    /// with the new A is P q / (1 + q^T G q). F is one column.
    void learn(long y, double weight, double* v, double* F) {
        const long sk = work_.sk;
        work_.gradient(p_, y, v);
        double width = 1;
        for (long i = 0; i < k; ++i) v[i] *= weight;
        for (long i = 0; i < k; ++i)
            for (long l = 0; l < k; ++l) width += v[i] * G_[i * sk + l] * v[l];
        for (long i = 0; i < k; ++i) {
            F[i * 8] = v[i];
            v[i] /= beta_ * width;
        }
    }

   private:
    double beta_;
    const double* G_ = nullptr;
    Softmax<double> work_;
    Buffer p_;
};

}  // namespace MIXABLE_ISA
