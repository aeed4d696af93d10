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

// Which uses count for which entity: places[offsets[i] .. offsets[i + 1]) for the i-th. Without offsets, all for everyone.
struct Only {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> places;
};

// Sums over those of `entities` that have the relation: how many distinct entities the loop-free paths of the type reach
// from each, and how many of these are answers. The path types of all uses are walked as one tree from each entity.
Reach reach(const Graph& graph, Ids entities, std::span<const Use> uses, const Only& only, int max_length, int threads, Progress progress);

struct Edge {
  Id head, relation, tail;
};
struct Passing {
  Id entity;
  std::int32_t place;  // of a path type
  auto operator<=>(const Passing&) const = default;
};

// The entities that have the relation, and the path types by which a walk from them can cross one of `edges`, in either
// direction; sorted. The edges must be in the graph. Walks back from the ends of the edges over what may come before them.
std::vector<Passing> passing(const Graph& graph, std::span<const Edge> edges, Id relation, std::span<const PathType> types, int max_length);

}  // namespace casegraph
