// Records all pieces of evidence for some answers while a query is answered.
#pragma once

#include <unordered_map>

#include "answering/answers.hpp"
#include "common/bits.hpp"

namespace casegraph {

class EvidenceRecord {
 public:
  // answers   in the graph; an answer may be asked for several times
  // entities  how many the graph has
  EvidenceRecord(Ids answers, std::size_t entities) : answers_(answers), is_wanted_(entities) {
    for (Id answer : answers)
      is_wanted_.insert(static_cast<std::size_t>(answer));
  }

  Ids answers() const { return answers_; }

  void add(Id answer, const Piece& piece) {
    if (is_wanted_.has(static_cast<std::size_t>(answer)))
      pieces_[answer].push_back(piece);
  }

  // The pieces of each answer, in the order they were added.
  EvidenceOfEach of_each() const {
    EvidenceOfEach found;
    found.offsets.push_back(0);
    for (Id answer : answers_) {
      if (const auto at = pieces_.find(answer); at != pieces_.end())
        found.pieces.insert(found.pieces.end(), at->second.begin(), at->second.end());
      found.offsets.push_back(static_cast<std::int64_t>(found.pieces.size()));
    }
    return found;
  }

 private:
  const Ids answers_;
  Bits is_wanted_;  // asked for every end of every path type
  std::unordered_map<Id, std::vector<Piece>> pieces_;
};

}  // namespace casegraph
