// mixable._core: the compiled core as Python sees it.
#include "module.hpp"

#include "core/numbers/simd.hpp"

#define MIXABLE_STRING_(x) #x
#define MIXABLE_STRING(x) MIXABLE_STRING_(x)

NB_MODULE(MIXABLE_MODULE, m) {
    using namespace MIXABLE_ISA;
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    WithoutGil::wait_for_all_at_exit();
    // A daemon thread never gives back what it held when Python ended.
    nb::set_leak_warnings(false);
    m.doc() = "The compiled core of mixable.";
    m.attr("isa") = MIXABLE_STRING(MIXABLE_LEVEL);
    m.attr("vector_width") = W;
    m.attr("compiler") = __VERSION__;
    bind_models(m);
    bind_ensembles(m);
    bind_inputs(m);
    bind_pools(m);
    bind_trees(m);
    bind_text(m);
}
