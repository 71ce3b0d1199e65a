// The threads of BLAS. In most of our work they have too little to do, and they wait by spinning.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <string>

namespace MIXABLE_ISA {

/// Asks OpenBLAS for fewer threads while calls are under way: for the whole process, since it has
/// no other way. Of another BLAS it knows nothing, and leaves it as it is.
class BlasThreads {
   public:
    /// Looks for OpenBLAS among what the library at `path` needs.
    static void find(const char* path) {
        void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (!library || get_) return;
        for (const std::string name : {"scipy_openblas", "openblas"}) {
            void* get = dlsym(library, (name + "_get_num_threads").c_str());
            void* set = dlsym(library, (name + "_set_num_threads").c_str());
            if (!get || !set) continue;
            get_ = reinterpret_cast<int (*)()>(get);
            set_ = reinterpret_cast<void (*)(int)>(set);
            pthread_atfork([] { guard_.lock(); }, [] { guard_.unlock(); }, forget_other_users);
            return;
        }
    }
    /// Threads that share a table if nobody says how many: those that BLAS would have, up to four.
    /// More have too little to do each.
    static long usual() {
        if (!get_) return 1;
        return std::min(is_limited_ ? before_ : get_(), 4);
    }

    /// While it lives, BLAS has one thread, if that is `wanted`.
    class One {
       public:
        explicit One(bool wanted) : counts_(wanted && get_) {
            if (!counts_) return;
            const std::lock_guard<std::mutex> alone(guard_);
            if (users_++ > 0 || is_limited_) return;
            before_ = get_();
            is_limited_ = before_ > 1;
            if (is_limited_) set_(1);
        }
        ~One() {
            if (!counts_) return;
            const std::lock_guard<std::mutex> alone(guard_);
            if (users_ == 0 || --users_ > 0 || !is_limited_) return;
            is_limited_ = false;
            if (get_() == 1) set_(before_);  // unless someone else has changed it meanwhile
        }
        One(const One&) = delete;
        One& operator=(const One&) = delete;

       private:
        const bool counts_;
    };

   private:
    /// In a forked process the calls of other threads are gone. BLAS gets its threads back after
    /// the next of ours.
    static void forget_other_users() {
        users_ = 0;
        guard_.unlock();
    }

    static inline std::mutex guard_;
    static inline int (*get_)() = nullptr;
    static inline void (*set_)(int) = nullptr;
    static inline long users_ = 0;
    static inline bool is_limited_ = false;
    static inline int before_ = 1;  // threads that it had when it was limited
};

}  // namespace MIXABLE_ISA
