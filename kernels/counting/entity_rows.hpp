// The rows of each entity: which relations it has, and its row in each.
//
// Problem: of maybe thousands of relations an entity has a handful. To look it up in every relation
// that a path could go on with takes an access to memory each, and most of them find nothing.
// Idea: the transpose of the heads of all relations, in compressed sparse rows. An entity's list
// names the relations that it does have, and saves the lookup of its rows in them.
//
// Cost: two passes over the heads of all relations; eight bytes for each, and eight an entity.
#pragma once

#include "common/large_vector.hpp"
#include "graph/graph.hpp"

namespace casegraph {

class EntityRows {
 public:
  struct Row {
    Id relation;
    Id row;  // the place of the entity among the heads of the relation
  };

  EntityRows(const Graph& graph, Steps& steps) : offsets_(graph.entities + std::size_t{1}) {
    for (const auto& edges : graph.relations) {
      steps.take(std::ssize(edges->heads));
      for (Id head : edges->heads)
        ++offsets_[head + std::size_t{1}];
    }
    for (std::size_t at = 1; at < offsets_.size(); ++at)
      offsets_[at] += offsets_[at - 1];

    // Fill the lists by moving each beginning to its end, which is where the next list begins.
    rows_.resize(static_cast<std::size_t>(offsets_.back()));
    for (std::size_t relation = 0; relation < graph.relations.size(); ++relation) {
      const Ids heads = graph.relations[relation]->heads;
      steps.take(std::ssize(heads));
      for (std::size_t row = 0; row < heads.size(); ++row)
        rows_[static_cast<std::size_t>(offsets_[heads[row]]++)] = {static_cast<Id>(relation),
                                                                   static_cast<Id>(row)};
    }
    for (std::size_t at = offsets_.size() - 1; at > 0; --at)
      offsets_[at] = offsets_[at - 1];
    offsets_[0] = 0;
  }

  // Sorted by relation.
  std::span<const Row> of(Id entity) const {
    const auto begin = static_cast<std::size_t>(offsets_[entity]);
    const auto end = static_cast<std::size_t>(offsets_[entity + std::size_t{1}]);
    return std::span(rows_).subspan(begin, end - begin);
  }

 private:
  LargeVector<std::int64_t> offsets_;  // (entities + 1)
  LargeVector<Row> rows_;
};

}  // namespace casegraph
