// Asks for memory ahead of its use.
//
// Problem: lists that lie anywhere in memory are read one after the other, and the start of each
// takes as long to arrive as a hundred additions. Idea: ask for a list some lists ahead.
#pragma once

#include "common/ids.hpp"

namespace casegraph {

// Always inlined, and so must be whatever does nothing but call it: to GCC, such a function has no
// effect, and calls of it are left out.
#if defined(__GNUC__)
#define CASEGRAPH_INLINE [[gnu::always_inline]] inline
#else
#define CASEGRAPH_INLINE inline
#endif

template <class Value>
CASEGRAPH_INLINE void fetch([[maybe_unused]] const Value* where) {
#if defined(__GNUC__)
  __builtin_prefetch(where);
#endif
}

CASEGRAPH_INLINE void fetch(Ids list) {
  fetch(list.data());
}

// The first lines of the cache that a list is in. Of a long list the processor, which sees that it
// is read in order, asks for the others.
CASEGRAPH_INLINE void fetch_start(const Id* list) {
  constexpr int ids_a_line = 16;
  fetch(list);
  fetch(list + ids_a_line);
  fetch(list + 2 * ids_a_line);
}

}  // namespace casegraph
