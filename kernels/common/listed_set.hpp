// A set of entities that is kept twice: as a list, and as one bit for each entity.
//
// Problem: counting distinct ends asks of every edge whether its tail is new, and goes to memory at
// random for that. Idea: bits take a thirty-second of the memory of `Stamps`, so they stay in a
// cache that is close to the processor. Clearing goes through the list, which a caller that wants
// the members has anyway.
#pragma once

#include <vector>

#include "common/bits.hpp"
#include "common/ids.hpp"

namespace casegraph {

class ListedSet {
 public:
  explicit ListedSet(std::size_t entities) : bits_(entities) {}

  void clear() {
    for (Id entity : members_)
      bits_.erase(static_cast<std::size_t>(entity));
    members_.clear();
  }

  bool has(Id entity) const { return bits_.has(static_cast<std::size_t>(entity)); }

  // In the order in which they were inserted.
  const std::vector<Id>& members() const { return members_; }

  void insert(Id entity) {
    if (bits_.insert(static_cast<std::size_t>(entity)))
      members_.push_back(entity);
  }

  // Insert a whole row. Nothing is decided on the way: each entity is written to the list, and the
  // next one replaces it unless it is new.
  void insert(Ids row) {
    std::size_t next = members_.size();
    members_.resize(next + row.size());
    for (Id entity : row) {
      members_[next] = entity;
      next += bits_.insert(static_cast<std::size_t>(entity));
    }
    members_.resize(next);
  }

 private:
  Bits bits_;
  std::vector<Id> members_;
};

}  // namespace casegraph
