// What counting `reach` will take, found beforehand.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// For each step that path types take, those with a common beginning taking it together:
//   of_step  what it takes
//   visits   from how many entities it is taken, at most
// For each path type:
//   dearest         what the dearest of its steps takes
//   visits_of_type  the visits of all its steps
struct ReachCost {
  std::vector<Count> of_step, visits, dearest, visits_of_type;
};

// What `reach` does, in steps: measured, so that a step takes some five nanoseconds. To look
// whether a relation leaves an entity; to follow an edge to where paths go on, which keeps the
// paths that led there; and to count edges that end a path.
constexpr Count looking_up = 2, edge_that_goes_on = 8, edges_that_end = 4;

// What `reach` takes for some path types of a relation, on any machine and for any order of facts.
//
// All path types are walked once, from all entities that have the relation at the same time, and
// walks are counted. There are no fewer walks than edges that `reach` looks at, from one entity
// after the other. Takes what `reach` takes for one entity that has the edges of all; if that is
// more than `most` steps, nothing is returned.
ReachCost reach_cost(const Graph& graph, Id relation, std::span<const PathType> types,
                     int max_length, Count most, int threads, Progress& progress);

}  // namespace casegraph
