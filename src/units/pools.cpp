// Also for each build of the core: pools with their inputs and judges, as Python objects. With the
// forecasters it would take twice the memory; as one translation unit its headers are read once.
#define MIXABLE_IMPORTS_NUMPY
#include "bindings/bind_inputs.cpp"
#include "bindings/bind_points.cpp"
#include "bindings/bind_pools.cpp"
#include "bindings/model.cpp"
#include "bindings/module.cpp"
