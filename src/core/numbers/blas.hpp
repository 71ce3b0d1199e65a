// SciPy's BLAS and LAPACK, handed over as function pointers; matrices here are row-major.
#pragma once

namespace MIXABLE_ISA {

struct Blas {
    using gemm_t = void (*)(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*,
                            double*, double*, int*);
    using gemv_t = void (*)(char*, int*, int*, double*, double*, int*, double*, int*, double*,
                            double*, int*);
    using symv_t = void (*)(char*, int*, double*, double*, int*, double*, int*, double*, double*,
                            int*);
    using potr_t = void (*)(char*, int*, double*, int*, int*);
    gemm_t dgemm = nullptr;
    gemv_t dgemv = nullptr;
    symv_t dsymv = nullptr;
    potr_t dpotrf = nullptr, dpotri = nullptr;

    /// C (M x N) <- alpha op(A) (M x K) op(B) (K x N) + beta C, all row-major.
    void gemm(bool trans_a, bool trans_b, long M, long N, long K, double alpha, const double* A,
              long lda, const double* B, long ldb, double beta, double* C, long ldc) const {
        if (M == 0 || N == 0) return;
        int n = int(N), k = int(K), la = int(lda), lb = int(ldb), lc = int(ldc), one = 1;
        char ta = trans_a ? 'T' : 'N', tb = trans_b ? 'T' : 'N';
        double *a = const_cast<double*>(A), *b = const_cast<double*>(B);
        if (M == 1 &&
            !trans_a) {  // one row: c^T = op(B)^T a^T, where column-major sees B transposed
            char t = trans_b ? 'T' : 'N';
            int rows = trans_b ? k : n, cols = trans_b ? n : k;
            dgemv(&t, &rows, &cols, &alpha, b, &lb, a, &one, &beta, C, &one);
            return;
        }
        int m = int(M);
        dgemm(&tb, &ta, &n, &m, &k, &alpha, b, &lb, a, &la, &beta, C, &lc);
    }

    /// y <- A x, A symmetric: half of it is read, which for a large A is most of the time.
    void symv(long n_, const double* A, long lda, const double* x, double* y) const {
        int n = int(n_), ld = int(lda), one = 1;
        char uplo = 'L';  // row-major, the upper triangle
        double unit = 1, zero = 0;
        dsymv(&uplo, &n, &unit, const_cast<double*>(A), &ld, const_cast<double*>(x), &one, &zero, y,
              &one);
    }

    /// Whether a symmetric matrix, of which the lower triangle (row-major) is given, is positive
    /// definite; its Cholesky factor takes its place.
    bool factorise_spd(long n_, double* A, long lda) const {
        int n = int(n_), ld = int(lda), info = 0;
        char uplo = 'U';  // row-major lower is column-major upper
        dpotrf(&uplo, &n, A, &ld, &info);
        return info == 0;
    }

    /// The lower triangle (row-major) of the inverse of a symmetric positive definite matrix, in
    /// place; false if it is not positive definite.
    bool invert_spd(long n_, double* A, long lda) const {
        if (!factorise_spd(n_, A, lda)) return false;
        int n = int(n_), ld = int(lda), info = 0;
        char uplo = 'U';
        dpotri(&uplo, &n, A, &ld, &info);
        return info == 0;
    }
};

}  // namespace MIXABLE_ISA
