// Hits as rows: loop-free paths from an entity to one of its answers, counted by path type.
//
// They are the numerator of equations 2 and 3.
#pragma once

#include <vector>

#include "common/path_type.hpp"
#include "common/progress.hpp"

namespace casegraph {

struct Hits {
  Id cluster;  // -1 for all entities
  Id relation;
  PathType type;
  Count hits;
};

// Sorted by (cluster, relation, type), with the hits of equal rows added up.
//
// A radix sort, which takes a few passes over the rows however they are ordered.
std::vector<Hits> merged(std::vector<Hits> rows, Steps& steps);

}  // namespace casegraph
