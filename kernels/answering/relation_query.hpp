// What all queries of one relation share, made once: its path types as a trie, its habit, the worth
// of each path type.
#pragma once

#include <vector>

#include "answering/candidates.hpp"
#include "answering/habit.hpp"
#include "counting/trie.hpp"

namespace casegraph {

struct RelationQuery {
  RelationQuery(const Graph& graph_, Id relation_, const WalkLists& lists_,
                const QueryOptions& options_, Ids rank_, Progress& progress);

  const Graph& graph;
  const Id relation;
  const WalkLists lists;
  const QueryOptions options;
  const Ids rank;  // (graph.entities)  the order of answers with equal scores
  const Trie trie;
  const Habit habit;

  // Bounds need scores that are a noisy-or, and ends that do not depend on how often they are
  // reached.
  const bool may_stop_early;

  // Parallel to lists.walked: what each path type is worth for open and for taken slots, and the
  // larger strength of both. It falls along a list.
  std::vector<std::array<Piece, 2>> pieces;
  std::vector<double> strengths;

  // Parallel to lists.walked, if it may stop early: an upper bound of the edges that this and all
  // later path types of the list look at.
  std::vector<Count> cost_from;

 private:
  void find_costs(Progress& progress);
};

}  // namespace casegraph
