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

#include "gil.hpp"

namespace MIXABLE_ISA {

inline nb::object new_array(std::initializer_list<npy_intp> shape, int type = NPY_DOUBLE) {
    PyObject* a = PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp*>(shape.begin()), type);
    if (!a) throw nb::python_error();
    return nb::steal(a);
}

template <class T = double>
T* data(nb::handle array) {
    return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
}

inline bool is_plain(nb::handle x, int type, int ndim) {
    if (!PyArray_CheckExact(x.ptr())) return false;
    auto* a = reinterpret_cast<PyArrayObject*>(x.ptr());
    return PyArray_NDIM(a) == ndim && PyArray_TYPE(a) == type && PyArray_ISCARRAY_RO(a);
}

inline npy_intp length(nb::handle x, int axis = 0) {
    return PyArray_DIM(reinterpret_cast<PyArrayObject*>(x.ptr()), axis);
}

/// An array that the Python side has already checked; anything else is a mistake of ours, not the
/// user's.
inline const double* checked(nb::handle x, int ndim) {
    if (!is_plain(x, NPY_DOUBLE, ndim))
        throw nb::type_error("expected a C-contiguous float64 array");
    return data(x);
}

/// The row of each step of a stream, or -1 - row for a label that comes late.
struct Steps {
    Steps(nb::handle order, long of_rows) : rows(nullptr), n(0) {
        if (!is_plain(order, NPY_LONG, 1)) throw nb::type_error("expected an array of rows");
        rows = data<long>(order);
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
