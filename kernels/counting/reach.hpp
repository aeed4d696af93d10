// Reached and right: the distinct ends of loop-free paths, and those of them that are answers.
#pragma once

#include "common/parallel.hpp"
#include "common/path_type.hpp"

namespace casegraph {

// A path type in use for a query relation.
struct Use {
  Id relation;
  PathType type;
};

struct Reach {
  std::vector<Count> reached, right;  // parallel to the uses
  std::vector<Count> left_out;        // from how many entities a step was too wide
};

// Which uses count for which entity: places[offsets[i] .. offsets[i + 1]) for the i-th. Without
// offsets, all for everyone.
struct Only {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> places;
};

// Sums over those of `entities` that have the relation: how many distinct entities the loop-free
// paths of the type reach from each, and how many of these are answers. The path types of all uses
// are walked as one tree from each entity.
//
// widest  (uses)  how many edges one step may follow, or the last one, which only counts them,
// `last_is_wider` times as many;
//                 empty for any number. An entity from which a step would follow more is left out:
//                 so many ends are taken to be reached, and none of them to be right. So the sums
//                 do not depend on what else is counted at the same time, nor on any order.
Reach reach(const Graph& graph, Ids entities, std::span<const Use> uses, const Only& only,
            std::span<const Count> widest, int max_length, int threads, Progress& progress);

constexpr Count last_is_wider = 32;

struct Pair {
  Id entity;
  std::int32_t place;  // of a path type
  auto operator<=>(const Pair&) const = default;
};

// What `reach` counts, counted from the ends: over entities that have the relation and reach one of
// `ends`. `only` says which path types count for which end; of each path type, the paths from `but`
// (sorted) do not.
Reach reach_back(const Graph& graph, Ids ends, Id relation, std::span<const PathType> types,
                 const Only& only, std::span<const Pair> but, int max_length, int threads,
                 Progress& progress);

}  // namespace casegraph
