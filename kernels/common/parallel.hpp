// All cores busy: run `body(thread, task)` for every task, in any order, on up to `threads`
// threads.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <vector>

#include "common/progress.hpp"

namespace casegraph {

// How many threads are of use for so many tasks; at least one.
inline int useful(int threads, std::size_t tasks) {
  return static_cast<int>(
      std::clamp<std::size_t>(tasks, 1, static_cast<std::size_t>(std::max(threads, 1))));
}

// The calling thread is thread 0, and hears an interrupt also while it waits for the others. If the
// system has no more threads to give, those that it gave do all the work. The first exception of a
// task stops the others and is thrown again.
template <class Body>
void parallel(int threads, std::size_t tasks, Progress& progress, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  std::condition_variable finished;
  std::size_t running = 0;  // helpers
  const auto fail = [&] {
    const std::lock_guard lock(guard);
    if (!failure) failure = std::current_exception();
    progress.stop();
  };
  const auto work = [&](int thread) {
    try {
      for (std::size_t task = next++; task < tasks; task = next++) {
        progress.look();
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
  const int helpers = useful(threads, tasks) - 1;
  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(helpers));
  for (int thread = 1; thread <= helpers; ++thread) {
    {
      const std::lock_guard lock(guard);
      ++running;
    }
    try {
      pool.emplace_back(help, thread);
    } catch (const std::system_error&) {
      const std::lock_guard lock(guard);
      --running;
      break;
    }
  }
  work(0);
  for (std::unique_lock lock(guard); running > 0;) {
    finished.wait_for(lock, Progress::patience);
    lock.unlock();
    try {
      progress.look();
    } catch (...) {
      fail();
    }
    lock.lock();
  }
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace casegraph
