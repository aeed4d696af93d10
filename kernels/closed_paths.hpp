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

// Sorted, rows that say the same added up.
std::vector<Hits> merged(std::vector<Hits> rows);

// Counts, summed over the entities of each cluster, sorted by (cluster, relation, type).
//
// entities   whose paths are counted
// clusters   (graph.entities)  the cluster of each entity
// wanted     (relations)       which query relations count; empty for all
// longest    the length up to which paths are counted, max_length being what path types have room for
//
// Every path of length L from e to its answer a is found once, where its first ceil(L/2) steps from e meet its last
// floor(L/2) steps from a. Takes the number of such half paths plus the number of pairs that meet.
std::vector<Hits> closed_paths(const Graph& graph, Ids entities, Ids clusters, const std::vector<bool>& wanted,
                               int max_length, int longest, int threads, Progress progress);

struct Cycles {
  std::vector<Hits> rows;
  std::vector<Id> entities;  // on any of the cycles, sorted
  Count cycles = 0;          // how many there are
};

// What one edge contributes to the hits of everyone: the closed paths that cross it, and those whose question it is.
//
// The edge must be in the graph. Every loop-free cycle of up to longest + 1 edges through it is found once, and read from each
// of its entities in both directions. Takes the half paths around the two ends of the edge.
Cycles cycles_through(const Graph& graph, const Edge& edge, int max_length, int longest);

}  // namespace casegraph
