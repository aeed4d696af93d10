// The entities from which path types are counted together, cut into batches.
//
// Path types that begin with the same relation share their batches: the entities that have it, and
// that also have a query relation for which one of these path types is counted.
#pragma once

#include <algorithm>
#include <vector>

#include "counting/reach_plan.hpp"
#include "counting/start_sets.hpp"

namespace casegraph {

// A child of the root of a trie, and some of the entities that have its relation.
struct Batch {
  std::int32_t child;
  Ids starts;
};

class StartBatches {
 public:
  StartBatches(const Graph& graph, Ids entities, const ReachPlan& plan) {
    const auto& nodes = plan.trie.nodes;
    for (std::int32_t child = 1; child < nodes[0].after; child = nodes[child].after) {
      const Edges& edges = graph.edges(nodes[child].relation);
      starts_.push_back(starts_of(edges, entities, plan.asks_below(graph, child)));
      const Ids all(starts_.back());
      for (std::size_t begin = 0; begin < all.size(); begin += StartSet::size) {
        const std::size_t size = std::min(StartSet::size, all.size() - begin);
        list.push_back({child, all.subspan(begin, size)});
      }
    }
  }

  std::vector<Batch> list;

 private:
  // Entities with about equally many edges of the relation reach about equally far, so they come
  // together: then where few paths stand, they are few for the whole batch.
  static std::vector<Id> starts_of(const Edges& edges, Ids entities,
                                   const std::vector<char>& asks) {
    std::vector<std::pair<std::size_t, Id>> found;
    for (Id entity : entities) {
      if (entity >= std::ssize(asks))
        continue;  // it came after this state of the graph
      if (!asks[entity])
        continue;
      const std::size_t row = edges.row_of(entity);
      if (row != edges.heads.size())
        found.emplace_back(edges.row(row).size(), entity);
    }
    std::sort(found.begin(), found.end(), std::greater<>());
    std::vector<Id> starts;
    for (const auto& start : found)
      starts.push_back(start.second);
    return starts;
  }

  std::vector<std::vector<Id>> starts_;  // by child: what the batches are parts of
};

}  // namespace casegraph
