// Reached and right: the distinct ends of loop-free paths, and those of them that are answers.
#pragma once

#include "parallel.hpp"
#include "path_type.hpp"

namespace casegraph {

// A path type in use for a query relation.
struct Use {
  Id relation;
  PathType type;
};

struct Reach {
  std::vector<Count> reached, right;  // parallel to the uses
  Count followed = 0;                 // edges looked at
};

// Sums over those of `entities` that have the relation: how many distinct entities the loop-free paths of the type reach
// from each, and how many of these are answers. The path types of all uses are walked as one tree from each entity.
Reach reach(const Graph& graph, Ids entities, std::span<const Use> uses, int max_length, int threads, Progress progress);

}  // namespace casegraph
