// What is compiled for speed, of one build of the core, as one translation unit: its headers are
// read once, and so are its templates compiled.
#include "bind_inputs.cpp"
#include "bind_pools.cpp"
#include "bind_sparse_ridge.cpp"
#include "core/forecasters.cpp"
