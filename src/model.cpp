// Forecasters of dense rows as Python objects, for one instruction set.
#include "model.hpp"

namespace MIXABLE_ISA {

template class Model<long>;
template class Model<double>;

}  // namespace MIXABLE_ISA
