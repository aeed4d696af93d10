// Hits: loop-free paths from an entity to one of its answers, by path type (equations 2 and 3, numerator).
#pragma once

#include "parallel.hpp"
#include "path_type.hpp"

namespace casegraph {

struct Hits {
  Id cluster, relation;
  PathType type;
  Count hits;
};

// Counts, summed over the entities of each cluster, sorted by (cluster, relation, type).
//
// entities   whose paths are counted
// clusters   (graph.entities)  the cluster of each entity
// wanted     (relations)       which query relations count; empty for all
//
// Every path of length L from e to its answer a is found once, where its first ceil(L/2) steps from e meet its last
// floor(L/2) steps from a. Takes the number of such half paths plus the number of pairs that meet.
std::vector<Hits> closed_paths(const Graph& graph, Ids entities, Ids clusters, const std::vector<bool>& wanted,
                               int max_length, int threads, Progress progress);

}  // namespace casegraph
