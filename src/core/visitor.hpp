// What goes through everything that a forecaster has learned: to save it, to load it, to check it.
// Functions that only this needs are marked cold: they are compiled for size, which is quicker.
#pragma once

#include <string>

#include "core/numbers/buffer.hpp"

namespace MIXABLE_ISA {

class Visitor {
   public:
    virtual ~Visitor() = default;
    virtual void operator()(const std::string& name, long& counter) = 0;
    virtual void operator()(const std::string& name, double& number) = 0;
    virtual void operator()(const std::string& name, Buffer& values, long rows, long columns,
                            long stride) = 0;
};

/// The same with something before each name.
class Prefixed : public Visitor {
   public:
    Prefixed(Visitor& visitor, std::string prefix)
        : visitor_(visitor), prefix_(std::move(prefix)) {}
    void operator()(const std::string& name, long& counter) override {
        visitor_(prefix_ + name, counter);
    }
    void operator()(const std::string& name, double& number) override {
        visitor_(prefix_ + name, number);
    }
    void operator()(const std::string& name, Buffer& values, long rows, long columns,
                    long stride) override {
        visitor_(prefix_ + name, values, rows, columns, stride);
    }

   private:
    Visitor& visitor_;
    std::string prefix_;
};

}  // namespace MIXABLE_ISA
