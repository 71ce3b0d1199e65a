// What was learned as a dictionary of numbers and arrays, and back.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "arrays.hpp"
#include "core/visitor.hpp"

namespace MIXABLE_ISA {

/// Copies everything into a dictionary.
class Saving final : public Visitor {
   public:
    explicit Saving(nb::dict& out) : out_(out) {}
    void operator()(const std::string& name, long& counter) override {
        out_[name.c_str()] = counter;
    }
    void operator()(const std::string& name, double& number) override {
        out_[name.c_str()] = number;
    }
    void operator()(const std::string& name, Buffer& values, long rows, long columns,
                    long stride) override {
        nb::object a = new_array({rows, columns});
        for (long i = 0; i < rows; ++i) copy(values + i * stride, columns, data(a) + i * columns);
        out_[name.c_str()] = a;
    }

   private:
    nb::dict& out_;
};

/// What was learned, in signatures.
struct NamedSaved {
    static constexpr auto name = nb::detail::const_name("dict[str, int | float | NDArray[Any]]");
};
using Saved = As<NamedSaved, nb::dict>;

template <class Core>
nb::dict saved_of(Core& core) {
    nb::dict out;
    Saving saving(out);
    core.visit(saving);
    return out;
}

/// Takes the counters from a dictionary.
class LoadingCounters final : public Visitor {
   public:
    explicit LoadingCounters(const nb::dict& in) : in_(in) {}
    void operator()(const std::string& name, long& counter) override {
        counter = nb::cast<long>(in_[name.c_str()]);
    }
    void operator()(const std::string& name, double& number) override {
        number = nb::cast<double>(in_[name.c_str()]);
    }
    void operator()(const std::string&, Buffer&, long, long, long) override {}

   private:
    const nb::dict& in_;
};

/// Takes the arrays from a dictionary, or only checks that they have the sizes which the counters
/// say, and finite entries.
class LoadingArrays final : public Visitor {
   public:
    LoadingArrays(const nb::dict& in, bool writes, bool may_be_missing = false)
        : in_(in), writes_(writes), may_be_missing_(may_be_missing) {}
    void operator()(const std::string&, long&) override {}
    void operator()(const std::string&, double&) override {}
    void operator()(const std::string& name, Buffer& values, long rows, long columns,
                    long stride) override {
        const nb::object a = in_[name.c_str()];
        const double* p = checked(a, 2);
        if (length(a, 0) != rows || length(a, 1) != columns)
            throw nb::value_error(("the saved " + name + " does not fit this model").c_str());
        const auto is_sound = [this](double x) {
            return std::isfinite(x) || (may_be_missing_ && std::isnan(x));
        };
        if (!std::all_of(p, p + rows * columns, is_sound))
            throw nb::value_error(
                ("the saved " + name + " does not fit: it has entries that are not finite")
                    .c_str());
        if (writes_)
            for (long i = 0; i < rows; ++i) copy(p + i * columns, columns, values + i * stride);
    }

   private:
    const nb::dict& in_;
    bool writes_, may_be_missing_;  // whether NaN is an entry like others
};

template <class Core>
void load(Core& core, const nb::dict& state) {
    LoadingCounters counters(state);
    core.visit(counters);
    LoadingArrays arrays(state, true);
    core.visit(arrays);
}

/// The two verbs of saving. A state that does not fit changes nothing.
template <class Class>
Class& bind_saved(Class& model) {
    using M = typename Class::Type;
    return model.def("state", &M::state, "All that learning has changed; changes nothing.")
        .def("restore", &M::restore, nb::arg("state"),
             "Takes over what state() of one of the same shape returned.");
}

}  // namespace MIXABLE_ISA
