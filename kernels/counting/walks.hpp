// Tries: walks of a path type from the entities that have a relation, wherever they end.
//
// They are the denominator of equation 3. Walks are linear: the number of walks of (r1, r2, r3)
// from every entity is A_r1 · (A_r2 · (A_r3 · 1)), where A_r is the adjacency matrix of r. Path
// types with a common ending share its product.
//
// Takes the edges of r1 for every distinct ending, plus the heads of the relation for each
// question.
#pragma once

#include <vector>

#include "common/parallel.hpp"
#include "common/path_type.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// How many walks of `type` leave the entities of `cluster` that have `relation`?
struct WalkQuestion {
  Id cluster;  // -1 for all entities
  Id relation;
  PathType type;
};

constexpr Count too_many = INT64_MAX;  // a count that does not fit; no count that fits is as large

// The number of walks for every question, which may come in any order.
//
// clusters  (graph.entities)  the cluster of each entity
std::vector<Count> walks(const Graph& graph, std::span<const WalkQuestion> questions, Ids clusters,
                         int max_length, int threads, Progress& progress);

}  // namespace casegraph
