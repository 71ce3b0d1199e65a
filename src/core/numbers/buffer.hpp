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

namespace MIXABLE_ISA {

/// n rounded up to a multiple.
inline long pad_to(long n, long multiple) { return (n + multiple - 1) / multiple * multiple; }

/// A zeroed, 64-byte aligned array of doubles with a few spare zeros at its end, so that whole
/// vectors may be read past the last row.
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(long n) : size_(n) {
        // Worth huge pages, which spare the matrix products most of their TLB misses. To find one
        // may take milliseconds.
        const bool large = n >= 1L << 20;
        const long alignment = large ? 1L << 21 : 64,
                   bytes = pad_to((n + 16) * long(sizeof(double)), alignment);
        data_ =
            static_cast<double*>(std::aligned_alloc(std::size_t(alignment), std::size_t(bytes)));
        if (!data_) throw std::bad_alloc();
#if defined(__linux__)
        if (large) madvise(data_, std::size_t(bytes), MADV_HUGEPAGE);
#endif
        std::memset(data_, 0, std::size_t(bytes));
    }
    Buffer(Buffer&& other) noexcept { *this = std::move(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Buffer() { std::free(data_); }
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
    /// Whether there is a number other than 0.
    bool is_filled() const {
        for (long i = 0; i < size_; ++i)
            if (data_[i] != 0) return true;
        return false;
    }
    void clear() { std::memset(data_, 0, std::size_t(size_) * sizeof(double)); }

   private:
    double* data_ = nullptr;
    long size_ = 0;
};

inline void copy(const double* from, long n, double* to) {
    if (n > 0) std::memcpy(to, from, std::size_t(n) * sizeof(double));  // or either may be null
}
inline void set_to_zero(double* x, long n) { std::memset(x, 0, std::size_t(n) * sizeof(double)); }

}  // namespace MIXABLE_ISA
