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

inline void fetch(Ids list) {
#if defined(__GNUC__)
  constexpr std::size_t ids_of_line = 64 / sizeof(Id);
  constexpr std::size_t few_lines = 4;
  const std::size_t end = std::min(list.size(), few_lines * ids_of_line);
  for (std::size_t at = 0; at < end; at += ids_of_line)
    __builtin_prefetch(&list[at]);
#else
  static_cast<void>(list);
#endif
}

}  // namespace casegraph
