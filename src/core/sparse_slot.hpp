// What the slot of a feature holds: its accumulator, then its weights, classes one after the other,
// settings side by side in eights. Of two classes only the second has weights; those of the first
// are their negatives.
#pragma once

#include <algorithm>
#include <cmath>

#include "simd.hpp"

namespace MIXABLE_ISA {

struct SlotShape {
    SlotShape(long classes, long settings)
        : K(classes), C(K == 2 ? 1 : K), SP(pad_to(settings, lanes)) {}

    static constexpr long lanes = 8;
    static constexpr float largest_weight = 1e9f, largest_sum = 1e30f;

    long K, C, SP;  // classes, those that have weights, settings and the lanes behind them

    long width() const { return 1 + C * SP; }
    double weight(const float* slot, long c, long s) const {
        if (K == 2) return c == 0 ? -double(slot[1 + s]) : double(slot[1 + s]);
        return double(slot[1 + c * SP + s]);
    }
    /// Takes over a slot of at most as many classes. Newcomers have weights 0, which is the mean of
    /// the others'.
    void adopt(const SlotShape& other, const float* from, float* to) const {
        to[0] = from[0];
        for (long c = K - C; c < other.K; ++c)
            for (long s = 0; s < SP; ++s)
                to[1 + (c - (K - C)) * SP + s] = float(other.weight(from, c, s));
    }
    /// Whether a slot, as read from a file, can be one that learning made.
    bool is_sound(const float* slot) const {
        bool sound = slot[0] >= 0 && slot[0] <= largest_sum;
        for (long i = 1; i < width(); ++i) sound = sound && std::fabs(slot[i]) <= largest_weight;
        return sound;
    }

    typedef float floats __attribute__((vector_size(lanes * sizeof(float)), aligned(4)));
    static floats& eight(float* p) { return *reinterpret_cast<floats*>(p); }
    static const floats& eight(const float* p) { return *reinterpret_cast<const floats*>(p); }

    /// m (C x SP) += z times the weights.
    void add(double z, const float* slot, double* m) const {
        typedef float few __attribute__((vector_size(W * sizeof(float)), aligned(4)));
        for (long i = 0; i < C * SP; i += W) {
            const few w = *reinterpret_cast<const few*>(slot + 1 + i);
            store(m + i, load(m + i) + z * __builtin_convertvector(w, vec));
        }
    }
    /// The weights of each class lose rate (SP) times v (C x SP).
    void subtract(const float* rate, const float* v, float* slot) const {
        const floats most = largest_weight - floats{};
        for (long at = 0; at < C * SP; at += lanes) {
            floats next = eight(slot + 1 + at) - eight(rate + at % SP) * eight(v + at);
            next = next > most ? most : next;
            eight(slot + 1 + at) = next < -most ? -most : next;
        }
    }
};

}  // namespace MIXABLE_ISA
