// What the core is given from Python: SciPy's BLAS, and the points of an integrator.
#pragma once

#include "arrays.hpp"
#include "blas_threads.hpp"
#include "core/making.hpp"

namespace MIXABLE_ISA {

inline void* capsule_pointer(nb::handle module, const char* name) {
    nb::object capsule = module.attr("__pyx_capi__")[name];
    const char* signature = PyCapsule_GetName(capsule.ptr());
    if (!signature || !std::strstr(signature, "int *"))
        throw nb::import_error(
            "SciPy's BLAS does not use 32-bit integers: this build of SciPy is not supported");
    return PyCapsule_GetPointer(capsule.ptr(), signature);
}

/// Filled on first use, under the GIL. The imports may let another thread in, which then fills it
/// too, with the same: a guarded static would deadlock.
inline const Blas& scipy_blas() {
    static Blas blas;
    if (!blas.dpotri) {
        const auto import = [](const char* name) {
            return outliving([name] { return nb::module_::import_(name); });
        };
        const nb::object blas_module = import("scipy.linalg.cython_blas"),
                         lapack = import("scipy.linalg.cython_lapack");
        Blas b;
        b.dgemm = reinterpret_cast<Blas::gemm_t>(capsule_pointer(blas_module, "dgemm"));
        b.dgemv = reinterpret_cast<Blas::gemv_t>(capsule_pointer(blas_module, "dgemv"));
        b.dpotrf = reinterpret_cast<Blas::potr_t>(capsule_pointer(lapack, "dpotrf"));
        b.dpotri = reinterpret_cast<Blas::potr_t>(capsule_pointer(lapack, "dpotri"));
        std::string path;
        if (nb::try_cast(blas_module.attr("__file__"), path)) BlasThreads::find(path.c_str());
        blas = b;
    }
    return blas;
}

/// The ladder that stands for these rungs. Models with the same points share them: those of two
/// classes take 20 kB, more than a small posterior. To be called under the GIL.
Ladder ladder_from(const nb::list& rungs, long k);

}  // namespace MIXABLE_ISA
