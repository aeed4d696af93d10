// What `reach` has to walk: one trie of all path types, with the pairs that end at each node.
//
// Two things let it skip a branch without walking it:
//
//   relations  A branch is of no use to an entity that has none of the query relations below it.
//              Each node has a signature of these relations (`below`): one bit each, hashed into
//              511 bits, like a Bloom filter. Where signatures do not meet, the relations do not.
//              One more bit is set for every entity, and where a pair is counted both ways.
//   widths     Pairs may allow only so many edges for a step. Each node has the least and the most
//              that pairs at or below it allow, so that most steps need no look at single pairs.
#pragma once

#include <array>
#include <numeric>

#include "counting/reach.hpp"
#include "counting/trie.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// 512 bits are one cache line, and tell apart the relations of most benchmark graphs.
using Signature = std::array<std::uint64_t, 8>;

inline void add_to(Signature& signature, Id relation) {
  const Id bit = relation % 511;
  signature[bit >> 6] |= std::uint64_t{1} << (bit & 63);
}

// The signature of an entity without relations. Pairs that are counted both ways need every entity.
constexpr Signature of_everyone{0, 0, 0, 0, 0, 0, 0, std::uint64_t{1} << 63};

inline void add_to(Signature& signature, const Signature& other) {
  for (std::size_t word = 0; word < signature.size(); ++word)
    signature[word] |= other[word];
}

inline bool have_common_bits(const Signature& a, const Signature& b) {
  std::uint64_t common = 0;
  for (std::size_t word = 0; word < a.size(); ++word)
    common |= a[word] & b[word];
  return common != 0;
}

class ReachPlan {
 public:
  // widest  (pairs)  the width that each allows, as in `reach`; empty for any
  ReachPlan(std::span<const RelationPathType> pairs_, std::span<const Count> widest_,
            int max_length, Steps& steps)
      : pairs(pairs_), widest(widest_), trie(types_of(pairs_), max_length, &steps) {
    group_pairs();
    find_children();
    make_signatures();
    if (has_widths())
      find_widths();
  }

  bool has_widths() const { return !widest.empty(); }

  // A pair, by its place among all, and what of it is asked so often that looking it up elsewhere
  // would show.
  struct PairAt {
    std::int32_t pair;
    Id relation;
    bool both_ways;
  };

  // The pairs whose path type ends at a node.
  std::span<const PairAt> pairs_at(std::int32_t node) const {
    return pairs_between(node, node + 1);
  }
  std::span<const PairAt> pairs_at_or_below(std::int32_t node) const {
    return pairs_between(node, trie.nodes[node].after);
  }

  // The place of such a pair when all are ordered by node: those of a node lie together.
  std::size_t place(const PairAt& at) const { return static_cast<std::size_t>(&at - &by_node_[0]); }
  const PairAt& pair_at_place(std::size_t place) const { return by_node_[place]; }

  // The child of the root that a relation leads to, or -1.
  std::int32_t first_step(Id relation) const {
    return relation < std::ssize(first_steps_) ? first_steps_[relation] : -1;
  }

  // By entity: whether it has the query relation of a pair at or below a node. Paths from all
  // others count for nothing there, unless a pair is counted both ways.
  std::vector<char> asks_below(const Graph& graph, std::int32_t node) const {
    if (have_common_bits(below[node], of_everyone))
      return std::vector<char>(graph.entities, true);
    std::vector<char> asks(graph.entities);
    std::vector<char> is_done(graph.relations.size());
    for (const auto [pair, relation, both_ways] : pairs_at_or_below(node)) {
      if (is_done[relation])
        continue;
      is_done[relation] = true;
      for (Id head : graph.edges(relation).heads)
        asks[head] = true;
    }
    return asks;
  }

  // How many edges the step that leads to a node may follow for a pair at or below it.
  Count allowed_width(std::int32_t pair, std::int32_t node) const {
    const bool is_last_step = trie.node_of_type[pair] == node;
    if (!is_last_step)
      return widest[pair];
    return widest[pair] > INT64_MAX / last_is_wider ? INT64_MAX : last_is_wider * widest[pair];
  }

  const std::span<const RelationPathType> pairs;
  const std::span<const Count> widest;
  const Trie trie;
  std::vector<Signature> below;        // by node: the relations of the pairs at or below it
  std::vector<std::int32_t> children;  // by node: how many there are

  // By node, of what pairs allow for the step that leads there; empty without widths.
  std::vector<Count> least_allowed;    // by any pair at or below it
  std::vector<Count> most_allowed;     // by any pair at or below it
  std::vector<Count> allowed_onwards;  // the most by any pair below it

 private:
  static std::vector<PathType> types_of(std::span<const RelationPathType> pairs) {
    std::vector<PathType> types;
    for (const RelationPathType& pair : pairs)
      types.push_back(pair.type);
    return types;
  }

  std::span<const PairAt> pairs_between(std::int32_t node, std::int32_t end) const {
    return std::span(by_node_).subspan(first_pair_[node], first_pair_[end] - first_pair_[node]);
  }

  // A counting sort of the pairs by node. Nodes are in preorder, so the pairs below a node follow
  // its own.
  void group_pairs() {
    first_pair_.assign(trie.nodes.size() + 1, 0);
    for (std::int32_t node : trie.node_of_type)
      ++first_pair_[node + 1];
    std::partial_sum(first_pair_.begin(), first_pair_.end(), first_pair_.begin());
    by_node_.resize(pairs.size());
    std::vector<std::int32_t> next(first_pair_.begin(), first_pair_.end() - 1);
    for (std::size_t pair = 0; pair < pairs.size(); ++pair)
      by_node_[next[trie.node_of_type[pair]]++] = {static_cast<std::int32_t>(pair),
                                                   pairs[pair].relation, pairs[pair].both_ways};
  }

  void find_children() {
    children.resize(trie.nodes.size());
    for (std::size_t node = 1; node < trie.nodes.size(); ++node) {
      const auto& [relation, parent, after, length, ahead] = trie.nodes[node];
      ++children[parent];
      if (parent != 0)
        continue;
      if (relation >= std::ssize(first_steps_))
        first_steps_.resize(relation + std::size_t{1}, -1);
      first_steps_[relation] = static_cast<std::int32_t>(node);
    }
  }

  void make_signatures() {
    below.resize(trie.nodes.size());
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      Signature& at_node = below[trie.node_of_type[pair]];
      add_to(at_node, pairs[pair].relation);
      if (pairs[pair].both_ways)
        add_to(at_node, of_everyone);
    }
    for (std::size_t node = trie.nodes.size() - 1; node > 0; --node)
      add_to(below[trie.nodes[node].parent], below[node]);
  }

  // From the leaves up: what pairs allow where they end, and what they allow on the way there.
  void find_widths() {
    const std::vector<Count> no_limit(trie.nodes.size(), INT64_MAX), nothing(trie.nodes.size());
    std::vector<Count> least_on_the_way = no_limit, most_on_the_way = nothing;
    least_allowed = no_limit;
    most_allowed = nothing;
    allowed_onwards = nothing;

    for (std::int32_t pair = 0; pair < std::ssize(widest); ++pair) {
      const std::int32_t node = trie.node_of_type[pair];
      const Count at_the_end = allowed_width(pair, node);
      least_on_the_way[node] = std::min(least_on_the_way[node], widest[pair]);
      most_on_the_way[node] = std::max(most_on_the_way[node], widest[pair]);
      least_allowed[node] = std::min(least_allowed[node], at_the_end);
      most_allowed[node] = std::max(most_allowed[node], at_the_end);
    }
    for (std::size_t node = trie.nodes.size() - 1; node > 0; --node) {
      const std::int32_t parent = trie.nodes[node].parent;
      const Count least = least_on_the_way[node], most = most_on_the_way[node];
      least_on_the_way[parent] = std::min(least_on_the_way[parent], least);
      most_on_the_way[parent] = std::max(most_on_the_way[parent], most);
      least_allowed[parent] = std::min(least_allowed[parent], least);
      most_allowed[parent] = std::max(most_allowed[parent], most);
      allowed_onwards[parent] = std::max(allowed_onwards[parent], most);
    }
  }

  std::vector<std::int32_t> first_pair_;   // by node, and the end: where its pairs begin
  std::vector<std::int32_t> first_steps_;  // by relation: a child of the root, or -1
  std::vector<PairAt> by_node_;            // pairs, grouped by the node where they end
};

}  // namespace casegraph
