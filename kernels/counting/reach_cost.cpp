#include "counting/reach_cost.hpp"

#include "counting/frontier.hpp"
#include "counting/trie.hpp"

namespace casegraph {
namespace {

constexpr Count most_walks =
    Count{1} << 38;  // more would take a quarter of an hour; so many, of all steps, can be added up

Count at_most(Count walks) { return std::min(walks, most_walks); }

Count product(Count a, Count b) { return b != 0 && a > most_walks / b ? most_walks : a * b; }

class Walker {
 public:
  Walker(const Graph& graph, Count heads, const Trie& trie, int max_length, ReachCost& cost,
         Progress& progress)
      : graph_(graph),
        heads_(heads),
        trie_(trie),
        cost_(cost),
        frontiers_(max_length + 1),
        walks_(max_length + 1),
        stamps_(max_length + 1, Stamps(graph.entities)),
        steps_(progress) {}

  // Walk one child of the root, and all that goes on from there.
  void walk(Ids heads, std::int32_t child) {
    Frontier& start = frontiers_[0];
    start.ends.assign(heads.begin(), heads.end());
    walks_[0].assign(heads.size(), 1);
    take(child, heads_);
  }

  Count taken = 0;  // steps

 private:
  // Take the step that leads to a node, from where `before` walks stand.
  void take(std::int32_t node, Count before) {
    const Trie::Node& at = trie_.nodes[node];
    const Edges& edges = graph_.edges(at.relation);
    const bool goes_on = at.ahead > 0;
    Count after = goes_on ? step(edges, at.length) : counted(edges, at.length);
    if (turns_back(node)) {
      after = after < most_walks ? after - before : after;
      if (goes_on) take_back(node);
    }
    const Count lookups = std::min(before, product(heads_, std::ssize(edges.heads)));
    const Count followed = std::min(after, product(heads_, std::ssize(edges.tails)));
    const Count edges_cost =
        goes_on ? product(followed, edge_that_goes_on) : followed / edges_that_end;
    cost_.of_step[node] = at_most(looking_up * lookups + edges_cost);
    cost_.visits[node] = std::min(before, heads_);
    if (!goes_on || after == 0) return;
    for (std::int32_t child = node + 1; child < at.after; child = trie_.nodes[child].after)
      take(child, after);
  }

  // Whether a step walks back along the one before. Then every walk could go back where it came
  // from, which no path does.
  bool turns_back(std::int32_t node) const {
    const std::int32_t parent = trie_.nodes[node].parent;
    return parent > 0 && trie_.nodes[node].relation == inverse(trie_.nodes[parent].relation);
  }

  // How many walks there are after the last step.
  Count counted(const Edges& edges, int length) {
    Count total = 0;
    each(edges, length - 1, [&](std::size_t end, std::size_t row) {
      total = at_most(total + product(walks_[length - 1][end], std::ssize(edges.row(row))));
    });
    return total;
  }

  // The same for a step that others follow: where the walks stand then.
  Count step(const Edges& edges, int length) {
    Frontier& into = frontiers_[length];
    std::vector<Count>& walks = walks_[length];
    Stamps& stamps = stamps_[length];
    into.ends.clear();
    walks.clear();
    stamps.renew();
    Count total = 0;
    each(edges, length - 1, [&](std::size_t end, std::size_t row) {
      const Count more = walks_[length - 1][end];
      const Ids tails = edges.row(row);
      taken += std::ssize(tails);
      total = at_most(total + product(more, std::ssize(tails)));
      for (Id tail : tails) {
        if (!stamps.has(tail)) {
          stamps.set(tail, into.ends.size());
          into.ends.push_back(tail);
          walks.push_back(0);
        }
        Count& there = walks[stamps.slot(tail)];
        there = at_most(there + more);
      }
    });
    return total;
  }

  // Take away the walks that have gone back where they were two steps ago.
  void take_back(std::int32_t node) {
    const Trie::Node &at = trie_.nodes[node], &before = trie_.nodes[at.parent];
    const Edges& edges = graph_.edges(before.relation);
    const Count barred =
        turns_back(at.parent) ? 1 : 0;  // an edge that walks could not take the first time
    const Frontier& from = frontiers_[before.length - 1];
    for (std::size_t end = 0; end < from.ends.size(); ++end) {
      steps_.take();
      if (!stamps_[at.length].has(from.ends[end])) continue;
      Count& walks = walks_[at.length][stamps_[at.length].slot(from.ends[end])];
      const Count back =
          product(walks_[before.length - 1][end], std::ssize(edges.of(from.ends[end])) - barred);
      if (walks < most_walks) walks = std::max(Count{0}, walks - back);
    }
    taken += std::ssize(from.ends);
  }

  template <class Visit>
  void each(const Edges& edges, int length, const Visit& visit) {
    const Frontier& from = frontiers_[length];
    taken += static_cast<Count>(1 + std::min(from.ends.size(), edges.heads.size()));
    each_end(edges, from, length == 0 ? nullptr : &stamps_[length], steps_, visit);
  }

  const Graph& graph_;
  const Count heads_;
  const Trie& trie_;
  ReachCost& cost_;
  std::vector<Frontier> frontiers_;        // where walks of each length stand
  std::vector<std::vector<Count>> walks_;  // how many, parallel to the ends
  std::vector<Stamps> stamps_;
  Steps steps_;
};

// For each path type, what its steps take together as `add` says.
template <class Add>
std::vector<Count> of_types(const Trie& trie, const std::vector<Count>& of_node, const Add& add) {
  std::vector<Count> sums(trie.nodes.size());
  for (std::size_t node = 1; node < trie.nodes.size();
       ++node)  // a parent stands before its children
    sums[node] = add(sums[trie.nodes[node].parent], of_node[node]);
  std::vector<Count> found;
  for (std::int32_t node : trie.node_of_type) found.push_back(sums[node]);
  return found;
}

}  // namespace

ReachCost reach_cost(const Graph& graph, Id relation, std::span<const PathType> types,
                     int max_length, Count most, int threads, Progress& progress) {
  const Trie trie(types, max_length);
  const Ids heads = graph.edges(relation).heads;
  ReachCost cost{
      std::vector<Count>(trie.nodes.size()), std::vector<Count>(trie.nodes.size()), {}, {}};
  std::vector<std::int32_t> children;
  for (std::int32_t child = 1; child < trie.nodes[0].after; child = trie.nodes[child].after)
    children.push_back(child);
  std::vector<Walker> walkers(useful(threads, children.size()),
                              Walker(graph, std::ssize(heads), trie, max_length, cost, progress));
  std::atomic<Count> taken{0};
  parallel(threads, children.size(), progress, [&](int thread, std::size_t at) {
    if (taken > most) return;
    const Count before = walkers[thread].taken;
    walkers[thread].walk(heads, children[at]);
    taken += walkers[thread].taken - before;
  });
  if (taken > most) return {};
  const auto larger = [](Count a, Count b) { return std::max(a, b); };
  const auto sum = [](Count a, Count b) { return at_most(a + b); };
  cost.dearest = of_types(trie, cost.of_step, larger);
  cost.visits_of_type = of_types(trie, cost.visits, sum);
  return cost;
}

}  // namespace casegraph
