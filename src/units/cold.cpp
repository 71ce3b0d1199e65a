// What has no long loops, of one build of the core, as one translation unit.
#define MIXABLE_IMPORTS_NUMPY
#include "bind_ensembles.cpp"
#include "bind_models.cpp"
#include "bindings.cpp"
