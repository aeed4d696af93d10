// Bare loops over the edges that counting cannot avoid: the limit that benchmarks compare it with.
//
// No part of the shipped module.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// The edges that `cycles` must look at: two steps (for paths of four and more, three) from every
// entity over entities with fewer edges. Returns how many these are.
Count bare_halves(const Graph& graph, Ids rank, int max_length, int threads, Progress& progress);

// What listing cycles takes at least. For paths of each length: bring the halves of cycles together
// from every entity over entities with fewer edges. Then, for each cycle, one addition to an array
// of so many counts, at random. Returns the edges looked at.
Count bare_cycles(const Graph& graph, Ids rank, int max_length, Count cycles, Count kinds,
                  int threads, Progress& progress);

// What `reach` must do at least: walk every path type in use from every entity that has its
// relation, from many at once where `reach` does so, and mark where that leads. Paths may have
// loops, and nothing is compared with answers.
// Returns the edges looked at.
Count bare_reach(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
                 int max_length, int threads, Progress& progress);

}  // namespace casegraph
