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
// (reach_together.hpp), or to many ends at once (reach_by_tile.hpp), if that takes less
// (reach_choice.hpp). Short path types of a single relation are counted from all entities with a
// common hub, one hub after the other (reach_by_hub.hpp). A path type and the same path type walked
// backwards connect the same entities, so if both are asked for, mostly one of them need be walked
// (reach_inverses.hpp).
//
// The cost from one entity after the other is the number of edges leaving all those ends, and
// `reach_cost` finds it beforehand.
#pragma once

#include "common/parallel.hpp"
#include "common/path_type.hpp"
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
  by_tile,   // from many, to 2,048 ends at once (reach_by_tile.hpp)
  by_hub,    // from all with a common hub (reach_by_hub.hpp)
};

// Parallel to the pairs of relation and path type that were given.
struct Reach {
  explicit Reach(std::size_t pairs = 0)
      : reached(pairs), right(pairs), reached_open(pairs), right_open(pairs), skipped(pairs) {}

  std::vector<Count> reached;
  std::vector<Count> right;
  std::vector<Count> reached_open;  // of the ends reached, those whose slot is open
  std::vector<Count> right_open;    // of the right ends, those whose slot is open
  std::vector<Count> skipped;       // from how many entities a step was too wide

  void add(const Reach& other) {
    add_up(reached, other.reached);
    add_up(right, other.right);
    add_up(reached_open, other.reached_open);
    add_up(right_open, other.right_open);
    add_up(skipped, other.skipped);
  }

  // Copy the sums of one pair.
  void put(std::size_t pair, const Reach& other, std::size_t other_pair) {
    reached[pair] = other.reached[other_pair];
    right[pair] = other.right[other_pair];
    reached_open[pair] = other.reached_open[other_pair];
    right_open[pair] = other.right_open[other_pair];
    skipped[pair] = other.skipped[other_pair];
  }

 private:
  static void add_up(std::vector<Count>& total, const std::vector<Count>& more) {
    for (std::size_t pair = 0; pair < total.size(); ++pair)
      total[pair] += more[pair];
  }
};

// The sums of pairs, and those of their inverses where they are counted both ways, else 0.
struct ReachBothWays {
  explicit ReachBothWays(std::size_t pairs) : forwards(pairs), inverse(pairs) {}

  void add(const ReachBothWays& other) {
    forwards.add(other.forwards);
    inverse.add(other.inverse);
  }

  Reach forwards;
  Reach inverse;
};

// How many times wider than other steps a last step may be. An edge that paths go on from takes as
// long as 32 that are only counted (see the costs in reach_cost.hpp: 8 · 4).
constexpr Count last_is_wider = 32;

// The sums for all pairs, over those of `entities` that have the relation.
//
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
            std::span<const Way> ways, std::span<const Count> widest, int max_length, int threads,
            Progress& progress);

// The sums of all pairs and of their inverses, over all entities, where each path type is walked in
// the direction that is given.
//
// method  not `by_hub`; the others but `alone` are for path types of a few steps
ReachBothWays reach_both_ways(const Graph& graph, std::span<const RelationPathType> pairs,
                              Method method, int max_length, int threads, Progress& progress);

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
Reach reach_around(const Graph& graph, Id relation, std::span<const PathType> types,
                   std::span<const Endpoint> starts, std::span<const Endpoint> ends, int max_length,
                   int threads, Progress& progress);

}  // namespace casegraph
