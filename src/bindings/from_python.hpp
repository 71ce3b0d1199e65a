// What the core is given from Python: SciPy's BLAS, and the points of an integrator.
#pragma once

#include <atomic>

#include "arrays.hpp"
#include "blas_threads.hpp"
#include "core/rule/making.hpp"

namespace MIXABLE_ISA {

inline void* capsule_pointer(nb::handle module, const char* name) {
    nb::object capsule = module.attr("__pyx_capi__")[name];
    const char* signature = PyCapsule_GetName(capsule.ptr());
    if (!signature || !std::strstr(signature, "int *"))
        throw nb::import_error(
            "SciPy's BLAS does not use 32-bit integers: this build of SciPy is not supported");
    return PyCapsule_GetPointer(capsule.ptr(), signature);
}

/// Filled on first use. The imports may let another thread in, which then makes one, too, with the
/// same: a guarded static would deadlock.
inline const Blas& scipy_blas() {
    static std::atomic<const Blas*> blas{nullptr};  // for as long as Python lives
    if (!blas.load(std::memory_order_acquire)) {
        const nb::object modules =
            outliving([] { return nb::module_::import_("mixable._core.scipy_blas"); });
        const nb::object blas_module = modules.attr("blas"), lapack = modules.attr("lapack");
        Blas b;
        b.dgemm = reinterpret_cast<Blas::gemm_t>(capsule_pointer(blas_module, "dgemm"));
        b.dgemv = reinterpret_cast<Blas::gemv_t>(capsule_pointer(blas_module, "dgemv"));
        b.dsymv = reinterpret_cast<Blas::symv_t>(capsule_pointer(blas_module, "dsymv"));
        b.dpotrf = reinterpret_cast<Blas::potr_t>(capsule_pointer(lapack, "dpotrf"));
        b.dpotri = reinterpret_cast<Blas::potr_t>(capsule_pointer(lapack, "dpotri"));
        std::string path;
        if (nb::try_cast(blas_module.attr("__file__"), path)) BlasThreads::find(path.c_str());
        blas.store(new Blas(b), std::memory_order_release);
    }
    return *blas.load(std::memory_order_acquire);
}

/// The ladder that stands for these rungs. Models with the same points share them: those of two
/// classes take 20 kB, more than a small posterior.
Ladder ladder_from(const nb::list& rungs, long k);

}  // namespace MIXABLE_ISA
