// The forecasters of dense rows. forecasters.cpp has the only code of their loops, rules and
// states, which is compiled for speed.
#pragma once

#include "auto_rules.hpp"
#include "forecaster.hpp"
#include "making.hpp"
#include "ons.hpp"
#include "scalar_rules.hpp"

namespace MIXABLE_ISA {

using Gaf = Forecaster<GafRule<double>>;
using Folklore = Forecaster<FolkloreRule>;
using StructuredGaf = Forecaster<ClassGafRule<double>, State>;
using StructuredFolklore = Forecaster<ClassFolkloreRule, State>;
using Ons = Forecaster<OnsRule>;
using Aioli = Forecaster<AioliRule>;
using Vaw = Forecaster<VawRule>;
using Ogd = Forecaster<OgdRule, GradientState>;
using AutoGaf = Ensemble<ClassFamily>;
using AutoRidge = Ensemble<NormalFamily>;

extern template class Forecaster<GafRule<double>>;
extern template class Forecaster<FolkloreRule>;
extern template class Forecaster<ClassGafRule<double>, State>;
extern template class Forecaster<ClassFolkloreRule, State>;
extern template class Forecaster<OnsRule>;
extern template class Forecaster<AioliRule>;
extern template class Forecaster<VawRule>;
extern template class Forecaster<OgdRule, GradientState>;
extern template class Ensemble<ClassFamily>;
extern template class Ensemble<NormalFamily>;

}  // namespace MIXABLE_ISA
