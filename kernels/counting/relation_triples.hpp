// How often three relations occur together, if there are few relations.
//
// Problem: a graph with few relations can have millions of triangles of a few hundred kinds. To
// find the entry of a triangle in a hash table takes longer than to find the triangle. Idea: an
// array instead, with a place for every three relations. It is cut into rows, one for every two
// relations, and a row is made when it is first asked for. Most never are, and new memory takes the
// system longer than it takes to count in it.
#pragma once

#include "common/progress.hpp"
#include "counting/type_numbers.hpp"

namespace casegraph {

class RelationTriples {
 public:
  // All rows together take at most two megabytes then.
  static constexpr std::size_t most_relations = 1 << 6;

  // relations  how many there are
  RelationTriples(const Packing& packing, std::size_t relations)
      : packing_(packing), relations_(relations), rows_(packing, relations) {}

  // The counts of the triples that begin with these two relations, by the third. Valid until the
  // next call.
  Count* row(Id first, Id second) {
    const std::size_t begin = rows_.of(first, second) * relations_;
    if (begin == counts_.size())
      counts_.resize(begin + relations_);
    return counts_.data() + begin;
  }

  // Call `use(first, second, third, count)` for all triples that were counted, and forget them.
  template <class Use>
  void drain(Steps& steps, const Use& use) {
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      const Id first = packing_.relation(rows_.type(row), 0);
      const Id second = packing_.relation(rows_.type(row), 1);
      steps.take(static_cast<Count>(relations_));
      for (std::size_t third = 0; third < relations_; ++third) {
        const Count count = counts_[row * relations_ + third];
        if (count > 0)
          use(first, second, static_cast<Id>(third), count);
      }
    }
    rows_.clear();
    counts_.clear();
  }

 private:
  const Packing packing_;
  const std::size_t relations_;
  TypeNumbers rows_;           // the row of every two relations
  std::vector<Count> counts_;  // by row and third relation
};

}  // namespace casegraph
