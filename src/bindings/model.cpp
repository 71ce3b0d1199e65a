// Forecasters of dense rows as Python objects, for one instruction set.
#include "model.hpp"

namespace MIXABLE_ISA {

template nb::object Model<long>::predict(nb::handle);
template Array<> Model<long>::run(Array<>, Array<long>, Array<>);
template void Model<long>::learn(nb::handle, nb::handle, nb::handle);
template nb::object Model<double>::predict(nb::handle);
template Array<> Model<double>::run(Array<>, Array<>, Array<>);
template void Model<double>::learn(nb::handle, nb::handle, nb::handle);

}  // namespace MIXABLE_ISA
