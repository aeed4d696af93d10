// What all entities that have a relation answer.
#pragma once

#include <cmath>

#include "answering/answers.hpp"

namespace casegraph {

// What all entities that have the query relation answer, most frequent first. Nearly every possible
// answer has this evidence and no other; such a candidate is never made, since its place in this
// list is all there is to know about it.
class Habit {
 public:
  struct Given {
    Count count;
    Id answer;
  };

  Habit(const Graph& graph, Id relation, const Manner& manner, Ids rank, Progress& progress)
      : manner_(manner), rank_(rank) {
    Steps steps(progress);
    if (!manner.precedents) return;
    const Edges& given = graph.edges(inverse(relation));
    for (std::size_t row = 0; row < given.heads.size() && !reflexive_; ++row)
      reflexive_ =
          std::binary_search(given.row(row).begin(), given.row(row).end(), given.heads[row]);
    if (manner.habit == 0) return;
    entities_ = static_cast<Count>(graph.edges(relation).heads.size());
    list_.reserve(given.heads.size());
    for (std::size_t row = 0; row < given.heads.size(); ++row)
      list_.push_back({static_cast<Count>(given.row(row).size()), given.heads[row]});
    std::sort(list_.begin(), list_.end(), [&](const Given& a, const Given& b) {
      steps.take();
      return a.count != b.count ? a.count > b.count : rank[a.answer] < rank[b.answer];
    });
  }

  bool empty() const { return list_.empty(); }
  bool some_answer_themselves() const { return reflexive_; }
  std::span<const Given> list() const { return list_; }
  Count others(bool has_own) const { return entities_ - has_own; }
  double worth(Count count, Count others) const {
    return manner_.habit * static_cast<double>(count) /
           (static_cast<double>(others) + manner_.doubt);
  }
  double score(Count count, Count others) const {
    const double worth_ = worth(count, others);
    return manner_.sum ? worth_ : 0.0 - std::log1p(-worth_);
  }
  // How many of the list come before the first for which `ends` holds; it must hold for all after
  // that.
  template <class Ends>
  Count before(const Ends& ends) const {
    return std::partition_point(list_.begin(), list_.end(),
                                [&](const Given& given) { return !ends(given); }) -
           list_.begin();
  }
  Id rank(Id entity) const { return rank_[entity]; }

 private:
  const Manner manner_;
  const Ids rank_;
  Count entities_ = 0;
  bool reflexive_ = false;
  std::vector<Given> list_;
};

}  // namespace casegraph
