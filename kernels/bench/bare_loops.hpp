// What counting cannot do without: bare loops over the edges that it must look at, to compare it
// with.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// Walk two steps (from four on three) from every entity over entities with fewer edges, as `cycles`
// must, and make so many additions to an array of so many counts, at random. Returns the edges
// looked at.
Count bare_cycles(const Graph& graph, Ids rank, int max_length, Count additions, Count kinds,
                  int threads, Progress& progress);

// Walk every path type that is in use from every entity that has its relation, as `reach` must,
// marking where one comes and nothing else: no path is kept out of loops, nothing is compared with
// answers. Returns the edges looked at.
Count bare_reach(const Graph& graph, Ids entities, std::span<const Use> uses, int max_length,
                 int threads, Progress& progress);

}  // namespace casegraph
