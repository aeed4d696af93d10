// Numbers path types of two steps from 0 on, in the order they come.
//
// Problem: the types of thousands of small searches are numbered, one search after the other. A new
// hash table for each would be allocated and grown every time; one large table would be cleared
// every time, and be in no cache. Idea: keep the memory, but use only as much of it as the types at
// hand need. So clearing takes as long as the types that were there, and few types stay in the
// cache.
//
// Open addressing with linear probing, at most half full; hashing as in common/tally.hpp. If there
// are few relations, a table with a place for every two of them is quicker.
#pragma once

#include <algorithm>
#include <vector>

#include "common/path_type.hpp"

namespace casegraph {

class TypeNumbers {
 public:
  // relations  how many there are
  TypeNumbers(const Packing& packing, std::size_t relations)
      : packing_(packing),
        relations_(relations),
        numbers_(relations <= few_relations ? relations * relations : 0),
        entries_(fewest_entries) {}

  // The number of a type, which is the next one if it is new.
  std::uint32_t of(Id first, Id second) {
    const PathType type = packing_.step(first, 0) | packing_.step(second, 1);
    return numbers_.empty() ? by_hash(type) : by_relations(first, second, type);
  }

  PathType type(std::uint32_t number) const { return types_[number]; }
  std::size_t size() const { return types_.size(); }

  void clear() {
    if (numbers_.empty()) {
      empty_entries();
      in_use_ = fewest_entries;
    } else {
      for (PathType type : types_)
        numbers_[place_of(packing_.relation(type, 0), packing_.relation(type, 1))] = 0;
    }
    types_.clear();
  }

 private:
  // The table takes a megabyte then.
  static constexpr std::size_t few_relations = 1 << 9;
  static constexpr std::size_t fewest_entries = 16;

  struct Entry {
    PathType type = 0;  // 0 is no path type: the entry is free
    std::uint32_t number = 0;
  };

  std::size_t place_of(Id first, Id second) const {
    return static_cast<std::size_t>(first) * relations_ + static_cast<std::size_t>(second);
  }

  std::uint32_t by_relations(Id first, Id second, PathType type) {
    std::uint32_t& next_number = numbers_[place_of(first, second)];
    if (next_number == 0) {
      types_.push_back(type);
      next_number = static_cast<std::uint32_t>(types_.size());
    }
    return next_number - 1;
  }

  std::uint32_t by_hash(PathType type) {
    for (std::size_t place = first_place(type);; place = (place + 1) & (in_use_ - 1)) {
      Entry& entry = entries_[place];
      if (entry.type == type)
        return entry.number;
      if (entry.type != 0)
        continue;
      entry = {type, static_cast<std::uint32_t>(types_.size())};
      types_.push_back(type);
      if (in_use_ < 2 * types_.size())
        grow();
      return static_cast<std::uint32_t>(types_.size()) - 1;
    }
  }

  std::size_t first_place(PathType type) const {
    const std::uint64_t product = static_cast<std::uint64_t>(type) * 0x9E3779B97F4A7C15u;
    return (product >> 20) & (in_use_ - 1);
  }

  void empty_entries() { std::fill_n(entries_.begin(), in_use_, Entry{}); }

  void grow() {
    empty_entries();
    in_use_ *= 2;
    if (entries_.size() < in_use_)
      entries_.resize(in_use_);
    for (std::uint32_t number = 0; number < types_.size(); ++number) {
      std::size_t place = first_place(types_[number]);
      while (entries_[place].type != 0)
        place = (place + 1) & (in_use_ - 1);
      entries_[place] = {types_[number], number};
    }
  }

  const Packing packing_;
  const std::size_t relations_;
  std::vector<std::uint32_t> numbers_;  // by two relations: the number plus one; 0 for none
  std::vector<Entry> entries_;          // free beyond those in use
  std::size_t in_use_ = fewest_entries;
  std::vector<PathType> types_;  // by number
};

}  // namespace casegraph
