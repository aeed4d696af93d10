// How a kernel and its caller speak while it runs: how far it is, and whether it shall stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace casegraph {

// Thrown out of a kernel that was told to stop.
struct Stopped {};

// One call of a kernel, which all of its threads share.
//
// A kernel can be stopped in two ways. Another thread writes to the second counter. Or the calling
// thread, now and then, asks `is_interrupted`: a Ctrl-C is heard on the thread that called, and
// nowhere else.
class Progress {
 public:
  using Question = std::function<bool()>;

  // counters  what is done, which the kernel writes, and whether to stop, which it reads; none if
  // nobody looks
  explicit Progress(std::int64_t* counters = nullptr, Question is_interrupted = {})
      : counters_(counters), is_interrupted_(std::move(is_interrupted)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // So many more pieces of the work are done.
  void done(std::int64_t more) {
    if (counters_ != nullptr)
      std::atomic_ref(counters_[0]).fetch_add(more, std::memory_order_relaxed);
  }

  // Let all threads of the kernel stop.
  void stop() { is_stopped_.store(true, std::memory_order_relaxed); }

  // Throw `Stopped` if the kernel shall stop.
  void look() {
    if (std::this_thread::get_id() == caller_ && is_told_to_stop()) stop();
    if (is_stopped_.load(std::memory_order_relaxed)) throw Stopped{};
  }

  // How long the caller may go unheard. Asking takes a microsecond, or, while another thread of
  // Python is busy, its turn of five milliseconds: a tenth of this.
  static constexpr std::chrono::milliseconds patience{50};

 private:
  bool is_told_to_stop() {
    if (counters_ != nullptr && std::atomic_ref(counters_[1]).load(std::memory_order_relaxed) != 0)
      return true;
    const auto now = std::chrono::steady_clock::now();
    if (!is_interrupted_ || now < next_question_) return false;
    const bool answer = is_interrupted_();
    next_question_ = std::chrono::steady_clock::now() + patience;
    return answer;
  }

  std::int64_t* const counters_;
  const Question is_interrupted_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_question_ =
      std::chrono::steady_clock::now() + patience;
  std::atomic<bool> is_stopped_{false};
};

// The steps that one thread of a kernel takes. Every loop that can be long counts them, and so can
// be stopped in the middle.
class Steps {
 public:
  static constexpr std::int64_t between_looks = 1 << 15;  // some tenths of a millisecond

  explicit Steps(Progress& progress) : progress_(&progress) {}

  void take(std::int64_t steps = 1) {
    if ((left_ -= steps) < 0) look();
  }
  void look() {
    left_ = between_looks;
    progress_->look();
  }

 private:
  Progress* progress_;
  std::int64_t left_ = between_looks;
};

}  // namespace casegraph
