// Hits of clusters, and of the closed paths that cross an edge.
#pragma once

#include "common/parallel.hpp"
#include "counting/hit_rows.hpp"

namespace casegraph {

// Counts, summed over the entities of each cluster, sorted by (cluster, relation, type).
//
// entities   whose paths are counted
// clusters   (graph.entities)  the cluster of each entity
// wanted     (relations)       which query relations count; empty for all
// longest    the length up to which paths are counted, 0 for none; max_length being what path types
// have room for
//
// Every path of length L from e to its answer a is found once, where its first ceil(L/2) steps from
// e meet its last floor(L/2) steps from a. Takes the number of such half paths plus the number of
// pairs that meet.
std::vector<Hits> closed_paths(const Graph& graph, Ids entities, Ids clusters,
                               const std::vector<bool>& wanted, int max_length, int longest,
                               int threads, Progress& progress);

struct Cycles {
  std::vector<Hits> rows;
  std::vector<Id> entities;  // on any of the cycles, sorted
  Count cycles = 0;          // how many there are
};

// What one edge contributes to the hits of everyone: the closed paths that cross it, and those
// whose question it is.
//
// The edge must be in the graph. Every loop-free cycle of up to longest + 1 edges through it is
// found once, and read from each of its entities in both directions. Takes the half paths around
// the two ends of the edge.
Cycles cycles_through(const Graph& graph, const Edge& edge, int max_length, int longest,
                      Progress& progress);

}  // namespace casegraph
