// Bare loops over the edges that counting cannot avoid: the limit that benchmarks compare it with.
//
// No part of the shipped module.
#pragma once

#include "graph/graph.hpp"

namespace casegraph {

// The edges that `cycles` must look at: two steps (for paths of four and more, three) from every
// entity over entities with fewer edges. Returns how many these are.
Count bare_halves(const Graph& graph, Ids rank, int max_length, int threads, Progress& progress);

// What listing cycles takes at least. For paths of each length: bring the halves of cycles together
// from every entity over entities with fewer edges. Then, for each cycle, one addition to an array
// of so many counts, at random. Returns the edges looked at.
Count bare_cycles(const Graph& graph, Ids rank, int max_length, Count cycles, Count kinds,
                  int threads, Progress& progress);

}  // namespace casegraph
