// Hits: loop-free paths from an entity to one of its answers, by path type (equations 2 and 3,
// numerator).
#pragma once

#include "common/path_type.hpp"

namespace casegraph {

struct Hits {
  Id cluster, relation;
  PathType type;
  Count hits;
};

// Sorted by (cluster, relation, type), rows that say the same added up.
std::vector<Hits> merged(std::vector<Hits> rows, Steps& steps);

}  // namespace casegraph
