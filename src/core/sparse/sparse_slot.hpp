// What the slot of a feature holds: its accumulator, then its weights, classes one after the other,
// settings side by side in eights. Of two classes only the second has weights; those of the first
// are their negatives.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/numbers/simd.hpp"

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

    /// m (C x SP) = the sum over all features of value times weights. Features have a value and a
    /// slot; each sum goes through them in their order.
    template <class Features>
    void sum(const Features& features, double* m) const {
        constexpr int few = lanes / W > 0 ? lanes / W : 1;
        long at = 0;
        for (; at + 4 * few * W <= C * SP; at += 4 * few * W) sum_of<4 * few>(features, at, m + at);
        for (; at < C * SP; at += few * W) sum_of<few>(features, at, m + at);
    }
    /// The weights of each class lose rate (SP) times v (C x SP).
    void subtract(const float* rate, const float* v, float* slot) const {
        const floats most = largest_weight - floats{};
        for (long s = 0; s < SP; s += lanes) {
            const floats by = eight(rate + s);
            for (long at = s; at < C * SP; at += SP) {
                floats next = eight(slot + 1 + at) - by * eight(v + at);
                next = next > most ? most : next;
                eight(slot + 1 + at) = next < -most ? -most : next;
            }
        }
    }

   private:
    /// N vectors of the sums, from `at` on.
    template <int N, class Features>
    static void sum_of(const Features& features, long at, double* m) {
        typedef float few __attribute__((vector_size(W * sizeof(float)), aligned(4)));
        vec sums[N] = {};
        for (const auto& each : features) {
            const float* weights = each.slot + 1 + at;
            for (int i = 0; i < N; ++i) {
                const few w = *reinterpret_cast<const few*>(weights + i * W);
                sums[i] += each.value * __builtin_convertvector(w, vec);
            }
        }
        for (int i = 0; i < N; ++i) store(m + i * W, sums[i]);
    }
};

}  // namespace MIXABLE_ISA
