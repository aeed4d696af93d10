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

  // The node of a path type there and back that is counted from one of every two entities only, or
  // -1. Then the starts are all heads of the relation, in order, from one row on.
  std::int32_t there_and_back;
  std::size_t first_row;
};

class StartBatches {
 public:
  StartBatches(const Graph& graph, Ids entities, const ReachPlan& plan) {
    const auto& nodes = plan.trie.nodes;
    for (std::int32_t child = 1; child < nodes[0].after; child = nodes[child].after) {
      const Edges& edges = graph.edges(nodes[child].relation);
      std::vector<Id> starts = starts_of(edges, entities, plan.asks_below(graph, child));
      std::int32_t there_and_back = -1;
      if (starts.size() == edges.heads.size())
        there_and_back = node_there_and_back(plan, child);
      if (there_and_back >= 0)
        starts.assign(edges.heads.begin(), edges.heads.end());

      starts_.push_back(std::move(starts));
      const Ids all(starts_.back());
      for (std::size_t begin = 0; begin < all.size(); begin += StartSet::size) {
        const std::size_t size = std::min(StartSet::size, all.size() - begin);
        list.push_back({child, all.subspan(begin, size), there_and_back, begin});
      }
    }
  }

  std::vector<Batch> list;

 private:
  // The path type of a step and back, if no path goes on from there, and all its pairs are counted
  // both ways: then what leads from one entity to another also tells what leads back.
  static std::int32_t node_there_and_back(const ReachPlan& plan, std::int32_t child) {
    const auto& nodes = plan.trie.nodes;
    for (std::int32_t second = child + 1; second < nodes[child].after;
         second = nodes[second].after) {
      const bool is_last = nodes[second].after == second + 1;
      if (!is_last || !plan.trie.is_there_and_back(second))
        continue;
      if (std::ranges::all_of(plan.pairs_at(second), &ReachPlan::PairAt::both_ways))
        return second;
    }
    return -1;
  }

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
