// What is learned of the features of sparse rows: a slot for each, one for the intercept, and the
// scale of their values.
#pragma once

#include "sparse_row.hpp"
#include "sparse_slot.hpp"

namespace MIXABLE_ISA {

class SparseTable {
   public:
    /// At most `most` features have slots of their own.
    SparseTable(SlotShape shape, long most)
        : shape(shape),
          slots_(shape.width(), most),
          bias_(std::size_t(shape.width())),
          zero_(std::size_t(shape.width())) {}

    const SlotShape shape;
    ActiveFeatures active;  // of the row that was located last

    long features() const { return slots_.size(); }
    long most_features() const { return slots_.most(); }
    /// How often a feature that was learned had to share the slot of another.
    long collisions() const { return collisions_; }
    double bytes() const { return slots_.bytes(); }
    const SparseScale& scale() const { return scale_; }

    const std::uint64_t* keys() const { return slots_.keys(); }
    const float* intercept() const { return bias_.data(); }
    /// The slot that a key is read from.
    const float* slot(std::uint64_t key) const {
        long i = slots_.find(key, hash_of(key));
        if (i < 0 && slots_.is_full()) i = slots_.shared(hash_of(key));
        return i < 0 ? zero_.data() : slots_.slot(i);
    }
    /// Calls f with each slot, that of the intercept first.
    template <class F>
    void each(F&& f) {
        f(bias_.data());
        for (long i = 0; i < features(); ++i) f(slots_.slot(i));
    }

    /// Notes the size of a row that is to be learned; returns whether all was forgotten because
    /// the scale has changed.
    bool note(const SparseRow& row) {
        if (!scale_.note(row)) return false;
        slots_.clear();
        collisions_ = 0;
        std::fill(bias_.begin(), bias_.end(), 0.0f);
        return true;
    }

    /// Fills `active`: the intercept, then each key of the row once, with its slot. What has none
    /// gets one if it is to be learned, and otherwise is read as it would be then.
    void locate(const SparseRow& row, bool learns) {
        active.set(row, scale_.factor(), bias_.data());
        for (std::size_t i = 1; i < active.size(); ++i) slots_.touch(active[i].hash);
        for (std::size_t i = 1; i < active.size(); ++i) slots_.peek(active[i].hash);
        long size = slots_.size();
        for (std::size_t i = 1; i < active.size(); ++i) {
            Active& each = active[i];
            long at = slots_.find(each.key, each.hash);
            if (at < 0 && size < slots_.most()) {
                at = learns ? slots_.add(each.key, each.hash) : size;
                ++size;
            } else if (at < 0) {
                at = slots_.shared(each.hash);
                if (learns) ++collisions_;
            }
            each.slot = at < slots_.size() ? slots_.slot(at) : zero_.data();
            slots_.ask_for(each.slot);
        }
    }

    /// Takes over one of at most as many classes.
    void adopt(const SparseTable& other) {
        collisions_ = other.collisions_;
        scale_.adopt(other.scale_);
        shape.adopt(other.shape, other.bias_.data(), bias_.data());
        slots_.clear();
        for (long i = 0; i < other.features(); ++i) {
            const std::uint64_t key = other.keys()[i];
            shape.adopt(other.shape, other.slots_.slot(i),
                        slots_.slot(slots_.add(key, hash_of(key))));
        }
        slots_.set_most(slots_.most());
    }

    /// The slots (features + 1, width), that of the intercept first.
    void copy_slots(float* out) const {
        const long width = shape.width();
        std::copy(bias_.begin(), bias_.end(), out);
        for (long i = 0; i < features(); ++i)
            std::copy_n(slots_.slot(i), width, out + (i + 1) * width);
    }
    /// Takes over saved slots; false if they cannot be some that learning made.
    bool restore_slots(const std::uint64_t* keys, const float* values, long n) {
        const long width = shape.width();
        slots_.clear();
        for (long i = 0; i <= n; ++i)
            if (!shape.is_sound(values + i * width)) return false;
        std::copy_n(values, width, bias_.data());
        for (long i = 0; i < n; ++i) {
            const std::uint64_t hash = hash_of(keys[i]);
            if (slots_.find(keys[i], hash) >= 0) return false;
            std::copy_n(values + (i + 1) * width, width, slots_.slot(slots_.add(keys[i], hash)));
        }
        slots_.set_most(slots_.most());
        return true;
    }
    /// Everything but the slots.
    void visit(Visitor& visitor) {
        visitor("collisions", collisions_);
        scale_.visit(visitor);
    }
    /// Whether what was read from a file, slots included, makes sense.
    bool is_valid() const {
        return collisions_ >= 0 && (collisions_ == 0 || slots_.is_full()) && scale_.is_valid();
    }

   private:
    Slots slots_;
    std::vector<float> bias_, zero_;
    SparseScale scale_;
    long collisions_ = 0;
};

}  // namespace MIXABLE_ISA
