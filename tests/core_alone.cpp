// The core without Python, as tests/platforms.py compiles it: forecasts of a stream that any
// machine can make, one number on each line.
#include <cmath>
#include <cstdio>

#include "core/inputs/scaler.hpp"
#include "core/numbers/sizes.cpp"
#include "core/rule/forecasters.cpp"
#include "core/text/decimal.hpp"
#include "core/trees/growing.hpp"

using namespace MIXABLE_ISA;

namespace {

constexpr long d = 5, K = 3, n = 400;

// What the core asks of BLAS and LAPACK, in column-major order, for small matrices.
void gemm(char* ta, char* tb, int* m, int* n_, int* k, double* alpha, double* A, int* lda,
          double* B, int* ldb, double* beta, double* C, int* ldc) {
    for (int i = 0; i < *m; ++i)
        for (int j = 0; j < *n_; ++j) {
            double sum = 0;
            for (int l = 0; l < *k; ++l)
                sum += (*ta == 'N' ? A[i + l * *lda] : A[l + i * *lda]) *
                       (*tb == 'N' ? B[l + j * *ldb] : B[j + l * *ldb]);
            double& c = C[i + j * *ldc];
            c = *alpha * sum + (*beta == 0 ? 0.0 : *beta * c);
        }
}
void gemv(char* t, int* m, int* n_, double* alpha, double* A, int* lda, double* x, int*,
          double* beta, double* y, int*) {
    const int rows = *t == 'N' ? *m : *n_, columns = *t == 'N' ? *n_ : *m;
    for (int i = 0; i < rows; ++i) {
        double sum = 0;
        for (int j = 0; j < columns; ++j)
            sum += (*t == 'N' ? A[i + j * *lda] : A[j + i * *lda]) * x[j];
        y[i] = *alpha * sum + (*beta == 0 ? 0.0 : *beta * y[i]);
    }
}
void symv(char*, int* n, double* alpha, double* A, int* lda, double* x, int*, double*, double* y,
          int*) {
    for (int i = 0; i < *n; ++i) {
        y[i] = 0;
        for (int j = 0; j < *n; ++j)
            y[i] += *alpha * (i >= j ? A[i + j * *lda] : A[j + i * *lda]) * x[j];
    }
}

/// Numbers in (-1, 1), the same everywhere.
class Numbers {
   public:
    double next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return double(state_ >> 11) * 0x1p-52 - 1;
    }

   private:
    std::uint64_t state_ = 1;
};

void print(const double* p, long count) {
    for (long i = 0; i < count; ++i) std::printf("%.17g\n", p[i]);
}

}  // namespace

int main() {
    Blas blas;
    blas.dgemm = gemm;
    blas.dgemv = gemv;
    blas.dsymv = symv;
    Scaler scaler(d, true, true, 1, false);
    std::vector<GafMember> members;
    for (const Structure structure : {Structure::full, Structure::blocks, Structure::shared})
        for (const double lam : {0.1, 1.0, 10.0})
            for (const double drift : {0.0, 1e-4})
                members.push_back({lam, 1.0, drift, 0, false, true, structure, lam == 1.0});
    members.push_back({1.0, 1.0, 0.0, 0, false, true, Structure::diagonal, false});
    const auto closed_form = std::make_shared<std::vector<Rung>>(1);
    closed_form->front().kind = Rung::pairwise;
    closed_form->front().reach = HUGE_VAL;
    const GafReading reading{{1.0, 4.0}, 1e-6, closed_form};
    const OfLabels mixture = make_auto_gaf(scaler.width, K, blas, members, reading, std::nullopt, 0,
                                           0.01, std::nullopt, 1, 1, true);
    const auto trees = std::make_unique<trees::Growing>(d, 0, K);
    Numbers numbers;
    double loss[2] = {0, 0}, p[K], x[d];
    Buffer z(scaler.width);
    for (long t = 0; t < n; ++t) {
        for (double& each : x) each = numbers.next();
        const double score = x[0] + 0.5 * x[1] * x[2] + 0.3 * numbers.next();
        const long y = score > 0.3 ? 2 : score > -0.3 ? 1 : 0;
        scaler.transform(x, z);
        mixture->predict(z, p);
        loss[0] -= std::log(p[y]);
        if (t % 40 == 39) print(p, K);
        mixture->learn(z, y, 1.0);
        scaler.learn(x, z);
        trees->read(x, nullptr);
        trees->predict(p);
        loss[1] -= std::log(p[y]);
        if (t % 40 == 39) print(p, K);
        trees->learn(x, nullptr, double(y), 1.0);
        while (trees->work()) {
        }
    }
    print(loss, 2);
    for (int i = 0; i < 200; ++i) {  // numbers as text and back, of all sizes
        const double value = std::ldexp(numbers.next(), int(1000 * numbers.next()));
        char text[64];
        std::snprintf(text, sizeof text, "%.17g", value);
        double again = 0;
        const auto [end, error] = read_decimal(text, text + std::strlen(text), again);
        if (*end || error != std::errc() || again != value) {
            std::printf("nan\n");
            std::fprintf(stderr, "%s was read as %.17g\n", text, again);
        }
    }
    return loss[0] / n < 0.8 ? 0 : 1;
}
