// Memory of small models: what one has lies side by side, and models lie side by side on large
// pages. A model that was not used lately comes from memory at once then, with few misses of the
// tables of pages. That is for many models; one alone is in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace MIXABLE_ISA {

/// Blocks of equal sizes, in slabs of 2 MB. A slab without blocks is given back.
class Slabs {
   public:
    static constexpr std::size_t bytes = 1 << 21, line = 64;

    static void* take(std::size_t size) {
        const std::lock_guard lock(all().mutex_);
        Kind& kind = all().kinds_[size];
        if (kind.with_room.empty()) kind.with_room.push_back(made(size, kind.count++ > 0));
        Slab* slab = kind.with_room.back();
        void* block = slab->next;
        if (slab->freed) {
            block = slab->freed;
            slab->freed = *static_cast<void**>(block);
        } else {
            slab->next += size;
        }
        ++slab->live;
        if (!has_room(*slab)) kind.with_room.pop_back();
        return block;
    }

    static void give(void* block) {
        const std::lock_guard lock(all().mutex_);
        Slab* slab = reinterpret_cast<Slab*>(std::uintptr_t(block) & ~std::uintptr_t(bytes - 1));
        Kind& kind = all().kinds_[slab->size];
        if (!has_room(*slab)) kind.with_room.push_back(slab);
        *static_cast<void**>(block) = slab->freed;
        slab->freed = block;
        if (--slab->live > 0 || kind.with_room.size() == 1) return;
        for (Slab*& each : kind.with_room)
            if (each == slab) each = kind.with_room.back();
        kind.with_room.pop_back();
        --kind.count;
        std::free(slab);
    }

   private:
    struct Slab {
        std::size_t size;  // of a block
        long live = 0;     // blocks that are in use
        void* freed = nullptr;
        char* next;  // where there was never a block
    };
    struct Kind {
        std::vector<Slab*> with_room;
        long count = 0;  // of slabs
    };
    std::mutex mutex_;
    std::map<std::size_t, Kind> kinds_;

    static Slabs& all() {  // never destroyed: models may outlive it
        static Slabs& slabs = *new Slabs;
        return slabs;
    }
    static bool has_room(const Slab& slab) {
        const char* begin = reinterpret_cast<const char*>(&slab);
        return slab.freed || std::size_t(slab.next - begin) + slab.size <= bytes;
    }
    /// A large page is used as a whole: it is wanted when one slab is full already.
    static Slab* made(std::size_t size, [[maybe_unused]] bool large) {
        void* at = std::aligned_alloc(bytes, bytes);
        if (!at) throw std::bad_alloc();
#if defined(__linux__)
        if (large) madvise(at, bytes, MADV_HUGEPAGE);
#endif
        return new (at) Slab{size, 0, nullptr, static_cast<char*>(at) + line};
    }
};

/// One block for all that is made while it is the current one: arrays, and `Packed` objects. The
/// block lives as long as one of these objects does.
class Arena {
   public:
    /// Makes something: first anywhere, to see how much it takes; if that is little, again in one
    /// block.
    template <class Make>
    static auto pack(Make&& make) {
        Arena arena;
        {
            const Current current(&arena);
            auto made = make();
            if (arena.wanted_ > most) return made;
        }
        arena.size_ = arena.wanted_ + Slabs::line;
        arena.begin_ = static_cast<char*>(Slabs::take(arena.size_));
        arena.wanted_ = 0;
        new (arena.begin_) Header{1};  // as if there were an object, until there are some
        const Release release{arena.begin_};
        const Current current(&arena);
        return make();
    }

    /// Makes something that is to outlive what is being packed.
    template <class Make>
    static auto apart(Make&& make) {
        const Current current(nullptr);
        return make();
    }

    /// Memory in the current block; null if there is none, or no room.
    static char* take(std::size_t bytes) {
        Arena* arena = current_;
        if (!arena) return nullptr;
        bytes = (bytes + Slabs::line - 1) / Slabs::line * Slabs::line;
        const std::size_t at = arena->wanted_ + Slabs::line;
        arena->wanted_ += bytes;
        return arena->begin_ && at + bytes <= arena->size_ ? arena->begin_ + at : nullptr;
    }

    /// What objects have whose class is `Packed`: they keep the block.
    static void* allocate(std::size_t bytes) {
        char* at = take(bytes + Slabs::line);
        char* block = at ? current_->begin_ : nullptr;
        if (at)
            ++reinterpret_cast<Header*>(block)->objects;
        else
            at = static_cast<char*>(::operator new(bytes + Slabs::line, alignment));
        *reinterpret_cast<char**>(at) = block;
        return at + Slabs::line;
    }
    static void release(void* object) {
        char* at = static_cast<char*>(object) - Slabs::line;
        if (char* block = *reinterpret_cast<char**>(at))
            let_go(block);
        else
            ::operator delete(at, alignment);
    }

   private:
    static constexpr std::align_val_t alignment{Slabs::line};
#if defined(__SANITIZE_ADDRESS__)
    static constexpr std::size_t most = 0;  // arrays apart from each other, to be watched
#else
    static constexpr std::size_t most = 1 << 16;
#endif

    struct Header {
        long objects;  // that keep the block
    };
    static void let_go(char* block) {
        if (--reinterpret_cast<Header*>(block)->objects == 0) Slabs::give(block);
    }
    struct Release {
        char* block;
        ~Release() { let_go(block); }
    };
    /// While it lives, an arena is the current one of this thread.
    struct Current {
        explicit Current(Arena* arena) : before(current_) { current_ = arena; }
        ~Current() { current_ = before; }
        Arena* before;
    };

    static inline thread_local Arena* current_ = nullptr;
    char* begin_ = nullptr;  // null while it is only measured
    std::size_t size_ = 0, wanted_ = 0;
};

/// A base of classes whose objects may be in a block, with their arrays.
struct Packed {
    static void* operator new(std::size_t bytes) { return Arena::allocate(bytes); }
    static void* operator new(std::size_t, void* at) { return at; }
    static void operator delete(void* object) { Arena::release(object); }
};

}  // namespace MIXABLE_ISA
