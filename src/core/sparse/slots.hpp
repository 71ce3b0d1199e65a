// Slots of floats by 64-bit keys: a hash table with open addressing that grows by doubling, up to a
// bound. Keys that come once it is full share the slots of others.
//
// Slots never move, so pointers to them stay good. Looking up a row is done in stages, each of
// which asks for the memory of the next before it is needed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "core/numbers/simd.hpp"

namespace MIXABLE_ISA {

/// The finaliser of SplitMix64: all bits depend on all bits.
inline std::uint64_t hash_of(std::uint64_t key) {
    key += 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
}

class Slots {
   public:
    /// Slots of `width` floats each, zero at first; at most `most` of them.
    Slots(long width, long most) : width_(width), most_(most), table_(first_table) {
        while (width_ * (2L << shift_) * long(sizeof(float)) <= piece_bytes) ++shift_;
    }

    static constexpr long largest = (1L << 31) - 1;  // number of slots

    long size() const { return long(keys_.size()); }
    long width() const { return width_; }
    long most() const { return most_; }
    bool is_full() const { return size() >= most_; }
    const std::uint64_t* keys() const { return keys_.data(); }
    float* slot(long i) { return pieces_[std::size_t(i >> shift_)].get() + offset(i); }
    const float* slot(long i) const { return pieces_[std::size_t(i >> shift_)].get() + offset(i); }

    /// Bytes in use: slots, keys and the table.
    double bytes() const {
        return double(pieces_.size()) * double(width_ << shift_) * double(sizeof(float)) +
               double(keys_.capacity()) * 8.0 + double(table_.size()) * 4.0;
    }
    /// Bytes of each slot once there are many, at most.
    static double bytes_each(long width) { return double(width) * double(sizeof(float)) + 32.0; }

    /// The three stages of a look-up: `touch` and `peek` only ask for memory.
    void touch(std::uint64_t hash) const { __builtin_prefetch(&table_[place(hash)]); }
    void peek(std::uint64_t hash) const {
        const std::uint32_t entry = table_[place(hash)];
        if (entry == 0) return;
        __builtin_prefetch(&keys_[entry - 1]);
        ask_for(slot(entry - 1));
    }
    /// The slot of a key; -1 if it has none.
    long find(std::uint64_t key, std::uint64_t hash) const {
        for (std::size_t at = place(hash); table_[at] != 0; at = next(at))
            if (keys_[table_[at] - 1] == key) return long(table_[at]) - 1;
        return -1;
    }
    /// The slot that a key without one of its own shares, once all slots are taken.
    long shared(std::uint64_t hash) const {
        return long(((hash >> 32) * std::uint64_t(most_)) >> 32);
    }
    /// A slot for a key that has none; there must be room.
    long add(std::uint64_t key, std::uint64_t hash) {
        if (2 * (keys_.size() + 1) > table_.size()) enlarge_table();
        const long i = size();
        if (i >> shift_ == long(pieces_.size())) add_piece();
        keys_.push_back(key);
        put(hash, std::uint32_t(i + 1));
        return i;
    }
    /// Lets there be at most this many slots, or as many as there are.
    void set_most(long most) { most_ = std::max(most, size()); }

    void ask_for(const float* slot) const {
        const char* byte = reinterpret_cast<const char*>(slot);
        const long bytes = std::min(width_ * long(sizeof(float)), most_prefetched);
        for (long i = 0; i < bytes; i += 64) __builtin_prefetch(byte + i);
        __builtin_prefetch(byte + bytes - 1);
    }

    void clear() {
        keys_.clear();
        pieces_.clear();
        table_.assign(first_table, 0);
    }

   private:
    static constexpr std::size_t first_table = 64;
    static constexpr long piece_bytes = 1L << 17, most_prefetched = 1L << 12;

    struct Free {
        void operator()(float* p) const { std::free(p); }
    };

    long offset(long i) const { return (i & ((1L << shift_) - 1)) * width_; }
    std::size_t place(std::uint64_t hash) const { return hash & (table_.size() - 1); }
    std::size_t next(std::size_t at) const { return (at + 1) & (table_.size() - 1); }

    void put(std::uint64_t hash, std::uint32_t entry) {
        std::size_t at = place(hash);
        while (table_[at] != 0) at = next(at);
        table_[at] = entry;
    }
    void enlarge_table() {
        std::vector<std::uint32_t> larger(2 * table_.size());
        table_.swap(larger);
        for (std::size_t i = 0; i < keys_.size(); ++i) put(hash_of(keys_[i]), std::uint32_t(i + 1));
    }
    void add_piece() {
        const std::size_t numbers = std::size_t(width_) << shift_;
        std::unique_ptr<float, Free> piece(
            static_cast<float*>(std::calloc(numbers, sizeof(float))));
        if (!piece) throw std::bad_alloc();
        pieces_.push_back(std::move(piece));
    }

    long width_, most_, shift_ = 0;     // a piece of memory has 2^shift slots
    std::vector<std::uint32_t> table_;  // 0: free; else 1 + the number of a slot
    std::vector<std::uint64_t> keys_;   // of each slot
    std::vector<std::unique_ptr<float, Free>> pieces_;
};

}  // namespace MIXABLE_ISA
