// Leaving Python and coming back, also while the interpreter shuts down: a daemon thread that then
// asks for the GIL is ended by pthread_exit (Python 3.13 and before), whose unwinding must not meet
// a destructor; from 3.14 on, Python itself lets such threads stand still.
#pragma once

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace nb = nanobind;

namespace MIXABLE_ISA {

/// Python is asked, since its stable ABI has no such function before 3.13.
inline bool is_shutting_down() {
    PyObject* asked = PySys_GetObject("is_finalizing");
    const nb::object said = nb::steal(asked ? PyObject_CallNoArgs(asked) : nullptr);
    PyErr_Clear();
    return said.ptr() != Py_False;
}

[[noreturn]] inline void stand_still() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// f(), which may run Python code. All our errors are std::exception; what is not is pthread_exit,
/// on its way through the frames: the thread stops here, and leaves to the process to end it.
template <class F>
decltype(auto) outliving(F&& f) {
    try {
        return f();
    } catch (const std::exception&) {
        throw;
    } catch (...) {
        stand_still();
    }
}

/// Without the GIL while it lives.
class WithoutGil {
   public:
    WithoutGil() {
        ++at_work();
        state_ = PyEval_SaveThread();
    }
    ~WithoutGil() {
        --at_work();
        outliving([this] { PyEval_RestoreThread(state_); });
    }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

    /// At the end of Python, the threads that are still at work finish before libraries such as
    /// BLAS are taken down. None can begin anew, since that needs the GIL. A forked process has
    /// none.
    static void wait_for_all_at_exit() {
        pthread_atfork(nullptr, nullptr, [] { at_work() = 0; });
        Py_AtExit([] {  // if its 32 places are taken, the risk stays
            while (at_work()) std::this_thread::sleep_for(std::chrono::microseconds(100));
        });
    }

   private:
    static std::atomic<long>& at_work() {
        static std::atomic<long> count{0};
        return count;
    }
    PyThreadState* state_;
};

}  // namespace MIXABLE_ISA
