// Whether the arrays that counting takes fit the graph.
#pragma once

#include "bindings/checks.hpp"
#include "counting/reach.hpp"
#include "counting/reach_by_tile.hpp"
#include "counting/reach_together.hpp"

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

// Path types that have so many steps.
inline void steps_between(std::span<const PathType> types, int max_length, int least, int most) {
  const Packing packing(max_length);
  for (PathType type : types)
    in_range("the length of a path type", packing.length(type), least, most);
}

// Path types that have no more than so many steps.
inline void steps_at_most(std::span<const PathType> types, int max_length, int most) {
  steps_between(types, max_length, 1, most);
}

// Path types that can be counted by tile.
inline void countable_by_tile(std::span<const PathType> types, int max_length, const Graph& graph) {
  steps_between(types, max_length, length_by_tile, length_by_tile);
  const Packing packing(max_length);
  for (PathType type : types) {
    const Id last = packing.relation(type, length_by_tile - 1);
    if (!tiles_fit(graph, last))
      throw std::invalid_argument("there is no room for the tiles of a relation");
  }
}

// The number of a method that counts path types both ways. Returns the method.
inline Method method(int number, std::span<const PathType> types, int max_length,
                     const Graph& graph) {
  in_range("method", number, 0, static_cast<int>(Method::by_tile));
  const auto method = static_cast<Method>(number);
  if (method == Method::together)
    steps_at_most(types, max_length, longest_together);
  if (method == Method::by_tile)
    countable_by_tile(types, max_length, graph);
  return method;
}

}  // namespace casegraph::checks
