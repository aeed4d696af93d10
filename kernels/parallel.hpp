// Both cores busy: run `body(thread, task)` for every task, in any order, on up to `threads` threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace casegraph {

// How far a kernel is, and whether it shall stop: two counters in memory that the caller reads and writes while it runs.
class Progress {
 public:
  explicit Progress(std::int64_t* counters = nullptr) : counters_(counters) {}

  void done(std::int64_t more) {
    if (counters_ == nullptr) return;
    std::atomic_ref<std::int64_t>(counters_[0]).fetch_add(more, std::memory_order_relaxed);
    if (std::atomic_ref<std::int64_t>(counters_[1]).load(std::memory_order_relaxed) != 0)
      throw std::runtime_error("interrupted");
  }

 private:
  std::int64_t* counters_;
};

// How many threads are of use for so many tasks; at least one.
inline int useful(int threads, std::size_t tasks) {
  return static_cast<int>(std::clamp<std::size_t>(tasks, 1, static_cast<std::size_t>(std::max(threads, 1))));
}

template <class Body>
void parallel(int threads, std::size_t tasks, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  const auto work = [&](int thread) {
    try {
      for (std::size_t task = next++; task < tasks; task = next++) body(thread, task);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!failure) failure = std::current_exception();
      next = tasks;
    }
  };
  const int helpers = useful(threads, tasks) - 1;
  std::vector<std::thread> pool;
  for (int thread = 1; thread <= helpers; ++thread) pool.emplace_back(work, thread);
  work(0);
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace casegraph
