// Pairs of relation and path type, from two parallel arrays that fit.
#pragma once

#include "bindings/arrays.hpp"
#include "bindings/counting_checks.hpp"

namespace casegraph::bindings {

inline std::vector<RelationPathType> pairs_of(const Graph& graph, const In<Id>& relations,
                                              const In<PathType>& types, int max_length) {
  checks::relation_path_types(graph, span(relations), span(types), max_length);
  std::vector<RelationPathType> pairs(types.shape(0));
  for (std::size_t at = 0; at < pairs.size(); ++at)
    pairs[at] = {relations.data()[at], types.data()[at]};
  return pairs;
}

}  // namespace casegraph::bindings
