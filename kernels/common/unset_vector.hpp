// A vector whose new elements are not set to zero: for large arrays that are written in full right
// away. Their memory is then touched once instead of twice, and by the threads that fill it.
#pragma once

#include <vector>

#include "common/large_vector.hpp"

namespace casegraph {

template <class T>
struct UnsetAllocator : LargeAllocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };

  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace casegraph
