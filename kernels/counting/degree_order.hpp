// The graph with entities renumbered by degree, as triangle and cycle listing use it.
//
// Problem: a cycle must be found from one of its entities, and entities with very many edges (hubs)
// are expensive to pass. Idea: degree ordering (Chiba and Nishizeki 1985). Number the entities so
// that those with more edges have larger numbers, and find each cycle from its largest entity, over
// smaller entities only. Then no search passes a larger hub than it began with, and each cycle has
// exactly one place where it is found.
#pragma once

#include "common/large_vector.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// Edges are sorted by where they lead, so that those to smaller entities come first. Entities that
// most paths pass have large numbers, and stand together in memory.
struct DegreeOrder {
  // rank  (graph.entities)  decides between entities of equal degree
  DegreeOrder(const Graph& graph, Ids rank, Steps& steps);

  LargeVector<Id> number;             // by entity: its place in the order
  LargeVector<std::int64_t> offsets;  // by number, and the end: where its edges begin
  LargeVector<std::int64_t> below;    // by number: where its edges to smaller entities end
  LargeVector<Id> relations;          // (edges)
  LargeVector<Id> tails;              // (edges)  as numbers
};

}  // namespace casegraph
