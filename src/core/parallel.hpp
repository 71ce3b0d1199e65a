// Independent pieces of work on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace MIXABLE_ISA {

/// f(i, first, end) for every i < n, over `count` rows in order; with several threads in two
/// halves, so that all have as much to do. The first error is thrown once all have finished.
template <class F>
void in_parallel(long most_threads, std::size_t n, long count, F&& f) {
    const std::size_t threads = std::min(std::size_t(most_threads), n), parts = threads > 1 ? 2 : 1;
    std::atomic<std::size_t> next{0};
    std::vector<std::atomic<std::size_t>> done(n);  // parts that are finished
    std::vector<std::exception_ptr> failed(std::max(threads, std::size_t(1)));
    const auto work = [&](std::size_t who) {
        for (std::size_t task; (task = next.fetch_add(1)) < n * parts;) {
            const std::size_t i = task % n, part = task / n;
            while (done[i].load(std::memory_order_acquire) < part) std::this_thread::yield();
            try {
                f(i, count * long(part) / long(parts), count * long(part + 1) / long(parts));
            } catch (...) {
                failed[who] = std::current_exception();
            }
            done[i].store(part + 1, std::memory_order_release);
        }
    };
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
        for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work, i);
        // The system has no more threads to give: do with those at hand.
    } catch (const std::system_error&) {
    }
    work(0);
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& failure : failed)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace MIXABLE_ISA
