// Reached and right: the distinct ends of loop-free paths, and how many of them are answers.
//
// Problem: for a query relation and a path type, sum over all entities that have the relation: how
// many distinct entities the loop-free paths of the type reach, and how many of these are answers.
// right / (reached + doubt) is what a path type is worth by default. Both are also counted for the
// ends whose slot is open: no other entity has the end as its answer. (Where answers have one asker
// each, as a child has one mother, an end whose slot is taken is hardly ever right.)
//
// Idea: from each entity, walk all path types at once as a trie (`ReachPlan`), keeping at each node
// the set of ends (`Frontier`, with Monien's representative families). Branches that hold nothing
// for the relations of the entity are skipped. Last steps are only counted (`LastStepCounter`).
// Where relations are dense, path types are counted from many entities at once instead
// (reach_together.hpp), if that takes less (reach_choice.hpp). Short path types of a single
// relation are counted from all entities with a common hub, one hub after the other
// (reach_by_hub.hpp). A path type and the same path type walked backwards connect the same
// entities, so if both are asked for, mostly one of them need be walked (reach_inverses.hpp).
//
// The cost from one entity after the other is the number of edges leaving all those ends, and
// `reach_cost` finds it beforehand.
#pragma once

#include <optional>

#include "common/parallel.hpp"
#include "common/path_type.hpp"
#include "counting/pair_sums.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// A query relation, and a path type in use for it.
struct RelationPathType {
  Id relation;
  PathType type;

  // Whether its inverse is counted along: the inverse query relation, with the path type walked
  // backwards (reach_inverses.hpp).
  bool both_ways = false;
};

// How the sums of a pair are found (reach_inverses.hpp).
enum class Way : char {
  by_itself,   // it is walked
  both_ways,   // it is walked, and its inverse is counted along
  by_inverse,  // its inverse is walked
};

// How the ends of a path type are counted.
enum class Method : char {
  alone,     // from one entity after the other
  together,  // from 256 entities at once (reach_together.hpp)
  by_hub,    // from all with a common hub (reach_by_hub.hpp)
};

// Parallel to the pairs of relation and path type that were given.
struct Reach {
  std::vector<Sums> sums;
  std::vector<Count> skipped;  // from how many entities a step was too wide
};

// How many times wider than other steps a last step may be. An edge that paths go on from takes as
// long as 32 that are only counted (see the costs in reach_cost.hpp: 8 · 4).
constexpr Count last_is_wider = 32;

// The sums for all pairs, over those of `entities` that have the relation.
//
// method  how path types are counted; none for the one that takes least, for each of them
// pairs   relations and path types
// ways    (pairs)  how the sums of each are found; empty if all are walked by themselves. Where
//         pairs are counted both ways, the sums are right when those of all entities are added up:
//         what paths from some of them add to the sums of an inverse belongs to their ends
// widest  (pairs)  how many edges one step may follow, a last step `last_is_wider` times as many;
//         empty for any number. An entity with a wider step is skipped: the width of that step is
//         added to `reached`, as if none of its ends were right, and 1 to `skipped`. Each entity is
//         judged by itself, so the sums do not depend on what else is counted, nor on any order.
//         Nothing is added to the counts of open slots
Reach reach(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
            std::span<const Way> ways, std::span<const Count> widest, std::optional<Method> method,
            int max_length, int threads, Progress& progress);

// Whether a method can count these pairs in these ways.
bool can_count(Method method, std::span<const RelationPathType> pairs, std::span<const Way> ways,
               std::span<const Count> widest, int max_length);

// An entity where paths of a type begin or end.
struct Endpoint {
  Id entity;
  std::int32_t place;  // of the path type
  auto operator<=>(const Endpoint&) const = default;
};

// The same sums for the path types of one relation, over paths that begin at one of `starts`, or
// end at one of `ends`. From the ends, path types are walked backwards. (What a change does to
// `reached` is often easier to find from where paths end than from where they begin.)
//
// starts, ends  sorted, without repetitions; entities that the graph does not have reach nothing
std::vector<Sums> reach_around(const Graph& graph, Id relation, std::span<const PathType> types,
                               std::span<const Endpoint> starts, std::span<const Endpoint> ends,
                               int max_length, int threads, Progress& progress);

}  // namespace casegraph
