// What is compiled for speed, for each build of the core: the forecasters. They know nothing of
// Python, whose headers take long to read.
#include "core/numbers/sizes.cpp"
#include "core/rule/forecasters.cpp"
