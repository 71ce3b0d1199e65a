// The fallback of a model against two threads at once.
#pragma once

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "blas_threads.hpp"
#include "gil.hpp"

namespace MIXABLE_ISA {

/// What a call does with a model.
enum class Job { predict, other };

/// What is used by one call at a time: each call has a `Use` while it lasts.
class OneUser {
   public:
    /// Forecasts wait for each other; everything else needs the model to itself.
    struct Use {
        explicit Use(OneUser& model, Job job = Job::other)
            : model(model), one_blas_thread_(model.wants_one_blas_thread_) {
            const std::thread::id me = std::this_thread::get_id();
            // No other thread comes between, also where Python has no lock.
            for (std::thread::id user;
                 !model.user_.compare_exchange_strong(user, me, std::memory_order_acquire);
                 user = std::thread::id()) {
                if (user == me)  // it would wait for itself
                    throw std::runtime_error(
                        "this model is being used by the call that is under way: neither its "
                        "arguments nor a signal handler may use it");
                if (job == Job::other || !model.predicts_ ||
                    is_shutting_down())  // then the user may have been stopped for ever
                    throw std::runtime_error(
                        "this model is being used by another thread; it learns in one thread at a "
                        "time, and predicts meanwhile in none");
                {
                    WithoutGil without_gil;
                    std::this_thread::sleep_for(std::chrono::microseconds(20));
                }
                if (PyErr_CheckSignals()) throw nb::python_error();
            }
            model.predicts_.store(job == Job::predict, std::memory_order_relaxed);
        }
        ~Use() {
            model.predicts_.store(true, std::memory_order_relaxed);
            model.user_.store({}, std::memory_order_release);
        }
        OneUser& model;

       private:
        const BlasThreads::One one_blas_thread_;
    };

   protected:
    explicit OneUser(bool wants_one_blas_thread = false)
        : wants_one_blas_thread_(wants_one_blas_thread) {}

   private:
    const bool wants_one_blas_thread_;
    std::atomic<std::thread::id> user_{};  // the thread in a call of this model, if there is one
    // What it does; until it has said so, others wait a moment.
    std::atomic<bool> predicts_{true};
};

}  // namespace MIXABLE_ISA
