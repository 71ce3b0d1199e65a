// Where rules compute. Nothing in it is needed later than the call that put it there, unless its
// rule can tell; so rules with few classes share one in each thread: many models need memory for
// what they know only.
#pragma once

#include <memory>

#include "arena.hpp"

namespace MIXABLE_ISA {

/// A Work can be made for a number of classes.
template <class Work>
class Workplace {
   public:
    explicit Workplace(long classes) : classes_(classes) {
        if (classes > most_shared) own_ = std::make_unique<Work>(classes);
    }
    Work& operator*() const { return own_ ? *own_ : shared(classes_); }

   private:
    static constexpr long most_shared = 16;  // classes
    static Work& shared(long classes) {
        thread_local std::unique_ptr<Work> all[most_shared + 1];
        std::unique_ptr<Work>& found = all[classes];
        if (!found) found = Arena::apart([&] { return std::make_unique<Work>(classes); });
        return *found;
    }

    long classes_;
    std::unique_ptr<Work> own_;
};

}  // namespace MIXABLE_ISA
