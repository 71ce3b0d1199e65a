// Vectors of doubles whose width is fixed at compile time, one width per instruction set.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#ifdef MIXABLE_ONCE
#error "what is compiled once for all builds must not know the width of their vectors"
#endif

namespace MIXABLE_ISA {

#if defined(__AVX512F__)
constexpr int W = 8;
#elif defined(__AVX__)
constexpr int W = 4;
#else
constexpr int W = 2;
#endif

typedef double vec __attribute__((vector_size(W * sizeof(double))));
typedef double unaligned_vec __attribute__((vector_size(W * sizeof(double)), aligned(8)));
typedef std::int64_t ivec __attribute__((vector_size(W * sizeof(double))));

inline vec load(const double* p) { return *reinterpret_cast<const unaligned_vec*>(p); }
inline void store(double* p, vec v) { *reinterpret_cast<unaligned_vec*>(p) = v; }
inline vec splat(double a) { return a - vec{}; }
inline vec max(vec a, vec b) { return a > b ? a : b; }

inline vec root(vec x) {
    for (int i = 0; i < W; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

inline double sum(vec v) {
    double part[W];
    for (int i = 0; i < W; ++i) part[i] = v[i];
    for (int half = W / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) part[i] += part[i + half];
    return part[0];
}

// One stage of a transposition: swaps squares of side S between two rows that are S apart.
template <int S, bool Upper, std::size_t... J>
inline vec exchange(vec a, vec b, std::index_sequence<J...>) {
    constexpr auto from = [](std::int64_t j) {
        return (j / S) % 2 == 0 ? j + (Upper ? 0 : S) : j + W - (Upper ? S : 0);
    };
#if defined(__clang__)
    return __builtin_shufflevector(a, b, from(J)...);
#else
    return __builtin_shuffle(a, b, ivec{from(J)...});
#endif
}

template <int S = 1>
inline void transpose(vec (&rows)[W]) {
    if constexpr (S < W) {
        for (int i = 0; i < W; ++i)
            if ((i / S) % 2 == 0) {
                const vec a = rows[i], b = rows[i + S];
                rows[i] = exchange<S, true>(a, b, std::make_index_sequence<W>{});
                rows[i + S] = exchange<S, false>(a, b, std::make_index_sequence<W>{});
            }
        transpose<2 * S>(rows);
    }
}

/// n rounded up to a multiple of the vector width; `pad_to` of buffer.hpp for any other multiple.
inline long pad(long n) { return (n + W - 1) / W * W; }

/// exp, within 2 ulp on [-708, 709], clamped to that range outside it (so never 0 or infinite); NaN
/// stays NaN.
inline vec exp(vec x) {
    const vec top = splat(709.0), bottom = splat(-708.0);
    x = top < x ? top : x;  // written so that NaN stays NaN
    x = bottom > x ? bottom : x;
    // x = n ln 2 + r, |r| <= ln(2)/2. Adding 1.5 * 2^52 leaves n in the low bits of the sum.
    const double shift = 0x1.8p52;
    const vec t = x * 0x1.71547652b82fep0 + shift;
    const vec n = t - shift;
    const vec r = (x - n * 0x1.62e42fefa39efp-1) - n * 0x1.abc9e3b39803fp-56;
    // Taylor to degree 13: the remainder is below 2e-17 on |r| <= 0.3466.
    static const double inverse_factorial[14] = {1.0,
                                                 1.0,
                                                 1.0 / 2,
                                                 1.0 / 6,
                                                 1.0 / 24,
                                                 1.0 / 120,
                                                 1.0 / 720,
                                                 1.0 / 5040,
                                                 1.0 / 40320,
                                                 1.0 / 362880,
                                                 1.0 / 3628800,
                                                 1.0 / 39916800,
                                                 1.0 / 479001600,
                                                 1.0 / 6227020800.0};
    vec e = splat(inverse_factorial[13]);
    for (int i = 12; i >= 0; --i) e = e * r + inverse_factorial[i];
    ivec bits;
    std::memcpy(&bits, &t, sizeof bits);
    bits = (bits << 52) + (std::int64_t{1023} << 52);
    vec scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return e * scale;
}

/// log of positive numbers that are not subnormal, within a few ulp of 1.
inline vec log(vec x) {
    ivec bits;
    std::memcpy(&bits, &x, sizeof bits);
    ivec exponent = (bits >> 52) - 1023;
    bits = (bits & ((std::int64_t{1} << 52) - 1)) | (std::int64_t{1023} << 52);
    vec mantissa;
    std::memcpy(&mantissa, &bits, sizeof mantissa);
    const ivec large = mantissa > 0x1.6a09e667f3bcdp0;  // sqrt(2)
    mantissa = large ? 0.5 * mantissa : mantissa;
    exponent -= large;
    exponent += std::int64_t{0x4338000000000000};  // the bits of 1.5 * 2^52
    vec power;
    std::memcpy(&power, &exponent, sizeof power);
    power -= 0x1.8p52;
    // log(m) = 2 artanh(s), |s| <= 0.1716: the terms left out are below 2e-17.
    const vec s = (mantissa - 1.0) / (mantissa + 1.0), z = s * s;
    vec series = splat(1.0 / 21);
    for (int n = 19; n >= 1; n -= 2) series = series * z + 1.0 / n;
    return power * 0x1.62e42fefa39efp-1 + 2.0 * s * series;
}

inline bool any(ivec mask) {
    std::int64_t all = 0;
    for (int i = 0; i < W; ++i) all |= mask[i];
    return all != 0;
}

// A Number is a double, or a vec with one number in each lane. What follows is the same for both.

inline double max(double a, double b) { return a > b ? a : b; }
inline double root(double x) { return std::sqrt(x); }
inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline bool any(bool mask) { return mask; }

/// The doubles of a Number.
template <class Number>
constexpr long lanes_of = long(sizeof(Number) / sizeof(double));

template <class Number>
inline Number number(double a) {
    return a - Number{};
}

/// The i-th of Numbers that are one behind the other.
template <class Number>
inline Number at(const double* p, long i) {
    if constexpr (lanes_of<Number> == 1)
        return p[i];
    else
        return load(p + i * W);
}
inline void put(double* p, long i, double x) { p[i] = x; }
inline void put(double* p, long i, vec x) { store(p + i * W, x); }

/// What is in the lanes of a vector, if these belong to one number.
template <class Number>
inline Number sum_of(vec v) {
    if constexpr (lanes_of<Number> == 1)
        return sum(v);
    else
        return v;
}
template <class Number>
inline Number largest_of(vec v) {
    if constexpr (lanes_of<Number> > 1) {
        return v;
    } else {
        double most = v[0];
        for (int i = 1; i < W; ++i) most = max(most, v[i]);
        return most;
    }
}

}  // namespace MIXABLE_ISA
