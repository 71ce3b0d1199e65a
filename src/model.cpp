// Forecasters of dense rows as Python objects, for one instruction set.
#include "model.hpp"

namespace MIXABLE_ISA {

template nb::object Model<long>::forecast(nb::handle, bool);
template nb::object Model<long>::run(nb::handle, nb::handle, nb::handle);
template nb::object Model<long>::predict_raw(const Scaler&, nb::handle);
template nb::tuple Model<long>::follow(Scaler&, nb::handle, nb::handle, nb::handle, nb::handle);
template void Model<long>::step(nb::handle, nb::handle, nb::handle, bool);
template void Model<long>::learn_raw(Scaler&, nb::handle, long, double);
template nb::object Model<double>::forecast(nb::handle, bool);
template nb::object Model<double>::run(nb::handle, nb::handle, nb::handle);
template void Model<double>::step(nb::handle, nb::handle, nb::handle, bool);

}  // namespace MIXABLE_ISA
