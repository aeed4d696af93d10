// A vector that asks for large pages of memory if it is large.
//
// Problem: before the processor can look at any place in memory, it has to find the page that the
// place is on. It remembers some thousand pages (the TLB), of four kilobytes each as a rule, so
// going through a large array at random spends much of its time finding pages. Idea: pages of two
// megabytes. Linux gives them to whoever asks (transparent huge pages), and NumPy asks for them,
// too. Elsewhere, and where it is not large, this is an ordinary vector.
#pragma once

#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace casegraph {

template <class T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(std::size_t count) {
    if (!is_large(count))
      return std::allocator<T>().allocate(count);
    void* const memory = ::operator new(count * sizeof(T), page);
#if defined(MADV_HUGEPAGE)
    madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // if it fails, pages are small
#endif
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (is_large(count))
      ::operator delete(memory, page);
    else
      std::allocator<T>().deallocate(memory, count);
  }

  bool operator==(const LargeAllocator&) const { return true; }

 private:
  static constexpr std::align_val_t page{1 << 21};
  static bool is_large(std::size_t count) {
    return count >= static_cast<std::size_t>(page) / sizeof(T);
  }
};

template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace casegraph
