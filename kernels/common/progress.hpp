// How a running kernel and its caller communicate: how far it is, and whether it must stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace casegraph {

// Thrown out of a kernel that has to stop.
struct Stopped {};

// Set by one thread to stop what another one computes.
class StopFlag {
 public:
  void set() { is_set_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return is_set_.load(std::memory_order_relaxed); }

  // The flag that kernels called by this thread obey, or null.
  static inline thread_local const StopFlag* of_thread = nullptr;

 private:
  std::atomic<bool> is_set_{false};
};

// One call of a kernel, shared by all of its threads.
//
// There are three ways to stop a kernel. Another thread can write to the second counter, or set the
// `StopFlag` of the calling thread. Or the calling thread finds, when it asks `is_interrupted` now
// and then, that a signal has come: Python handles Ctrl-C on the thread that called, and nowhere
// else.
class Progress {
 public:
  using Question = std::function<bool()>;

  // counters  two numbers, or null: the kernel adds to the first what it has done, and stops when
  //           the second is not 0
  explicit Progress(std::int64_t* counters = nullptr, Question is_interrupted = {})
      : counters_(counters), is_interrupted_(std::move(is_interrupted)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Report that so many more pieces of work are done.
  void done(std::int64_t more) {
    if (counters_ == nullptr)
      return;
    std::atomic_ref(counters_[0]).fetch_add(more, std::memory_order_relaxed);
  }

  // Make all threads of the kernel stop at their next check.
  void stop() { is_stopped_.store(true, std::memory_order_relaxed); }

  // Throw `Stopped` if the kernel must stop.
  void check() {
    if (std::this_thread::get_id() == caller_ && must_stop())
      stop();
    if (is_stopped_.load(std::memory_order_relaxed))
      throw Stopped{};
  }

  // How often to ask the caller. The question takes a microsecond, but up to five milliseconds
  // (Python's switch interval) while another Python thread is busy: a tenth of this time.
  static constexpr std::chrono::milliseconds patience{50};

 private:
  bool must_stop() {
    const bool is_told =
        counters_ != nullptr && std::atomic_ref(counters_[1]).load(std::memory_order_relaxed) != 0;
    if (is_told || (flag_ != nullptr && flag_->is_set()))
      return true;

    if (!is_interrupted_ || std::chrono::steady_clock::now() < next_question_)
      return false;
    const bool is_interrupted = is_interrupted_();
    next_question_ = std::chrono::steady_clock::now() + patience;
    return is_interrupted;
  }

  std::int64_t* const counters_;
  const StopFlag* const flag_ = StopFlag::of_thread;
  const Question is_interrupted_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_question_ =
      std::chrono::steady_clock::now() + patience;
  std::atomic<bool> is_stopped_{false};
};

// Counts the steps of one thread, and checks `Progress` once in many steps.
//
// Every loop that can be long takes steps, so that it can be stopped in the middle.
class Steps {
 public:
  // 2^15 steps of some nanoseconds each: a check every few tenths of a millisecond.
  static constexpr std::int64_t between_checks = 1 << 15;

  explicit Steps(Progress& progress) : progress_(&progress) {}

  void take(std::int64_t steps = 1) {
    if ((left_ -= steps) < 0)
      check();
  }

  void check() {
    left_ = between_checks;
    progress_->check();
  }

  Progress& progress() const { return *progress_; }

 private:
  Progress* progress_;
  std::int64_t left_ = between_checks;
};

}  // namespace casegraph
