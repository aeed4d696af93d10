// Hits of all entities and all relations at once, by listing cycles.
//
// Problem: a hit is a loop-free path from an entity to its answer. With the edge of the question it
// closes a cycle. A path of L steps belongs to a cycle of L + 1 edges, and a cycle can be read from
// each of its entities in both directions: 2 (L + 1) hits. So it is enough to find each cycle once.
//
// Idea: degree ordering (see degree_order.hpp) and meet in the middle. Each cycle is found from its
// entity of highest degree, its top. From the top it is two half paths of equally many steps, over
// entities below the top, which either meet at an entity or have an edge between them. Cycles of
// four edges, which are the bulk, are not even listed: halves of equal type are counted together
// (type_pairs.hpp).
//
// Invariant: a half path never passes an entity above its top, and halves that are joined have no
// inner entity in common. So every loop-free cycle is found exactly once.
//
// Cost: the half paths, plus the pairs of halves that are joined. Two steps over edges (u, v) take
// the smaller of both degrees, summed over the edges (Chiba and Nishizeki: O(m · arboricity)).
#pragma once

#include "counting/hit_rows.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// If paths of some length exceed this, those of that length and all longer ones are not counted.
struct Limit {
  Count work;   // steps taken, of some nanoseconds each
  Count kinds;  // distinct cycles of one length, as sequences of relations
};

struct CountedCycles {
  std::vector<Hits> rows;  // sorted by (relation, type); the cluster is -1

  // By length, from 1 on: the steps taken for paths of up to that length, or INT64_MAX where they
  // were not counted.
  std::vector<Count> work;
};

// tops  count the cycles with these tops: each cycle at its entity with most edges, of equals the
//       last by `rank`
// rank  (graph.entities)  an order of the entities that does not depend on their ids
CountedCycles cycles(const Graph& graph, Ids tops, Ids rank, int max_length, const Limit& limit,
                     int threads, Progress& progress);

// Call `use(relation, type)` for all readings of a cycle in one direction: from each of its
// entities, the path around it, and the relation of the question that the last edge answers.
//
// cycle  the relations from one of its entities around
template <class Use>
void each_reading(std::span<const Id> cycle, const Packing& packing, const Use& use) {
  const std::size_t length = cycle.size();
  for (std::size_t start = 0; start < length; ++start) {
    PathType type = 0;
    for (std::size_t place = 0; place + 1 < length; ++place)
      type |= packing.step(cycle[(start + place) % length], static_cast<int>(place));
    const Id closing = cycle[(start + length - 1) % length];
    use(inverse(closing), type);
  }
}

// The same in both directions. A path of `length` steps of a type and an edge of the relation, from
// its start to its end, are the cycle.
template <class Use>
void each_reading_both_ways(PathType type, int length, Id relation, const Packing& packing,
                            const Use& use) {
  std::vector<Id> cycle;
  for (int place = 0; place < length; ++place) cycle.push_back(packing.relation(type, place));
  cycle.push_back(inverse(relation));
  each_reading(cycle, packing, use);

  std::reverse(cycle.begin(), cycle.end());
  for (Id& step : cycle) step = inverse(step);
  each_reading(cycle, packing, use);
}

}  // namespace casegraph
