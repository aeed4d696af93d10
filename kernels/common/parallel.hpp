// Loops that run on several threads.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include "common/progress.hpp"

namespace casegraph {

// What one thread alone writes to is aligned to this many bytes, so that no other thread writes to
// the same cache line: they would wait for each other at every write. Processors fetch lines in
// pairs.
constexpr std::size_t own_lines = 128;

// How many threads are of use for so many tasks: at least one, and no more than there are tasks.
inline int useful_threads(int threads, std::size_t tasks) {
  const auto most = static_cast<std::size_t>(std::max(threads, 1));
  return static_cast<int>(std::clamp<std::size_t>(tasks, 1, most));
}

// Wait for a lock that another thread may hold for long, and hear an interrupt meanwhile.
inline std::unique_lock<std::timed_mutex> locked(std::timed_mutex& guard, Steps& steps) {
  std::unique_lock lock(guard, std::defer_lock);
  while (!lock.try_lock_for(Progress::patience))
    steps.check();
  return lock;
}

// Run `body(thread, task)` for every task, in any order, on up to `threads` threads.
//
// The calling thread is thread 0. It hears an interrupt also while it waits for the others. If the
// system gives fewer threads than wanted, those that it gave do all the work. The first exception
// of a task stops all threads and is thrown again here.
template <class Body>
void parallel(int threads, std::size_t tasks, Progress& progress, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;  // of `failure` and `running`
  std::condition_variable finished;
  std::size_t running = 0;  // helper threads

  const auto fail = [&] {
    const std::lock_guard lock(guard);
    if (!failure)
      failure = std::current_exception();
    progress.stop();
  };
  const auto work = [&](int thread) {
    try {
      for (std::size_t task = next++; task < tasks; task = next++) {
        progress.check();
        body(thread, task);
      }
    } catch (...) {
      fail();
    }
  };
  const auto help = [&](int thread) {
    work(thread);
    const std::lock_guard lock(guard);
    --running;
    finished.notify_one();
  };

  // Start the helpers.
  const int helpers = useful_threads(threads, tasks) - 1;
  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(helpers));
  for (int thread = 1; thread <= helpers; ++thread) {
    {
      const std::lock_guard lock(guard);
      ++running;
    }
    try {
      pool.emplace_back(help, thread);
    } catch (...) {  // no thread is to be had, or no memory for one
      const std::lock_guard lock(guard);
      --running;
      break;
    }
  }

  work(0);

  // Wait for the helpers, and listen for an interrupt meanwhile.
  for (std::unique_lock lock(guard); running > 0;) {
    finished.wait_for(lock, Progress::patience);
    lock.unlock();
    try {
      progress.check();
    } catch (...) {
      fail();
    }
    lock.lock();
  }
  for (std::thread& thread : pool)
    thread.join();
  if (failure)
    std::rethrow_exception(failure);
}

// A parallel loop over items that are too small to be a task each: chunks of them are.
class Chunks {
 public:
  Chunks(std::size_t items, std::size_t items_a_chunk)
      : items_(items), items_a_chunk_(items_a_chunk) {}

  std::size_t count() const { return (items_ + items_a_chunk_ - 1) / items_a_chunk_; }

  // How many threads will call `body` of `each`: how many workspaces it needs.
  std::size_t workers(int threads) const {
    return static_cast<std::size_t>(useful_threads(threads, count()));
  }

  // Run `body(thread, begin, end)` for every chunk [begin, end) of the items.
  template <class Body>
  void each(int threads, Progress& progress, const Body& body) const {
    parallel(threads, count(), progress, [&](int thread, std::size_t chunk) {
      const std::size_t begin = chunk * items_a_chunk_;
      const std::size_t end = std::min(items_, begin + items_a_chunk_);
      body(static_cast<std::size_t>(thread), begin, end);
    });
  }

 private:
  std::size_t items_;
  std::size_t items_a_chunk_;
};

}  // namespace casegraph
