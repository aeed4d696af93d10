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

// Path types that have no more than so many steps.
inline void steps_at_most(std::span<const PathType> types, int max_length, int most) {
  const Packing packing(max_length);
  for (PathType type : types)
    in_range("the length of a path type", packing.length(type), 1, most);
}

}  // namespace casegraph::checks
