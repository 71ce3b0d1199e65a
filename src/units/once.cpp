// What is compiled once and is part of each build of the core: text, and the names of models of
// dense rows in Python. It knows forecasters by their interface, and nothing of vectors.
#define MIXABLE_ONCE
#include "bindings/bind_ensembles.cpp"
#include "bindings/bind_models.cpp"
#include "bindings/bind_text.cpp"
