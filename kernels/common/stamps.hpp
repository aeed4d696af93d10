// Marks on entities that are all cleared at once, in constant time.
//
// Problem: every step of every path needs an empty set of entities, and clearing an array of all
// entities would take longer than the step. Idea: timestamps. An entity is marked if its stamp is
// the current epoch, so that starting a new epoch clears all marks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "common/ids.hpp"
#include "common/large_vector.hpp"

namespace casegraph {

class Marks {
 public:
  explicit Marks(std::size_t entities) : epoch_(entities) {}

  // Clear all marks.
  void renew() {
    if (++now_ != 0)
      return;
    std::fill(epoch_.begin(), epoch_.end(), 0);  // after 2^32 epochs old stamps would count again
    now_ = 1;
  }

  bool has(Id entity) const { return epoch_[entity] == now_; }
  void set(Id entity) { epoch_[entity] = now_; }

  // Mark an entity. Returns whether it was not marked before.
  bool insert(Id entity) {
    const bool is_new = epoch_[entity] != now_;
    epoch_[entity] = now_;
    return is_new;
  }

 private:
  LargeVector<std::uint32_t> epoch_;
  std::uint32_t now_ = 0;
};

// Marks that can carry a number: where in some list the entity is.
class Stamps : public Marks {
 public:
  explicit Stamps(std::size_t entities) : Marks(entities), slot_(entities) {}

  using Marks::set;
  void set(Id entity, std::size_t slot) {
    set(entity);
    slot_[entity] = static_cast<std::uint32_t>(slot);
  }
  std::size_t slot(Id entity) const { return slot_[entity]; }

 private:
  LargeVector<std::uint32_t> slot_;
};

}  // namespace casegraph
