// The askers of each answer of a relation as bitsets.
//
// Problem: how many of some entities give an answer is asked for many sets of entities and many
// answers. Idea: where a relation is dense, so that its answers have many askers in common, both
// are bitsets over the entities that have the relation, and a word says it for 64 of them.
//
// Made once for the relation, if bitsets take no more words than the relation has edges.
#pragma once

#include <vector>

#include "common/progress.hpp"
#include "graph/graph.hpp"

namespace casegraph {

class AskerBits {
 public:
  AskerBits() = default;
  AskerBits(const Graph& graph, Id relation, Progress& progress) {
    Steps steps(progress);
    const Edges& by_asker = graph.edges(relation);
    const Edges& by_answer = graph.edges(inverse(relation));
    words_ = words_for(by_asker);
    const std::size_t all_words = by_answer.heads.size() * words_;
    if (all_words > by_asker.tails.size())
      return;
    bits_.resize(all_words);
    for (std::size_t row = 0; row < by_answer.heads.size(); ++row) {
      std::uint64_t* const bits = &bits_[row * words_];
      const Ids askers = by_answer.row(row);
      steps.take(1 + std::ssize(askers));
      for (Id asker : askers) {
        const std::size_t place = by_asker.row_of(asker);
        bits[place >> 6] |= std::uint64_t{1} << (place & 63);
      }
    }
  }

  // How many words a set of the entities that have the relation takes.
  static std::size_t words_for(const Edges& by_asker) { return by_asker.heads.size() / 64 + 1; }

  // Whether the relation is not dense.
  bool empty() const { return bits_.empty(); }

  // The askers of an answer, which is given by its row among the answers: their rows.
  std::span<const std::uint64_t> of(std::size_t row) const {
    return {bits_.data() + row * words_, words_};
  }

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

}  // namespace casegraph
