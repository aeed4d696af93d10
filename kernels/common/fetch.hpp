// Asks for memory ahead of its use.
//
// Problem: lists that lie anywhere in memory are read one after the other, and the start of each
// takes as long to arrive as a hundred additions. Idea: ask for a list some lists ahead.
//
// Memory comes in lines. Once some lines of a list were read one after the other, the processor
// asks for the next ones by itself, so only the first few are asked for here.
#pragma once

#include <algorithm>

#include "common/ids.hpp"

namespace casegraph {

// Always inlined, and so must be whatever does nothing but call it: to GCC, such a function has no
// effect, and calls of it are left out.
#if defined(__GNUC__)
#define CASEGRAPH_INLINE [[gnu::always_inline]] inline
#else
#define CASEGRAPH_INLINE inline
#endif

constexpr std::size_t ids_a_line = 64 / sizeof(Id);

template <class Value>
CASEGRAPH_INLINE void fetch([[maybe_unused]] const Value* where) {
#if defined(__GNUC__)
  __builtin_prefetch(where);
#endif
}

// The first lines of a list, or all of a short one.
CASEGRAPH_INLINE void fetch(Ids list) {
  constexpr std::size_t few_lines = 4;
  const std::size_t end = std::min(list.size(), few_lines * ids_a_line);
  for (std::size_t at = 0; at < end; at += ids_a_line)
    fetch(&list[at]);
}

// The same of a list that is not short, or may be read beyond its end.
CASEGRAPH_INLINE void fetch_start(const Id* list) {
  fetch(list);
  fetch(list + ids_a_line);
  fetch(list + 2 * ids_a_line);
}

}  // namespace casegraph
