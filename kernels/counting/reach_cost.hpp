// What `reach` would cost for the path types of a relation, found beforehand and cheaply.
//
// Problem: which path types fit into a budget of work must be known before they are counted, and
// must be the same on every machine and for any order of facts.
//
// Idea: `reach` walks from one entity after the other. Here walks are counted from all entities
// that have the relation at the same time, one number for each entity where they stand (a sparse
// vector times an adjacency matrix). An edge that `reach` looks at ends some walk, so the number of
// walks is an upper bound of the number of edges. Two corrections make the bound closer:
//
//   - No step looks at more edges than all edges of the relation, from each entity.
//   - A path never goes straight back along the edge it came by, so walks that do are subtracted
//     where a step is the inverse of the step before (non-backtracking walks, for one step).
//
// Cost: that of `reach` for a single entity that has the edges of all.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// Nodes are those of the trie of the path types: path types with a common beginning share its
// steps.
struct ReachCost {
  std::vector<Count> of_step;  // by node: the cost of the step that leads there
  std::vector<Count> visits;   // by node: from how many entities it is taken, at most

  std::vector<Count> dearest;         // by path type: the cost of the dearest of its steps
  std::vector<Count> visits_of_type;  // by path type: the visits of all its steps
};

// The unit of cost is a step of some five nanoseconds. Measured:
constexpr Count looking_up = 2;         // steps to look whether a relation leaves an entity
constexpr Count edge_that_goes_on = 8;  // steps to follow an edge and keep the paths that led there
constexpr Count edges_that_end = 4;     // edges of a last step, which are only counted, in one step

// How many threads may each have so many bytes: all of them together take at most four gigabytes,
// or there is one. Finding costs should not take more memory than counting.
inline int threads_with_room(int threads, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 32;
  return static_cast<int>(
      std::clamp<std::size_t>(most / (bytes + 1), 1, static_cast<std::size_t>(threads)));
}

// most  if finding the cost takes more than so many steps, nothing is returned
ReachCost reach_cost(const Graph& graph, Id relation, std::span<const PathType> types,
                     int max_length, Count most, int threads, Progress& progress);

}  // namespace casegraph
