// Asks for memory ahead of its use.
//
// Problem: lists that lie anywhere in memory are read one after the other, and the start of each
// takes as long to arrive as a hundred additions. Idea: ask for a list some lists ahead.
#pragma once

#include "common/ids.hpp"

namespace casegraph {

inline void fetch(Ids list) {
#if defined(__GNUC__)
  __builtin_prefetch(list.data());
#else
  static_cast<void>(list);
#endif
}

}  // namespace casegraph
