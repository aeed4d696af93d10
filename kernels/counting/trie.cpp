#include "counting/trie.hpp"

namespace casegraph {
namespace {

// The same steps with the first one highest: sorting by this puts common beginnings together.
PathType first_step_highest(PathType type, const Packing& packing, int max_length) {
  PathType key = 0;
  const int length = packing.length(type);
  for (int place = 0; place < length; ++place)
    key |= packing.step(packing.relation(type, place), max_length - 1 - place);
  return key;
}

}  // namespace

Trie::Trie(std::span<const PathType> types, int max_length, Steps* steps)
    : node_of_type(types.size()) {
  const Packing packing(max_length);
  std::vector<std::pair<PathType, std::size_t>> order(types.size());
  for (std::size_t at = 0; at < types.size(); ++at)
    order[at] = {first_step_highest(types[at], packing, max_length), at};
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    if (steps != nullptr)
      steps->take();
    return a < b;
  });

  nodes.push_back({-1, -1, 0, 0, 0});
  std::int32_t at = 0;  // the node we stand at
  PathType path = 0;    // the steps from the root to it

  // All path types below the node have been added: finish it and go up.
  const auto leave = [&] {
    nodes[at].after = static_cast<std::int32_t>(nodes.size());
    const std::int32_t parent = nodes[at].parent;
    if (parent >= 0) {
      nodes[parent].ahead = std::max(nodes[parent].ahead, nodes[at].ahead + 1);
      path = packing.prefix(path, nodes[parent].length);
    }
    at = parent;
  };

  for (const auto& [key, which] : order) {
    const PathType type = types[which];
    while (packing.prefix(type, nodes[at].length) != path)
      leave();
    for (std::int32_t length = nodes[at].length; length < packing.length(type); ++length) {
      nodes.push_back({packing.relation(type, length), at, 0, length + 1, 0});
      at = static_cast<std::int32_t>(nodes.size()) - 1;
      path = packing.prefix(type, length + 1);
    }
    node_of_type[which] = at;
  }
  while (at >= 0)
    leave();
}

std::vector<std::int32_t> Trie::children_of_root() const {
  std::vector<std::int32_t> children;
  each_child(0, [&](std::int32_t child) { children.push_back(child); });
  return children;
}

}  // namespace casegraph
