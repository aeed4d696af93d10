// Which paths cross some edges: from where, or to where.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// From which entities, and to which, paths of which types may cross one of some edges: every such
// path begins at a start of its type or ends at an end of it. Both sorted.
struct Crossing {
  std::vector<Pair> starts, ends;
};

// The edges must be in the graph, and are crossed in either direction; starts have the relation.
// For every place of an edge in a path type, what comes before it is walked back from its head, or
// what comes after it is walked on from its tail, whichever is shorter.
Crossing crossing(const Graph& graph, std::span<const Edge> edges, Id relation,
                  std::span<const PathType> types, int max_length, Progress& progress);

}  // namespace casegraph
