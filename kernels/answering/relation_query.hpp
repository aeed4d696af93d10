// What queries share: those of one relation, what is made of it once; all of them, the arrays they
// work with.
#pragma once

#include <deque>
#include <memory>

#include "answering/candidates.hpp"
#include "answering/habit.hpp"
#include "counting/trie.hpp"

namespace casegraph {

// What all queries of one relation share.
struct Asking {
  Asking(const Graph& graph_, Id relation_, const Lists& lists_, const Manner& manner_, Ids rank_,
         Progress& progress)
      : graph(graph_),
        relation(relation_),
        lists(lists_),
        manner(manner_),
        rank(rank_),
        trie(lists.types, manner.max_length),
        habit(graph, relation, manner, rank, progress) {
    pieces.reserve(lists.weights.size());
    for (double weight : lists.weights) pieces.emplace_back(weight);
    if (may_stop) count_cost(progress);
  }

  const Graph& graph;
  const Id relation;
  const Lists lists;
  const Manner manner;
  const Ids rank;
  const Trie trie;
  const Habit habit;
  const bool may_stop = manner.loop_free && !manner.sum;
  std::vector<Piece> pieces;  // parallel to lists.walked
  std::vector<Count>
      cost_from;  // the same: no more edges can be looked at for this and all later path types

 private:
  void count_cost(Progress& progress);
};

// The arrays that one query at a time needs; what they hold is of no use to the next.
struct Workspace {
  explicit Workspace(std::size_t entities)
      : candidates(entities), stamps(entities), tally{std::vector<std::uint32_t>(entities)} {}

  struct Visit {
    std::uint32_t epoch = 0;
    std::int32_t frontier =
        -1;  // in `frontiers`: where the paths that a node spells end; -1 if they lead nowhere
  };
  // Numbers of entities, which all begin anew at once: whatever is left of earlier ones is no more
  // than `none`.
  struct Tallies {
    std::vector<std::uint32_t> of;
    std::uint32_t next = 0;

    // What stands for 0, when no number will be larger than `most`.
    std::uint32_t none(std::size_t most) {
      if (next > UINT32_MAX - 2 * most) {
        std::fill(of.begin(), of.end(), 0);
        next = 0;
      }
      const std::uint32_t zero = next;
      next += static_cast<std::uint32_t>(most);
      return zero;
    }
  };
  Candidates candidates;
  Stamps stamps;
  Tallies tally;
  std::vector<Count> walks;
  std::vector<Visit> visits;  // by node of the trie
  std::deque<Frontier> frontiers;
  std::uint32_t epoch = 0;
};

// The workspaces of one graph that wait for the next queries: as many as have ever worked at the
// same time.
class Workspaces {
 public:
  std::unique_ptr<Workspace> take(std::size_t entities);
  void give_back(std::unique_ptr<Workspace> used);

 private:
  static constexpr std::size_t most_held =
      1 << 20;  // paths: a query that needed more is rare, and may make them anew

  std::mutex guard_;
  std::vector<std::unique_ptr<Workspace>> waiting_;
};

}  // namespace casegraph
