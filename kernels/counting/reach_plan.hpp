// All path types in use, as one tree, and which uses end where.
#pragma once

#include <array>
#include <numeric>

#include "counting/reach.hpp"
#include "counting/trie.hpp"

namespace casegraph {

// Which relations occur, to within a remainder: enough to see that a branch holds nothing for an
// entity.
using Signature = std::array<std::uint64_t, 8>;

inline void mark(Signature& signature, Id relation) {
  signature[(relation >> 6) & 7] |= std::uint64_t{1} << (relation & 63);
}

inline bool meet(const Signature& a, const Signature& b) {
  std::uint64_t common = 0;
  for (std::size_t word = 0; word < a.size(); ++word) common |= a[word] & b[word];
  return common != 0;
}

// The tree of all path types in use, with the uses that end at each node.
struct Plan {
  Plan(std::span<const Use> given, std::span<const Count> most, int max_length)
      : uses(given), widest(most), trie(types(given), max_length) {
    first_use.assign(trie.nodes.size() + 1, 0);
    for (std::int32_t node : trie.node_of_type) ++first_use[node + 1];
    std::partial_sum(first_use.begin(), first_use.end(), first_use.begin());
    by_node.resize(uses.size());
    std::vector<std::int32_t> next(first_use.begin(), first_use.end() - 1);
    below.resize(trie.nodes.size());
    for (std::size_t use = 0; use < uses.size(); ++use) {
      by_node[next[trie.node_of_type[use]]++] = static_cast<std::int32_t>(use);
      mark(below[trie.node_of_type[use]], uses[use].relation);
    }
    if (!widest.empty()) find_widths();
    for (std::size_t node = trie.nodes.size() - 1; node > 0; --node)
      for (std::size_t word = 0; word < below[node].size(); ++word)
        below[trie.nodes[node].parent][word] |= below[node][word];
  }
  // How many edges a step may follow for a use: the last one only counts them.
  Count room(std::int32_t use, std::int32_t node) const {
    if (trie.node_of_type[use] != node) return widest[use];
    return widest[use] > INT64_MAX / last_is_wider ? INT64_MAX : last_is_wider * widest[use];
  }
  static std::vector<PathType> types(std::span<const Use> uses) {
    std::vector<PathType> types;
    for (const Use& use : uses) types.push_back(use.type);
    return types;
  }
  std::span<const std::int32_t> at(std::int32_t node) const {
    return std::span(by_node).subspan(first_use[node], first_use[node + 1] - first_use[node]);
  }

  // The uses of a node and of all below it.
  std::span<const std::int32_t> at_or_below(std::int32_t node) const {
    return std::span(by_node).subspan(first_use[node],
                                      first_use[trie.nodes[node].after] - first_use[node]);
  }

  const std::span<const Use> uses;
  const std::span<const Count> widest;
  const Trie trie;
  std::vector<std::int32_t> first_use, by_node;
  std::vector<Signature> below;            // the relations whose uses end at or below a node
  std::vector<Count> narrowest, broadest;  // of what the uses at or below a node allow for its
                                           // step; empty if they allow anything
  std::vector<Count> onward;               // the most that the uses below a node allow for its step

 private:
  void find_widths() {
    std::vector<Count> least(trie.nodes.size(), INT64_MAX),
        most(trie.nodes.size());  // for steps that go on
    narrowest = least;
    broadest = onward = most;
    const auto allow = [](std::vector<Count>& low, std::vector<Count>& high, std::int32_t node,
                          Count from, Count to) {
      low[node] = std::min(low[node], from);
      high[node] = std::max(high[node], to);
    };
    for (std::int32_t use = 0; use < std::ssize(widest); ++use) {
      const std::int32_t node = trie.node_of_type[use];
      allow(least, most, node, widest[use], widest[use]);
      allow(narrowest, broadest, node, room(use, node), room(use, node));
    }
    for (std::size_t node = trie.nodes.size() - 1; node > 0; --node) {
      const std::int32_t parent = trie.nodes[node].parent;
      allow(least, most, parent, least[node], most[node]);
      allow(narrowest, broadest, parent, least[node], most[node]);
      onward[parent] = std::max(onward[parent], most[node]);
    }
  }
};

}  // namespace casegraph
