// What is compiled for speed, for each build of the core, as one translation unit: its headers are
// read once, and so are its templates compiled.
#define MIXABLE_IMPORTS_NUMPY
#include "bind_inputs.cpp"
#include "bind_points.cpp"
#include "bind_pools.cpp"
#include "bindings.cpp"
#include "core/forecasters.cpp"
#include "core/sizes.cpp"
#include "model.cpp"
