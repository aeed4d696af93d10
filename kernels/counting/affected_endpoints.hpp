// Where the paths begin or end that some changed edges are part of.
//
// Problem: after an update, `reached` and `right` change only for paths that use a changed edge. To
// recount them we need entities such that every such path begins or ends at one of them.
//
// Idea: a path that uses an edge at step i has i steps before it and the rest after it. Walk from
// the edge to the nearer end of the path: back to its start, or on to its end. So no more than half
// of a path type is walked (meet in the middle, with the edge as one side). Walks are enough, as an
// entity too many costs time and never a wrong count.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// Invariant: every path of a type that uses one of the edges begins at a start of that type, or
// ends at an end of it. Both sorted, without repetitions; places are those of path types.
struct AffectedEndpoints {
  std::vector<Endpoint> starts;  // these have the query relation
  std::vector<Endpoint> ends;
};

// edges  must be in the graph; they may be used in either direction
AffectedEndpoints affected_endpoints(const Graph& graph, std::span<const Edge> edges, Id relation,
                                     std::span<const PathType> types, int max_length,
                                     Progress& progress);

}  // namespace casegraph
