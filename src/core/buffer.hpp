// Arrays of numbers, which all builds of the core share: nothing here depends on the width of
// vectors.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "arena.hpp"

namespace MIXABLE_ISA {

/// n rounded up to a multiple.
inline long pad_to(long n, long multiple) { return (n + multiple - 1) / multiple * multiple; }

/// Asks for memory that is about to be used, and does not wait for it.
inline void fetch_memory(const void* begin, std::size_t bytes) {
    constexpr std::size_t most = 1 << 13;  // the processor sees by itself how long arrays go on
    const char* at = static_cast<const char*>(begin);
    for (std::size_t i = 0; i < bytes && i < most; i += 64) ask_for(at + i);
}

inline void fetch_numbers(const double* begin, long n) {
    fetch_memory(begin, std::size_t(n) * sizeof(double));
}
/// The same for the lower triangle of a small matrix (n x n), its rows ld apart.
inline void fetch_lower(const double* M, long n, long ld) {
    for (long i = 0; i < n && n <= 64; ++i) fetch_numbers(M + i * ld, i + 1);
}
/// Says that every step goes through a matrix (rows x d, rows ld apart) of squares (d x d), or
/// through their lower triangles.
inline void is_used_often(const double* M, long rows, long d, long ld, bool lower) {
    for (long i = 0; i < rows; ++i)
        Arena::is_used_often(M + i * ld, std::size_t(lower ? i % d + 1 : d) * sizeof(double));
}

/// A part of the memory.
struct Span {
    const void* begin = nullptr;
    std::size_t bytes = 0;
    void fetch() const { fetch_memory(begin, bytes); }
};

/// A zeroed, 64-byte aligned array of doubles with a few spare zeros at its end, so that whole
/// vectors may be read past the last row.
class Buffer {
   public:
    Buffer() : size_(0), is_own_(false) {}
    explicit Buffer(long n) : Buffer(n, n) {}
    /// One that a step does not need, or needs a part of: its owner says which.
    static Buffer seldom(long n) { return Buffer(n, 0); }
    Buffer(Buffer&& other) noexcept : Buffer() { *this = std::move(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        const long size = size_;
        const bool is_own = is_own_;
        size_ = other.size_, is_own_ = other.is_own_;
        other.size_ = size, other.is_own_ = is_own;
        return *this;
    }
    ~Buffer() {
        if (is_own_) std::free(data_);
    }
    operator double*() { return data_; }
    operator const double*() const { return data_; }
    double* operator+(long i) { return data_ + i; }
    const double* operator+(long i) const { return data_ + i; }
    double& operator[](long i) { return data_[i]; }
    double operator[](long i) const { return data_[i]; }
    long size() const { return size_; }
    bool operator==(const Buffer& other) const {
        return size_ == other.size_ &&
               (size_ == 0 ||
                std::memcmp(data_, other.data_, std::size_t(size_) * sizeof(double)) == 0);
    }
    void fetch() const { fetch_numbers(data_, size_); }
    /// Whether there is a number other than 0.
    bool is_filled() const {
        for (long i = 0; i < size_; ++i)
            if (data_[i] != 0) return true;
        return false;
    }
    void clear() { std::memset(data_, 0, std::size_t(size_) * sizeof(double)); }

   private:
    Buffer(long n, long often) : size_(n), is_own_(false) {
        // Worth huge pages, which spare the matrix products most of their TLB misses.
        const bool large = n >= 1L << 18;
        const long alignment = large ? 1L << 21 : 64,
                   bytes = pad_to((n + 16) * long(sizeof(double)), alignment);
        data_ = reinterpret_cast<double*>(
            Arena::take(std::size_t(bytes), std::size_t(often) * sizeof(double)));
        is_own_ = !data_;
        if (is_own_)
            data_ = static_cast<double*>(
                std::aligned_alloc(std::size_t(alignment), std::size_t(bytes)));
        if (!data_) throw std::bad_alloc();
#if defined(__linux__)
        if (large) madvise(data_, std::size_t(bytes), MADV_HUGEPAGE);
#endif
        std::memset(data_, 0, std::size_t(bytes));
    }

    double* data_ = nullptr;
    long size_ : 63;
    bool is_own_ : 1;  // or in an arena
};

static_assert(sizeof(Buffer) == 16);

inline void copy(const double* from, long n, double* to) {
    if (n > 0) std::memcpy(to, from, std::size_t(n) * sizeof(double));  // or either may be null
}
inline void set_to_zero(double* x, long n) { std::memset(x, 0, std::size_t(n) * sizeof(double)); }

}  // namespace MIXABLE_ISA
