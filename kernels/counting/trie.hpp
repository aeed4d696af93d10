// Path types that share their first steps, as a tree: each common beginning is walked once.
#pragma once

#include "common/path_type.hpp"

namespace casegraph {

struct Trie {
  struct Node {
    Id relation;  // of the step that leads here
    std::int32_t parent;
    std::int32_t after;   // the first node that is not below this one: children of i are i + 1,
                          // node(i + 1).after, ...
    std::int32_t length;  // steps from the root
    std::int32_t ahead;   // steps of the longest path type that goes on from here
  };
  std::vector<Node>
      nodes;  // in the order of a walk: a parent before its children; the root is node 0
  std::vector<std::int32_t> node_of_type;  // parallel to the path types given

  Trie(std::span<const PathType> types, int max_length);
};

}  // namespace casegraph
