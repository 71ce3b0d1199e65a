// The threads of BLAS. In most of our work they have too little to do, and they wait by spinning.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <string>

namespace MIXABLE_ISA {

/// Asks OpenBLAS for fewer threads while calls are under way. Of another BLAS it knows nothing, and
/// leaves it as it is. To be used with Python's lock.
class BlasThreads {
   public:
    /// Looks for OpenBLAS among what the library at `path` needs.
    static void find(const char* path) {
        void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (!library) return;
        for (const std::string name : {"scipy_openblas", "openblas"}) {
            void* get = dlsym(library, (name + "_get_num_threads").c_str());
            void* set = dlsym(library, (name + "_set_num_threads").c_str());
            if (!get || !set) continue;
            get_ = reinterpret_cast<int (*)()>(get);
            set_ = reinterpret_cast<void (*)(int)>(set);
            return;
        }
    }
    /// Threads that share a table if nobody says how many: those that BLAS would have, up to four.
    /// More have too little to do each.
    static long usual() {
        if (!get_) return 1;
        return std::min(users_ > 0 ? before_ : get_(), 4);
    }

    /// While it lives, BLAS has one thread, if that is `wanted`.
    class One {
       public:
        explicit One(bool wanted) : counts_(wanted && get_) {
            if (!counts_ || users_++ > 0) return;
            before_ = get_();
            if (before_ > 1) set_(1);
        }
        ~One() {
            if (counts_ && --users_ == 0 && before_ > 1) set_(before_);
        }
        One(const One&) = delete;
        One& operator=(const One&) = delete;

       private:
        const bool counts_;
    };

   private:
    static inline int (*get_)() = nullptr;
    static inline void (*set_)(int) = nullptr;
    static inline long users_ = 0;
    static inline int before_ = 1;  // threads that it had when the first of the users came
};

}  // namespace MIXABLE_ISA
