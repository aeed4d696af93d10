#include "counting/reach_cost.hpp"

#include "counting/frontier.hpp"
#include "counting/trie.hpp"

namespace casegraph {
namespace {

// Counts stop here. So many steps would take a quarter of an hour, which no budget allows. And a
// sum of 2^24 such numbers still fits into 64 bits.
constexpr Count most_walks = Count{1} << 38;

Count capped(Count walks) {
  return std::min(walks, most_walks);
}

Count capped_product(Count a, Count b) {
  return b != 0 && a > most_walks / b ? most_walks : a * b;
}

// Walks one branch of the trie after the other, from all entities that have the relation.
class alignas(own_lines) WalkCounter {
 public:
  // heads  how many entities have the relation
  WalkCounter(const Graph& graph, Count heads, const Trie& trie, int max_length, ReachCost& cost,
              Progress& progress)
      : graph_(graph),
        heads_(heads),
        trie_(trie),
        cost_(cost),
        frontiers_(max_length + 1),
        walks_(max_length + 1),
        stamps_(std::max(trie.nodes[0].ahead - 1, 0), Stamps(graph.entities)),
        steps_(progress) {}

  // Walk one child of the root, and everything below it.
  void walk(Ids heads, std::int32_t child) {
    frontiers_[0].ends.assign(heads.begin(), heads.end());
    walks_[0].assign(heads.size(), 1);
    walk_to(child, heads_);
  }

  Count taken = 0;  // steps, in all calls

 private:
  // Take the step that leads to a node, before which there are `before` walks.
  void walk_to(std::int32_t node, Count before) {
    const Trie::Node& at = trie_.nodes[node];
    const Edges& edges = graph_.edges(at.relation);
    const bool goes_on = at.ahead > 0;

    Count after = goes_on ? step(edges, at.length) : count_last_step(edges, at.length);
    if (turns_back(node)) {
      if (after < most_walks)
        after -= before;  // each walk could go back where it came from
      if (goes_on)
        subtract_walks_back(node);
    }
    note_cost(node, before, after);

    if (!goes_on || after == 0)
      return;
    trie_.each_child(node, [&](std::int32_t child) { walk_to(child, after); });
  }

  void note_cost(std::int32_t node, Count before, Count after) {
    const Edges& edges = graph_.edges(trie_.nodes[node].relation);
    const bool goes_on = trie_.nodes[node].ahead > 0;
    const Count lookups = std::min(before, capped_product(heads_, std::ssize(edges.heads)));
    const Count followed = std::min(after, capped_product(heads_, std::ssize(edges.tails)));
    const Count following =
        goes_on ? capped_product(followed, edge_that_goes_on) : followed / edges_that_end;
    cost_.of_step[node] = capped(looking_up * lookups + following);
    cost_.visits[node] = std::min(before, heads_);
  }

  // Whether a step is the inverse of the step before.
  bool turns_back(std::int32_t node) const {
    const std::int32_t parent = trie_.nodes[node].parent;
    return parent > 0 && trie_.nodes[node].relation == inverse(trie_.nodes[parent].relation);
  }

  // How many walks there are after a last step.
  Count count_last_step(const Edges& edges, int length) {
    const std::vector<Count>& walks = walks_[length - 1];
    Count total = 0;
    each(edges, length - 1, [&](std::size_t end, std::size_t row) {
      total = capped(total + capped_product(walks[end], std::ssize(edges.row(row))));
    });
    return total;
  }

  // Take a step that others follow: find where walks stand after it, and how many at each entity.
  // Returns how many there are.
  Count step(const Edges& edges, int length) {
    Frontier& into = frontiers_[length];
    std::vector<Count>& walks = walks_[length];
    Stamps& stamps = stamps_at(length);
    into.ends.clear();
    walks.clear();
    stamps.renew();

    Count total = 0;
    each(edges, length - 1, [&](std::size_t end, std::size_t row) {
      const Count arriving = walks_[length - 1][end];
      const Ids tails = edges.row(row);
      taken += std::ssize(tails);
      total = capped(total + capped_product(arriving, std::ssize(tails)));
      for (Id tail : tails) {
        if (!stamps.has(tail)) {
          stamps.set(tail, into.ends.size());
          into.ends.push_back(tail);
          walks.push_back(0);
        }
        Count& there = walks[stamps.slot(tail)];
        there = capped(there + arriving);
      }
    });
    return total;
  }

  // After a step that turns back: subtract the walks that stand where they stood two steps ago.
  // From an entity with d edges of the first relation, d walks go out and come back.
  void subtract_walks_back(std::int32_t node) {
    const Trie::Node& at = trie_.nodes[node];
    const Trie::Node& before = trie_.nodes[at.parent];
    const Edges& edges = graph_.edges(before.relation);
    const Frontier& from = frontiers_[before.length - 1];
    const Stamps& stamps = stamps_at(at.length);
    // If the step before turned back as well, one of the d edges was barred already.
    const Count barred = turns_back(at.parent) ? 1 : 0;

    for (std::size_t end = 0; end < from.ends.size(); ++end) {
      steps_.take();
      const Id entity = from.ends[end];
      if (!stamps.has(entity))
        continue;
      const Count ways_back = std::ssize(edges.of(entity)) - barred;
      const Count back = capped_product(walks_[before.length - 1][end], ways_back);
      Count& walks = walks_[at.length][stamps.slot(entity)];
      if (walks < most_walks)
        walks = std::max(Count{0}, walks - back);
    }
    taken += std::ssize(from.ends);
  }

  // Call `visit(place of the end, its row)` for all ends of walks of a length that have edges.
  template <class Visit>
  void each(const Edges& edges, int length, const Visit& visit) {
    const Frontier& from = frontiers_[length];
    taken += static_cast<Count>(1 + std::min(from.ends.size(), edges.heads.size()));
    each_end(edges, from, length == 0 ? nullptr : &stamps_at(length), steps_, visit);
  }

  Stamps& stamps_at(int length) { return stamps_[static_cast<std::size_t>(length) - 1]; }

  const Graph& graph_;
  const Count heads_;
  const Trie& trie_;
  ReachCost& cost_;

  // By length of the walks so far.
  std::vector<Frontier> frontiers_;        // where they stand; only the ends are used
  std::vector<std::vector<Count>> walks_;  // parallel to the ends: how many
  std::vector<Stamps> stamps_;             // the place of each end, from one step on
  Steps steps_;
};

// For each path type, `combine` over the values of all nodes on the way to it.
template <class Combine>
std::vector<Count> along_types(const Trie& trie, const std::vector<Count>& of_node,
                               const Combine& combine) {
  std::vector<Count> combined(trie.nodes.size());
  for (std::size_t node = 1; node < trie.nodes.size(); ++node)  // parents come first
    combined[node] = combine(combined[trie.nodes[node].parent], of_node[node]);
  std::vector<Count> of_types;
  for (std::int32_t node : trie.node_of_type)
    of_types.push_back(combined[node]);
  return of_types;
}

}  // namespace

ReachCost reach_cost(const Graph& graph, Id relation, std::span<const PathType> types,
                     int max_length, Count most, int threads, Progress& progress) {
  Steps steps(progress);
  const Trie trie(types, max_length, &steps);
  const Ids heads = graph.edges(relation).heads;
  ReachCost cost;
  cost.of_step.resize(trie.nodes.size());
  cost.visits.resize(trie.nodes.size());

  const std::vector<std::int32_t> children = trie.children_of_root();
  const auto depth = static_cast<std::size_t>(trie.nodes[0].ahead);
  threads =
      threads_with_room(threads, depth * 2 * sizeof(Id) * static_cast<std::size_t>(graph.entities));
  const int workers = useful_threads(threads, children.size());
  std::vector<WalkCounter> counters(
      static_cast<std::size_t>(workers),
      WalkCounter(graph, std::ssize(heads), trie, max_length, cost, progress));
  std::atomic<Count> taken{0};
  parallel(threads, children.size(), progress, [&](int thread, std::size_t at) {
    if (taken > most)
      return;
    const Count before = counters[thread].taken;
    counters[thread].walk(heads, children[at]);
    taken += counters[thread].taken - before;
  });
  if (taken > most)
    return {};

  const auto larger = [](Count a, Count b) { return std::max(a, b); };
  const auto sum = [](Count a, Count b) { return capped(a + b); };
  cost.dearest = along_types(trie, cost.of_step, larger);
  cost.visits_of_type = along_types(trie, cost.visits, sum);
  return cost;
}

}  // namespace casegraph
