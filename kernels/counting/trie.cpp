#include "counting/trie.hpp"

#include <numeric>

namespace casegraph {

Trie::Trie(std::span<const PathType> types, int max_length) : node_of_type(types.size()) {
  const Packing packing(max_length);
  const auto first_step_highest = [&](PathType type) {
    PathType key = 0;
    for (int place = 0, length = packing.length(type); place < length; ++place)
      key |= packing.step(packing.relation(type, place), max_length - 1 - place);
    return key;
  };
  std::vector<std::pair<PathType, std::size_t>> order(types.size());
  for (std::size_t at = 0; at < types.size(); ++at) order[at] = {first_step_highest(types[at]), at};
  std::sort(order.begin(), order.end());
  nodes.push_back({-1, -1, 0, 0, 0});
  std::int32_t at = 0;
  PathType path = 0;  // what node `at` spells
  const auto leave = [&] {
    nodes[at].after = static_cast<std::int32_t>(nodes.size());
    const std::int32_t parent = nodes[at].parent;
    if (parent >= 0) nodes[parent].ahead = std::max(nodes[parent].ahead, nodes[at].ahead + 1);
    at = parent;
    if (at >= 0) path = packing.prefix(path, nodes[at].length);
  };
  for (const auto& [key, which] : order) {
    const PathType type = types[which];
    while (packing.prefix(type, nodes[at].length) != path) leave();
    for (std::int32_t length = nodes[at].length; length < packing.length(type); ++length) {
      nodes.push_back({packing.relation(type, length), at, 0, length + 1, 0});
      at = static_cast<std::int32_t>(nodes.size()) - 1;
      path = packing.prefix(type, length + 1);
    }
    node_of_type[which] = at;
  }
  while (at >= 0) leave();
}

}  // namespace casegraph
