// What all queries of one relation share, made once: its path types as a trie, its habit, the worth
// of each path type.
#pragma once

#include <vector>

#include "answering/candidates.hpp"
#include "answering/habit.hpp"
#include "counting/trie.hpp"

namespace casegraph {

// Parallel to `WalkLists::walked`: what each path type is worth for open and for taken slots.
using PathWorths = std::vector<std::array<Worth, 2>>;

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

  // Parallel to lists.walked: where each path type ends in the trie, and its last step. Lists are
  // walked from the front, and reading this one after the other takes less than looking for it.
  struct End {
    std::int32_t node;
    Trie::Node last;
  };
  std::vector<End> ends;

  PathWorths worths;
  std::array<PathWorths, 2> worths_if_fewer;  // as in `WalkLists::fewer`
  std::vector<double> strengths;              // the larger of both slots; it falls along a list

  // Parallel to lists.walked, if it may stop early: an upper bound of the edges that this and all
  // later path types of the list look at.
  std::vector<Count> cost_from;

 private:
  PathWorths worths_of(std::span<const double> open, std::span<const double> taken) const;
  void find_costs(Progress& progress);
};

}  // namespace casegraph
