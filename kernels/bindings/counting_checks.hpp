// Whether the arrays that counting takes fit the graph.
#pragma once

#include "bindings/checks.hpp"
#include "counting/reach.hpp"

namespace casegraph::checks {

inline void clusters(Ids clusters, const Graph& graph) {
  one_for_each_entity("clusters", clusters.size(), graph);
  ids("clusters", clusters, -1);
}

// Relations and path types, parallel.
inline void relation_path_types(const Graph& graph, Ids relations_, std::span<const PathType> types,
                                int max_length) {
  path_types(types, max_length, graph);
  lengths("relations", relations_.size(), "types", types.size());
  relations("relations", relations_, graph);
}

// How many edges a step may follow, for each pair of a relation and a path type; or nothing.
inline void widest(std::span<const Count> widest, std::size_t pairs) {
  if (!widest.empty())
    lengths("widest", widest.size(), "types", pairs);
  for (Count most : widest)
    in_range("widest", most, 0, INT64_MAX);
}

}  // namespace casegraph::checks
