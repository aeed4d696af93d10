// Hits of clusters, and the hits that one edge contributes.
//
// `cycles` counts hits of all entities together. Here they are counted from each entity, which
// takes longer, but says whose they are.
#pragma once

#include "common/parallel.hpp"
#include "counting/hit_rows.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// The hits of each cluster, sorted by (cluster, relation, type).
//
// entities    whose paths are counted
// clusters    (graph.entities)  the cluster of each entity
// wanted      (relations)       which query relations count; empty for all
// max_length  the length that path types have room for
// longest     the length up to which paths are counted; 0 for none
//
// Meet in the middle: every path of length L from e to its answer a is found once, where its first
// ceil(L/2) steps from e meet its last floor(L/2) steps, walked back from a. Takes the number of
// such half paths, plus the number of pairs that meet.
std::vector<Hits> closed_paths(const Graph& graph, Ids entities, Ids clusters,
                               const std::vector<bool>& wanted, int max_length, int longest,
                               int threads, Progress& progress);

struct CyclesThrough {
  std::vector<Hits> rows;    // sorted by (relation, type); the cluster is -1
  std::vector<Id> entities;  // on any of the cycles, sorted
  Count cycles = 0;          // how many there are; INT64_MAX if finding them takes too much memory
  Count looked_at = 0;       // edges and relations, which is the work it took
};

// The hits that one edge contributes: of paths that use it, and of questions that it answers.
//
// The edge must be in the graph. Every loop-free cycle of up to longest + 1 edges through it is
// found once, and read from each of its entities in both directions. Takes the half paths around
// both ends of the edge, not more (`EdgesAround`): so an update of one fact is cheap.
//
// most_halves  how many first halves of one length are held in memory
CyclesThrough cycles_through(const Graph& graph, const Edge& edge, int max_length, int longest,
                             std::size_t most_halves, Progress& progress);

}  // namespace casegraph
