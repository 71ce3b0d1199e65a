// Arrays of NumPy. Only the common case is recognised here (plain float64 arrays); what an argument
// may be is decided in mixable/_validate.py.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
// One table of NumPy's functions for all translation units; bindings.cpp fills it.
#define PY_ARRAY_UNIQUE_SYMBOL mixable_numpy
#ifndef MIXABLE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "gil.hpp"

namespace MIXABLE_ISA {

/// NumPy's number for a type.
template <class T>
constexpr int type_of() {
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? NPY_FLOAT : NPY_DOUBLE;
    if constexpr (std::is_same_v<T, bool>) return NPY_BOOL;
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? NPY_INT8 : NPY_UINT8;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? NPY_INT32 : NPY_UINT32;
    return std::is_signed_v<T> ? NPY_INT64 : NPY_UINT64;
}

/// The name of an array of a type in signatures.
template <class T>
constexpr auto name_of() {
    using nb::detail::const_name;
    if constexpr (std::is_same_v<T, bool>)
        return const_name("NDArray[np.bool_]");
    else if constexpr (std::is_same_v<T, double>)
        return const_name("NDArray[np.float64]");
    else if constexpr (std::is_same_v<T, float>)
        return const_name("NDArray[np.float32]");
    else if constexpr (sizeof(T) == 1)
        return const_name("NDArray[np.int8]");
    else if constexpr (std::is_signed_v<T>)
        return const_name("NDArray[np.int64]");
    else
        return const_name("NDArray[np.uint64]");
}

/// An object of Python that signatures call by the name of a type. Of arrays Python asks nothing:
/// `checked` does.
template <class Named, class Base = nb::object>
class As : public Base {
   public:
    static constexpr auto Name = Named::name;
    static bool check_(nb::handle h) { return nb::isinstance<Base>(h); }
    As(Base value) : Base(std::move(value)) {}
    As(nb::handle h, nb::detail::borrow_t borrow) : Base(h, borrow) {}
    As(nb::handle h, nb::detail::steal_t steal) : Base(h, steal) {}
};

template <class T>
struct NamedArray {
    static constexpr auto name = name_of<T>();
};
template <class T = double>
using Array = As<NamedArray<T>>;

template <class... T>
using Tuple = nb::typed<nb::tuple, T...>;

/// A new array of this shape, whose entries are not set yet.
template <class T = double>
Array<T> new_array(std::initializer_list<npy_intp> shape) {
    const int n = int(shape.size());
    PyObject* a = PyArray_SimpleNew(n, const_cast<npy_intp*>(shape.begin()), type_of<T>());
    if (!a) throw nb::python_error();
    return nb::steal(a);
}

template <class T = double>
T* data(nb::handle array) {
    return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
}

template <class T = double>
bool is_plain(nb::handle x, int ndim) {
    if (!PyArray_CheckExact(x.ptr())) return false;
    auto* a = reinterpret_cast<PyArrayObject*>(x.ptr());
    return PyArray_NDIM(a) == ndim && PyArray_TYPE(a) == type_of<T>() && PyArray_ISCARRAY_RO(a);
}

inline npy_intp length(nb::handle x, int axis = 0) {
    return PyArray_DIM(reinterpret_cast<PyArrayObject*>(x.ptr()), axis);
}

/// An array that the Python side has already checked; anything else is a mistake of ours, not the
/// user's.
template <class T = double>
const T* checked(nb::handle x, int ndim = 1) {
    if (!is_plain<T>(x, ndim))
        throw nb::type_error((std::string("expected a C-contiguous ") + name_of<T>().text).c_str());
    return data<T>(x);
}

template <class T, class Value>
Array<T> array_of(const std::vector<Value>& values, std::initializer_list<npy_intp> shape) {
    Array<T> out = new_array<T>(shape);
    std::copy(values.begin(), values.end(), data<T>(out));
    return out;
}
template <class T>
Array<T> array_of(const std::vector<T>& values) {
    return array_of<T>(values, {npy_intp(values.size())});
}

/// The row of each step of a stream, or -1 - row for a label that comes late.
struct Steps {
    Steps(nb::handle order, long of_rows) : rows(nullptr), n(0) {
        rows = checked<long>(order);
        n = length(order);
        for (long t = 0; t < n; ++t)
            if (row(t) >= of_rows) throw nb::value_error("there is no such row");
    }
    bool is_late(long t) const { return rows[t] < 0; }
    long row(long t) const { return is_late(t) ? -1 - rows[t] : rows[t]; }

    const long* rows;
    long n;
};

/// What mixable._validate says of arguments that are not of the common kind.
template <class... Arguments>
nb::object validated(const char* what, Arguments... arguments) {
    return outliving(
        [&] { return nb::module_::import_("mixable._validate").attr(what)(arguments...); });
}

}  // namespace MIXABLE_ISA
