// What the core is given from Python: SciPy's BLAS, and the points of an integrator.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "arrays.hpp"
#include "core/blas.hpp"
#include "core/expectation.hpp"

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
        blas = b;
    }
    return blas;
}

/// (kind, reach, m, points (k x m, 1 x m of an envelope) or None, weights (m) or None, seed): see
/// mixable.integrals.Rung.
inline Rung rung_from(nb::handle h, long k) {
    const nb::tuple t = nb::cast<nb::tuple>(h);
    const auto kind = nb::cast<std::string>(t[0]);
    Rung rung;
    rung.kind = Rung::random;
    if (kind == "taylor") rung.kind = Rung::taylor;
    if (kind == "symmetric") rung.kind = Rung::symmetric;
    if (kind == "pairwise") rung.kind = Rung::pairwise;
    if (kind == "envelope") rung.kind = Rung::envelope;
    rung.reach = nb::cast<double>(t[1]);
    rung.m = nb::cast<long>(t[2]);
    rung.seed = nb::cast<std::uint64_t>(t[5]);
    const long m = rung.m, ld = pad(m);
    rung.weight = Buffer(ld);
    if (rung.kind == Rung::symmetric || rung.kind == Rung::envelope) {
        const double *w = checked(t[3], 2), *weight = checked(t[4], 1);
        const long rows = rung.kind == Rung::symmetric ? k : 1;
        rung.w = Buffer(rows * ld);
        for (long j = 0; j < rows; ++j) copy(w + j * m, m, rung.w + j * ld);
        copy(weight, m, rung.weight);
    } else {
        for (long i = 0; i < m; ++i) rung.weight[i] = 1.0 / double(m);
    }
    return rung;
}

/// The ladder that stands for these rungs. Models with the same points share them: those of two
/// classes take 20 kB, more than a small posterior. To be called under the GIL.
inline std::shared_ptr<const std::vector<Rung>> ladder_from(const nb::list& rungs, long k) {
    using Ladder = std::vector<Rung>;
    static std::vector<std::weak_ptr<const Ladder>> known;
    Ladder made;
    for (nb::handle h : rungs) made.push_back(rung_from(h, k));
    std::shared_ptr<const Ladder> same;
    const auto is_gone = [&](const std::weak_ptr<const Ladder>& each) {
        std::shared_ptr<const Ladder> ladder = each.lock();
        if (ladder && std::equal(ladder->begin(), ladder->end(), made.begin(), made.end()))
            same = ladder;
        return !ladder;
    };
    known.erase(std::remove_if(known.begin(), known.end(), is_gone), known.end());
    if (!same) {
        same = std::make_shared<const Ladder>(std::move(made));
        known.push_back(same);
    }
    return same;
}

}  // namespace MIXABLE_ISA
