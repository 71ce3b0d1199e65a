// The rows that trees are grown on: the last ones that came.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trees.hpp"

namespace MIXABLE_ISA {
namespace trees {

/// Row t lies in slot t % most.
class Ring {
   public:
    Ring(long d, long C, long most) : d(d), C(C), most(most) {
        // Pages that nobody has touched take no memory, and no row has to move.
        rows_.x.reserve(std::size_t(most * d));
        rows_.keys.reserve(std::size_t(most * C));
        rows_.y.reserve(std::size_t(most));
        rows_.weight.reserve(std::size_t(most));
    }

    const long d, C, most;
    /// Rows that came, and that are here.
    long n() const { return n_; }
    long size() const { return std::min(n_, most); }

    const double* x(long slot) const { return rows_.x.data() + slot * d; }
    const std::uint64_t* keys(long slot) const { return rows_.keys.data() + slot * C; }
    double y(long slot) const { return rows_.y[std::size_t(slot)]; }
    /// The outcomes from that slot on.
    const double* ys(long slot) const { return rows_.y.data() + slot; }
    double weight(long slot) const { return rows_.weight[std::size_t(slot)]; }
    /// The number of the row that lies in a slot.
    long row_in(long slot) const {
        const long last = n_ - 1;
        return last - (last - slot) % most;
    }

    void add(const double* x, const std::uint64_t* keys, double y, double weight) {
        const long slot = n_ % most;
        put(rows_.x, slot, x, d);
        put(rows_.keys, slot, keys, C);
        put(rows_.y, slot, &y, 1);
        put(rows_.weight, slot, &weight, 1);
        ++n_;
    }

    void clear() {
        n_ = 0;
        rows_.x.clear();
        rows_.keys.clear();
        rows_.y.clear();
        rows_.weight.clear();
    }

    void visit(TreeVisitor& visitor) {
        visitor("rows", n_);
        visitor("x", rows_.x);
        visitor("keys", rows_.keys);
        visitor("y", rows_.y);
        visitor("weight", rows_.weight);
    }
    bool is_valid(long K) const {
        if (n_ < 0 || n_ > 1L << 60) return false;
        const std::size_t rows = std::size_t(size());
        if (rows_.x.size() != rows * std::size_t(d) || rows_.keys.size() != rows * std::size_t(C) ||
            rows_.y.size() != rows || rows_.weight.size() != rows)
            return false;
        const auto fits = [K](double y) {
            return K ? y >= 0 && y < double(K) && y == std::floor(y) : std::fabs(y) <= 1e100;
        };
        return std::all_of(rows_.y.begin(), rows_.y.end(), fits) &&
               std::all_of(rows_.weight.begin(), rows_.weight.end(),
                           [](double w) { return w > 0 && w <= 1e12; });
    }

   private:
    template <class T>
    void put(std::vector<T>& values, long slot, const T* from, long width) {
        if (width == 0) return;
        if (slot * width == long(values.size()))
            values.insert(values.end(), from, from + width);
        else
            std::copy_n(from, width, values.begin() + slot * width);
    }

    TreeRows rows_;
    long n_ = 0;
};

}  // namespace trees
}  // namespace MIXABLE_ISA
