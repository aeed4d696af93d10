// Hits of everyone, for all relations at once: every cycle is found once and read from each of its
// entities, both ways.
#pragma once

#include "counting/closed_paths.hpp"

namespace casegraph {

// More than this is too much for paths of up to a length: then those of that length are left out,
// and all longer ones.
struct Limit {
  Count work;   // steps taken, each of which takes some nanoseconds
  Count kinds;  // different cycles of one length, as relations see them
};

struct Counted {
  std::vector<Hits> rows;   // sorted by (relation, type); the cluster is -1
  std::vector<Count> work;  // steps taken for the paths of up to each length, the shortest first;
                            // INT64_MAX where they were left out
};

// tops   cycles are counted at the one of their entities that has most edges (of equals, the last
// by `rank`): these rank   (graph.entities)  an order of entities that does not depend on ids
//
// From its top every cycle is two halves of as many steps, over entities below the top, that meet
// or have an edge between them. So an entity of very many edges is passed by nobody, and two steps
// over edges (u, v) take the smaller of the two degrees. Of cycles of four edges, halves of one
// type are counted together.
Counted cycles(const Graph& graph, Ids tops, Ids rank, int max_length, const Limit& limit,
               int threads, Progress& progress);

// All edges, entities being numbered anew so that those with more edges come later (equals by
// `rank`), and the edges of each sorted by where they lead: those to entities below it come first,
// and those that most paths pass stand together in memory.
struct Ranked {
  Ranked(const Graph& graph, Ids rank, Steps& steps);

  std::vector<Id> order;              // the new number of each entity
  std::vector<std::int64_t> offsets;  // by new number
  std::vector<Id> relations, tails;
};

// All readings of a cycle: the relations from one of its entities around, the last one closing it.
// Calls `use(relation, type)`.
template <class Use>
void each_reading(std::span<const Id> cycle, const Packing& packing, const Use& use) {
  const std::size_t length = cycle.size();
  for (std::size_t start = 0; start < length; ++start) {
    PathType type = 0;
    for (std::size_t place = 0; place + 1 < length; ++place)
      type |= packing.step(cycle[(start + place) % length], static_cast<int>(place));
    use(inverse(cycle[(start + length - 1) % length]), type);
  }
}

// The same cycle the other way round.
inline void turn(std::vector<Id>& cycle) {
  std::reverse(cycle.begin(), cycle.end());
  for (Id& step : cycle) step = inverse(step);
}

}  // namespace casegraph
