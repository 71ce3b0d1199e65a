// Memory of small models: what one has lies side by side, and models lie side by side on large
// pages. A model that was not used lately comes from memory at once then, with few misses of the
// tables of pages: its `Lines` say what to ask for. That is for many models; one alone is in the
// cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace MIXABLE_ISA {

/// Asks for the line of an address, and does not wait for it.
inline void ask_for(const void* at) {
    __builtin_prefetch(at);
    __asm__ volatile("");  // or compilers take a function that only asks for one that does nothing
}

/// The lines of a block that every step needs: models of one shape have them in the same places.
class Lines {
   public:
    static constexpr std::size_t line = 64;

    /// Processors ask for about as many lines at once, and forget what is more.
    static constexpr std::size_t portion = 24;

    /// Asks for a portion of them, and does not wait.
    void fetch(const char* block, std::size_t number) const {
        const std::size_t end = std::min(numbers_.size(), (number + 1) * portion);
        for (std::size_t i = number * portion; i < end; ++i) ask_for(block + numbers_[i] * line);
    }
    /// Objects say where arrays are, and come before them.
    void add(std::size_t begin, std::size_t bytes, bool is_object = false) {
        constexpr std::size_t most = 1 << 13;  // the processor sees by itself how long arrays go on
        for (std::size_t i = 0; i < bytes && i < most; i += line)
            numbers_.insert(is_object ? numbers_.begin() : numbers_.end(),
                            std::uint16_t((begin + i) / line));
    }
    /// Equal ones are one, which is kept for ever.
    static const Lines* kept(Lines lines) {
        static std::mutex& mutex = *new std::mutex;
        static std::set<Lines>& all = *new std::set<Lines>;
        const std::lock_guard lock(mutex);
        return &*all.insert(std::move(lines)).first;
    }
    bool operator<(const Lines& other) const { return numbers_ < other.numbers_; }

   private:
    std::vector<std::uint16_t> numbers_;
};

/// Where a model is, and what of it is needed at once.
struct Block {
    const char* begin = nullptr;  // null if it is nowhere in particular
    const Lines* lines = nullptr;
    void fetch(std::size_t portion) const {
        if (begin) lines->fetch(begin, portion);
    }
};

/// Blocks of equal sizes, in slabs of 2 MB. A slab without blocks is given back.
class Slabs {
   public:
    static constexpr std::size_t bytes = 1 << 21, line = Lines::line;

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

/// Large arrays on large pages, others on whole lines.
template <class T>
struct OnLargePages {
    using value_type = T;
    OnLargePages() = default;
    template <class U>
    OnLargePages(const OnLargePages<U>&) {}

    T* allocate(std::size_t n) {
        const bool large = n * sizeof(T) >= Slabs::bytes / 2;
        const std::size_t unit = large ? Slabs::bytes : Slabs::line;
        const std::size_t whole = (n * sizeof(T) + unit - 1) / unit * unit;
        void* at = std::aligned_alloc(unit, whole);
        if (!at) throw std::bad_alloc();
#if defined(__linux__)
        if (large) madvise(at, whole, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(at);
    }
    void deallocate(T* at, std::size_t) { std::free(at); }
    bool operator==(const OnLargePages&) const { return true; }
    bool operator!=(const OnLargePages&) const { return false; }
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
        auto* header = new (arena.begin_) Header{1, nullptr};  // as if there were an object, until
        const Release release{arena.begin_};                   // there are some
        const Current current(&arena);
        auto made = make();
        header->lines = Lines::kept(std::move(arena.lines_));
        return made;
    }

    /// Makes something that is to outlive what is being packed.
    template <class Make>
    static auto apart(Make&& make) {
        const Current current(nullptr);
        return make();
    }

    /// Memory in the current block, of which every step needs the first bytes, as many as `often`;
    /// null if there is none, or no room.
    static char* take(std::size_t bytes, std::size_t often) {
        Arena* arena = current_;
        if (!arena) return nullptr;
        bytes = (bytes + Slabs::line - 1) / Slabs::line * Slabs::line;
        const std::size_t at = arena->wanted_ + Slabs::line;
        arena->wanted_ += bytes;
        if (!arena->begin_ || at + bytes > arena->size_) return nullptr;
        arena->lines_.add(at, often);
        return arena->begin_ + at;
    }
    /// Says that every step needs this part of what was taken.
    static void is_used_often(const void* begin, std::size_t bytes) {
        Arena* arena = current_;
        if (!arena || !arena->begin_) return;
        const std::size_t at = std::size_t(static_cast<const char*>(begin) - arena->begin_);
        if (at + bytes <= arena->size_) arena->lines_.add(at, bytes);  // else it is elsewhere
    }

    /// What objects have whose class is `Packed`: they keep the block.
    static void* allocate(std::size_t bytes) {
        char* at = take(bytes + Slabs::line, 0);
        char* block = at ? current_->begin_ : nullptr;
        if (at) {
            ++reinterpret_cast<Header*>(block)->objects;
            current_->lines_.add(std::size_t(at - block) + Slabs::line, bytes, true);
        } else
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

    /// The block that such an object keeps.
    static Block of(const void* object) {
        const char* at = static_cast<const char*>(object) - Slabs::line;
        const char* block = *reinterpret_cast<char* const*>(at);
        if (!block) return {};
        return {block, reinterpret_cast<const Header*>(block)->lines};
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
        const Lines* lines;
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
    Lines lines_;
};

/// A base of classes whose objects may be in a block, with their arrays.
struct Packed {
    static void* operator new(std::size_t bytes) { return Arena::allocate(bytes); }
    static void* operator new(std::size_t, void* at) { return at; }
    static void operator delete(void* object) { Arena::release(object); }
};

}  // namespace MIXABLE_ISA
