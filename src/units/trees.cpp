// Trees are compiled once, and without contraction: what decides a split has the same bits for all
// instruction sets. Nothing of this is inline elsewhere.
#define MIXABLE_ONCE
#include "bindings/bind_trees.cpp"
