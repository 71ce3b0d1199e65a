// What the labels before say of the next one: the last label, and how often each came lately.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "shapes.hpp"

namespace MIXABLE_ISA {

/// The labels that are known so far, as sparse features of a record.
class Memory {
   public:
    /// Numbers of each class: whether it was the last, and its decayed frequencies.
    static constexpr long width = 3;
    static constexpr double keep[width] = {0, 0.8, 0.99};

    /// The numbers of K classes (K x width), of which some may have come since.
    void write(long K, double* out) const {
        const long n = std::min(long(numbers_.size()), K * width);
        std::copy_n(numbers_.begin(), n, out);
        std::fill(out + n, out + K * width, 0.0);
    }
    /// Learns the label of an example that counts.
    void learn(long y) {
        if (long(numbers_.size()) < (y + 1) * width) numbers_.resize(std::size_t((y + 1) * width));
        for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] *= keep[i % width];
        for (long k = 0; k < width; ++k) numbers_[std::size_t(y * width + k)] += 1 - keep[k];
    }
    /// Adds such numbers to a sparse row.
    static void add(const double* numbers, long K, std::vector<std::uint64_t>& keys,
                    std::vector<double>& values) {
        for (long i = 0; i < K * width; ++i)
            if (numbers[i] > 0) {
                keys.push_back(key(i / width, i % width));
                values.push_back(numbers[i]);
            }
    }
    static std::uint64_t key(long y, long k) {
        return key_of(std::uint64_t(128 + k), std::uint64_t(y));
    }

    const std::vector<double>& numbers() const { return numbers_; }
    /// Goes on from numbers that were saved; false if they cannot be some that it had.
    bool restore(std::vector<double> numbers) {
        if (numbers.size() % width) return false;
        double sums[width] = {};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (!(numbers[i] >= 0 && numbers[i] <= 1)) return false;
            sums[i % width] += numbers[i];
        }
        if (std::any_of(sums, sums + width, [](double sum) { return sum > 1 + 1e-6; }))
            return false;
        numbers_ = std::move(numbers);
        return true;
    }

   private:
    std::vector<double> numbers_;  // of the classes that came so far
};

}  // namespace MIXABLE_ISA
