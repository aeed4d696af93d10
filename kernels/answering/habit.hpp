// The habit of a relation: the answers of all entities that have it.
//
// Problem: nearly every entity that ever was an answer is a possible answer of every query. Idea:
// candidates that have no evidence but the habit are never created. The list of all answers, most
// frequent first, is made once for the relation, and the place in it says all about them.
#pragma once

#include <cmath>
#include <vector>

#include "answering/answers.hpp"
#include "common/radix_sort.hpp"

namespace casegraph {

class Habit {
 public:
  struct Given {
    Count count;  // how many entities have this answer
    Id answer;
  };

  // rank  (graph.entities)  the order of answers that are equally frequent
  Habit(const Graph& graph, Id relation, const QueryOptions& options, Ids rank, Progress& progress)
      : options_(options), rank_(rank) {
    if (!options.precedents)
      return;
    const Edges& given = graph.edges(inverse(relation));
    for (std::size_t row = 0; row < given.heads.size() && !is_reflexive_; ++row) {
      const Ids givers = given.row(row);
      is_reflexive_ = std::binary_search(givers.begin(), givers.end(), given.heads[row]);
    }
    if (options.habit == 0)
      return;
    entities_ = static_cast<Count>(graph.edges(relation).heads.size());

    list_.reserve(given.heads.size());
    for (std::size_t row = 0; row < given.heads.size(); ++row)
      list_.push_back({static_cast<Count>(given.row(row).size()), given.heads[row]});
    std::vector<Given> buffer;
    Steps steps(progress);
    sort_by(list_, buffer, steps,
            [&](const Given& one) { return std::uint64_t(rank[one.answer]); });
    sort_by(list_, buffer, steps, [&](const Given& one) { return most_entities - one.count; });
  }

  // Whether the habit does not count.
  bool empty() const { return list_.empty(); }

  bool some_answer_themselves() const { return is_reflexive_; }
  std::span<const Given> list() const { return list_; }
  Id rank(Id entity) const { return rank_[entity]; }

  // How many other entities have the relation, for an entity that has it itself or not.
  Count others(bool has_it) const { return entities_ - has_it; }

  double worth(Count count, Count others) const {
    return options_.habit * static_cast<double>(count) /
           (static_cast<double>(others) + options_.doubt);
  }

  // The score of a candidate that has no other evidence.
  double score(Count count, Count others) const {
    const Worth of_habit(worth(count, others));
    return options_.sum ? of_habit.value : of_habit.strength;
  }

  // How many entries of the list come before the first for which `is_after` holds. It must hold for
  // all entries from there on.
  template <class IsAfter>
  Count before(const IsAfter& is_after) const {
    const auto is_before = [&](const Given& given) { return !is_after(given); };
    return std::partition_point(list_.begin(), list_.end(), is_before) - list_.begin();
  }

 private:
  static constexpr std::uint64_t most_entities = UINT32_MAX;  // ids have 32 bits

  const QueryOptions options_;
  const Ids rank_;
  Count entities_ = 0;  // that have the relation
  bool is_reflexive_ = false;
  std::vector<Given> list_;  // most frequent first
};

}  // namespace casegraph
