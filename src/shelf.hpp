// Models in memory by key, for a bank of many. When a key is found, so is where its model is: that
// is asked for before anything of it is read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model.hpp"

namespace MIXABLE_ISA {

class Shelf {
   public:
    /// The forecast of a key's model; None if there is none.
    nb::object predict(nb::handle key, nb::handle x) {
        const Found found = find(Key(key));
        if (!found.place) return nb::none();
        const nb::object own = found.place->model;  // it may be taken away meanwhile
        return found.place->core->forecast(x, found.is_far);
    }

    /// Whether there is a model, which has learned then.
    bool learn(nb::handle key, nb::handle x, nb::handle y, nb::handle weight) {
        const Found found = find(Key(key));
        if (!found.place) return false;
        const nb::object own = found.place->model;
        found.place->is_changed = true;
        found.place->core->step(x, y, weight, found.is_far);
        return true;
    }

    /// Keys of another kind have no place here.
    void put(nb::handle key_, nb::object model) {
        const Key key(key_);
        auto* core = nb::cast<Model<long>*>(model);
        if (!key.is_known) return;
        remove(key);
        if (2 * (size_ + 1) > places_.size()) grow();
        insert({key.code, nb::borrow(key.text), std::move(model), core, core->block(), false});
    }

    /// Whether what was dropped has learned since `changed` was asked.
    bool drop(nb::handle key) { return remove(Key(key)); }

    /// Keys of models that have learned since they came, or since this was asked last.
    nb::list changed() {
        nb::list out;
        for (Place& place : places_)
            if (std::exchange(place.is_changed, false))
                out.append(place.text ? place.text : nb::object(nb::int_(long(place.code))));
        return out;
    }

    void clear() {
        std::vector<Place, OnLargePages<Place>> gone;
        gone.swap(places_);
        size_ = 0;
    }

    std::size_t size() const { return size_; }

   private:
    /// An integer, or a text with its hash.
    struct Key {
        explicit Key(nb::handle key) {
            if (PyLong_CheckExact(key.ptr())) {
                int overflow = 0;
                code = std::uint64_t(PyLong_AsLongLongAndOverflow(key.ptr(), &overflow));
                is_known = overflow == 0;
            } else if (PyUnicode_CheckExact(key.ptr())) {
                code = std::uint64_t(PyObject_Hash(key.ptr()));
                text = key;
                is_known = true;
            }
        }
        std::uint64_t code = 0;
        nb::handle text;
        bool is_known = false;
    };

    struct alignas(64) Place {
        std::uint64_t code = 0;
        nb::object text, model;  // no model: the place is free
        Model<long>* core = nullptr;
        Block block;  // of the core, which would have to be fetched to say so
        bool is_changed = false;
    };
    static_assert(sizeof(Place) == 64);

    struct Found {
        Place* place;
        bool is_far;  // and was asked for
    };

    std::size_t begin_of(std::uint64_t code) const {
        return std::size_t(code * 0x9e3779b97f4a7c15 >> shift_);
    }
    std::size_t after(std::size_t i) const { return (i + 1) & (places_.size() - 1); }

    Found find(const Key& key) {
        if (!key.is_known || size_ == 0) return {nullptr, false};
        for (std::size_t i = begin_of(key.code); places_[i].model; i = after(i)) {
            Place& place = places_[i];
            if (place.code != key.code || bool(place.text) != bool(key.text)) continue;
            const bool is_far = place.core->is_far();  // its address says so
            if (is_far) {
                fetch_memory(place.model.ptr(), sizeof(Model<long>) + 64);  // and Python's head
                place.block.fetch(0);
            }
            if (is_same(place, key)) return {&place, is_far};
        }
        return {nullptr, false};
    }

    static bool is_same(const Place& place, const Key& key) {
        return place.text.is(key.text) || PyUnicode_Compare(place.text.ptr(), key.text.ptr()) == 0;
    }

    void insert(Place&& place) {
        std::size_t i = begin_of(place.code);
        while (places_[i].model) i = after(i);
        places_[i] = std::move(place);
        ++size_;
    }

    /// Whether there was one that has learned.
    bool remove(const Key& key) {
        const Found found = find(key);
        if (!found.place) return false;
        const Place gone = std::exchange(*found.place, Place());
        --size_;
        // Those behind it may have been kept from their places by it.
        for (std::size_t i = after(std::size_t(found.place - places_.data())); places_[i].model;
             i = after(i)) {
            Place moved = std::exchange(places_[i], Place());
            --size_;
            insert(std::move(moved));
        }
        return gone.is_changed;
    }

    void grow() {
        std::vector<Place, OnLargePages<Place>> before(
            std::max<std::size_t>(8, 2 * places_.size()));
        before.swap(places_);
        size_ = 0;
        for (shift_ = 64; std::size_t(1) << (64 - shift_) < places_.size();) --shift_;
        for (Place& place : before)
            if (place.model) insert(std::move(place));
    }

    std::vector<Place, OnLargePages<Place>>
        places_;  // their number is a power of two, and half are free
    std::size_t size_ = 0;
    int shift_ = 64;
};

}  // namespace MIXABLE_ISA
