// What is compiled once and is part of each build of the core: text, and models of dense rows as
// Python objects. It knows forecasters by their interface, and nothing of vectors.
#define MIXABLE_ONCE
#include "bind_ensembles.cpp"
#include "bind_models.cpp"
#include "bind_text.cpp"
