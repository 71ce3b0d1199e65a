// Forecasters of dense rows as Python objects, for one instruction set.
#include "model.hpp"

namespace MIXABLE_ISA {

template nb::object Model<long>::forecast(nb::handle, bool);
template nb::object Model<long>::run(nb::handle, nb::handle, nb::handle);
template void Model<long>::step(nb::handle, nb::handle, nb::handle, bool);
template nb::object Model<double>::forecast(nb::handle, bool);
template nb::object Model<double>::run(nb::handle, nb::handle, nb::handle);
template void Model<double>::step(nb::handle, nb::handle, nb::handle, bool);

}  // namespace MIXABLE_ISA
