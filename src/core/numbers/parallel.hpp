// Independent pieces of work on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace MIXABLE_ISA {

/// Threads that share the work of the one that made them, for the time of a call. While it lives,
/// `in_parallel` uses it. It does nothing where there is a crew already, nor with one thread.
class Crew {
   public:
    explicit Crew(long threads) {
        if (current() || is_at_work() || threads < 2) return;
        threads = std::min(threads, most_threads);
        others_.reserve(std::size_t(threads - 1));
        try {
            for (long i = 1; i < threads; ++i) others_.emplace_back([this] { serve(); });
            // The system has no more threads to give: do with those at hand.
        } catch (const std::system_error&) {
        }
        current() = this;
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() {
        if (current() != this) return;
        current() = nullptr;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            over_ = true;
        }
        call_.notify_all();
        for (std::thread& other : others_) other.join();
    }

    /// The crew of this thread, if there is one with nothing to do.
    static Crew* idle() { return is_at_work() ? nullptr : current(); }

    /// f(i) for every i < n. The first error is thrown once all have finished.
    void share(std::size_t n, const std::function<void(std::size_t)>& f) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            job_ = &f;
            end_ = n;
            next_ = 0;
            failure_ = nullptr;
            busy_ = others_.size();
            ++round_;
        }
        call_.notify_all();
        is_at_work() = true;
        work();
        is_at_work() = false;
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
        if (failure_) std::rethrow_exception(failure_);
    }

   private:
    static constexpr long most_threads = 64;

    static Crew*& current() {
        thread_local Crew* crew = nullptr;
        return crew;
    }
    /// Whether this thread does a piece of a crew's work; what is within it is not shared again.
    static bool& is_at_work() {
        thread_local bool at_work = false;
        return at_work;
    }

    void work() {
        for (std::size_t i; (i = next_.fetch_add(1)) < end_;) try {
                (*job_)(i);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(mutex_);
                if (!failure_) failure_ = std::current_exception();
            }
    }
    void serve() {
        is_at_work() = true;
        std::unique_lock<std::mutex> lock(mutex_);
        for (std::size_t seen = 0;;) {
            call_.wait(lock, [&] { return over_ || round_ != seen; });
            if (over_) return;
            seen = round_;
            lock.unlock();
            work();
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::vector<std::thread> others_;
    std::mutex mutex_;
    std::condition_variable call_, done_;
    const std::function<void(std::size_t)>* job_ = nullptr;
    std::atomic<std::size_t> next_{0};
    std::size_t end_ = 0, busy_ = 0, round_ = 0;
    std::exception_ptr failure_;
    bool over_ = false;
};

/// f(i, part) for every i < n and part < parts, for each i in the order of the parts; then g(part),
/// in their order too, once all f(i, part) are done. By the crew of this thread, if it has one with
/// nothing to do. After an error no more is begun.
template <class F, class G>
void in_parallel(long n, long parts, F&& f, G&& g) {
    Crew* crew = n > 1 ? Crew::idle() : nullptr;
    if (!crew) {
        for (long i = 0; i < n; ++i)
            for (long part = 0; part < parts; ++part) f(i, part);
        for (long part = 0; part < parts; ++part) g(part);
        return;
    }
    std::mutex mutex;
    std::condition_variable progress;
    std::vector<long> done(std::size_t(n + 1));  // parts that are finished; g's are the last
    bool failed = false;
    const auto lane = [&](long i) -> long& { return done[std::size_t(i)]; };
    // Tasks are begun in this order: f of a part, then g of the part before.
    crew->share(std::size_t((n + 1) * (parts + 1)), [&](std::size_t task) {
        const long i = long(task) % (n + 1), part = long(task) / (n + 1) - (i == n ? 1 : 0);
        if (part < 0 || part == parts) return;
        std::unique_lock<std::mutex> lock(mutex);
        progress.wait(lock, [&] {
            const bool first = lane(i) == part;
            return failed ||
                   (first &&
                    (i < n ||
                     std::all_of(done.begin(), done.end() - 1, [&](long d) { return d > part; })));
        });
        if (failed) return;
        lock.unlock();
        try {
            i < n ? f(i, part) : g(part);
        } catch (...) {
            lock.lock();
            failed = true;
            progress.notify_all();
            throw;
        }
        lock.lock();
        ++lane(i);
        progress.notify_all();
    });
}
template <class F>
void in_parallel(long n, long parts, F&& f) {
    in_parallel(n, parts, f, [](long) {});
}

}  // namespace MIXABLE_ISA
