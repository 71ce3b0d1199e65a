// mixable._core._cpu: which of the x86-64 levels this machine can run. Compiled for the base line,
// so that it can always be asked.
#define PY_SSIZE_T_CLEAN
#include "cpu.hpp"

#include <Python.h>

namespace {

PyObject* x86_level(PyObject*, PyObject*) { return PyLong_FromLong(x86_level_of_this_machine()); }

PyMethodDef methods[] = {
    {"x86_level", x86_level, METH_NOARGS,
     "The highest x86-64 level of this machine, 1 to 4; 0 if it is no x86-64."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_cpu", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__cpu() { return PyModule_Create(&definition); }
