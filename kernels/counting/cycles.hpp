// Hits of all entities and all relations at once, by listing cycles.
//
// Problem: a hit is a loop-free path from an entity to its answer. With the edge of the question it
// closes a cycle. A path of L steps belongs to a cycle of L + 1 edges, and a cycle can be read from
// each of its entities in both directions: 2 (L + 1) hits. So it is enough to find each cycle once.
//
// Idea: degree ordering (see degree_order.hpp) and meet in the middle. Each cycle is found from its
// entity of highest degree, its top. From the top it is two half paths of equally many steps, over
// entities below the top, which either meet at an entity or have an edge between them. Halves of
// one step are not stored: they are the edges of the top, sorted by where they lead. Cycles of four
// edges, which are the bulk, are not even listed: halves of equal type are counted together
// (type_pairs.hpp). Cycles of three edges are listed, so counting each has to be quick
// (relation_triples.hpp).
//
// Invariant: a half path never passes an entity above its top, and halves that are joined have no
// inner entity in common. So every loop-free cycle is found exactly once.
//
// Cost: the half paths, plus the pairs of halves that are joined. Two steps over edges (u, v) take
// the smaller of both degrees, summed over the edges (Chiba and Nishizeki: O(m · arboricity)).
#pragma once

#include "common/path_type.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// If paths of some length exceed this, those of that length and all longer ones are not counted.
struct Limit {
  Count work;   // steps taken, of some nanoseconds each
  Count kinds;  // distinct cycles of one length, as sequences of relations
};

struct CountedCycles {
  // Hits, sorted by (relation, type): parallel arrays.
  std::vector<Id> relations;
  std::vector<PathType> types;
  std::vector<Count> hits;

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
// type, relation  one of the readings: a path of `length` steps, and an edge from its start to its
//                 end
template <class Use>
void each_reading(PathType type, int length, Id relation, const Packing& packing, const Use& use) {
  for (int entity = 0; entity <= length; ++entity) {
    use(relation, type);
    // The path from the next entity ends with the edge of the question, walked back. Its own
    // question is answered by the step that has been left out.
    const Id first = packing.relation(type, 0);
    type = packing.without_first(type) | packing.step(inverse(relation), length - 1);
    relation = inverse(first);
  }
}

// The same in both directions.
template <class Use>
void each_reading_both_ways(PathType type, int length, Id relation, const Packing& packing,
                            const Use& use) {
  each_reading(type, length, relation, packing, use);
  each_reading(backwards(type, packing), length, inverse(relation), packing, use);
}

}  // namespace casegraph
