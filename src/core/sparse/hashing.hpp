// Keys of sparse features: 64 bits of a column and a value, the same on every machine and for ever.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace MIXABLE_ISA {

using Key = std::uint64_t;

/// Both halves of the 128-bit product, folded, with the factors: 0 times anything is not 0.
inline Key folded_product(Key a, Key b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return (a ^ Key(product)) ^ (b ^ Key(product >> 64));
}

// Odd, half of the bits set: from the digits of pi.
constexpr Key pi_1 = 0x243F6A8885A308D3, pi_2 = 0x13198A2E03707345, pi_3 = 0xA4093822299F31D1;

/// The key of two keys, in this order.
inline Key joined(Key a, Key b) {
    return folded_product(folded_product(a ^ pi_1, b ^ pi_2) ^ pi_3, a + pi_2);
}

/// The key of some bytes: 16 at a time, multiplied. Numbers are read as little-endian.
inline Key hashed(const char* bytes, std::size_t n, Key seed) {
    const auto word = [](const char* at) {
        Key out = 0;
        for (int i = 7; i >= 0; --i) out = out << 8 | static_cast<unsigned char>(at[i]);
        return out;
    };
    Key h = folded_product(seed ^ pi_1, n ^ pi_2);
    for (; n > 16; bytes += 16, n -= 16)
        h = folded_product(word(bytes) ^ pi_3, word(bytes + 8) ^ h);
    char last[16] = {};
    if (n) std::memcpy(last, bytes, n);
    h = folded_product(word(last) ^ pi_3, word(last + 8) ^ h);
    return folded_product(h ^ pi_1, seed ^ pi_2);
}

/// What is within a word of a text: letters and digits as `Alphabet` has them, marks, no
/// punctuation.
template <class Alphabet>
bool is_in_word(std::uint32_t c) {
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '_';
    if (Alphabet::is_letter(c)) return true;
    // Vowel signs and accents, which belong to words, are in these blocks; so is some punctuation.
    static constexpr std::pair<std::uint32_t, std::uint32_t> punctuation[] = {
        {0x037E, 0x037E}, {0x0387, 0x0387}, {0x055A, 0x055F}, {0x0589, 0x058A}, {0x05BE, 0x05BE},
        {0x05C0, 0x05C0}, {0x05C3, 0x05C3}, {0x05F3, 0x05F4}, {0x0609, 0x060D}, {0x061B, 0x061F},
        {0x066A, 0x066D}, {0x06D4, 0x06D4}, {0x0964, 0x0965}, {0x0E5A, 0x0E5B}, {0x104A, 0x104F},
        {0x1361, 0x1368}, {0x1680, 0x1680}, {0x17D4, 0x17DA}, {0x1800, 0x180A}};
    if (c < 0x0300 || c > 0x1FFF) return false;
    return std::none_of(std::begin(punctuation), std::end(punctuation),
                        [c](auto range) { return range.first <= c && c <= range.second; });
}

/// Chinese and Japanese, which put no space between words: each sign is a word.
inline bool is_a_word(std::uint32_t c) {
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3FFFF);
}

/// Appends a code point in UTF-8; halves of surrogate pairs in the same way.
inline void append_utf8(std::vector<char>& out, std::uint32_t c) {
    const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
        put(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            put(0xE0 | c >> 12);
        } else {
            put(0xF0 | c >> 18);
            put(0x80 | (c >> 12 & 0x3F));
        }
        put(0x80 | (c >> 6 & 0x3F));
    }
    put(0x80 | (c & 0x3F));
}

/// Calls word(bytes, size) for each word, in lower case, of the first n code points at(0), at(1)...
template <class Alphabet, class At, class Word>
void for_each_word(At at, std::size_t n, std::vector<char>& scratch, Word word) {
    scratch.clear();
    const auto close = [&] {
        if (!scratch.empty()) word(scratch.data(), scratch.size());
        scratch.clear();
    };
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t c = at(i);
        const bool inside = is_in_word<Alphabet>(c), alone = inside && is_a_word(c);
        if (!inside || alone) close();
        if (inside) append_utf8(scratch, Alphabet::lower(c));
        if (alone) close();
    }
    close();
}

/// Each key once, sorted, with its values: a text whose keys are n different ones has a norm of
/// n^(1/4), each key a part of it that grows with the logarithm of how often it comes.
inline void append_text(std::vector<Key>& found, std::vector<Key>& keys,
                        std::vector<float>& values) {
    std::sort(found.begin(), found.end());
    const std::size_t begin = values.size();
    double square = 0;
    for (std::size_t i = 0; i < found.size();) {
        std::size_t end = i;
        while (end < found.size() && found[end] == found[i]) ++end;
        const double value = 1 + std::log(double(end - i));
        keys.push_back(found[i]);
        values.push_back(float(value));
        square += value * value;
        i = end;
    }
    const double n = double(values.size() - begin);
    const double factor = n ? std::sqrt(std::sqrt(n) / square) : 0;
    for (std::size_t i = begin; i < values.size(); ++i) values[i] = float(values[i] * factor);
}

}  // namespace MIXABLE_ISA
