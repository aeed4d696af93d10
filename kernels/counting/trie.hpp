// Path types as a trie (prefix tree), so that a beginning shared by many of them is walked once.
#pragma once

#include <vector>

#include "common/path_type.hpp"
#include "common/progress.hpp"

namespace casegraph {

// Nodes are in preorder: a parent comes before its children, and everything below a node follows
// it. Node 0 is the root, which stands for no steps. The children of node i are i + 1, then the
// node `after` that one, and so on while they are before nodes[i].after.
struct Trie {
  struct Node {
    Id relation;          // of the step that leads here
    std::int32_t parent;  // -1 for the root
    std::int32_t after;   // the first node that is not below this one
    std::int32_t length;  // steps from the root
    std::int32_t ahead;   // steps of the longest path type that goes on from here
  };
  std::vector<Node> nodes;
  std::vector<std::int32_t> node_of_type;  // parallel to the path types given: where each ends

  // Call `visit(child)` for the children of a node.
  template <class Visit>
  void each_child(std::int32_t node, const Visit& visit) const {
    for (std::int32_t child = node + 1; child < nodes[node].after; child = nodes[child].after)
      visit(child);
  }

  std::vector<std::int32_t> children_of_root() const;

  // steps  null where path types are few
  Trie(std::span<const PathType> types, int max_length, Steps* steps = nullptr);
};

}  // namespace casegraph
