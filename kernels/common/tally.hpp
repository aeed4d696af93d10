// A hash table from path types to counts: open addressing with linear probing.
//
// Path type 0 is no path type, so it marks a free entry. The table is at most half full; its size
// is a power of two. Hashing multiplies by 2^64 / golden ratio (Fibonacci hashing) and takes bits
// from the middle of the product, which depend on all steps of a path type.
#pragma once

#include <algorithm>
#include <vector>

#include "common/path_type.hpp"

namespace casegraph {

class Tally {
 public:
  void add(PathType type, Count more) { (*this)[type] += more; }

  // The count of a path type; 0 if it is new.
  Count& operator[](PathType type) {
    if (entries_.size() < 2 * (used_ + 1))
      grow();
    std::size_t place = first_place(type);
    while (entries_[place].type != type && entries_[place].type != 0)
      place = (place + 1) & (entries_.size() - 1);
    Entry& entry = entries_[place];
    if (entry.type == 0) {
      entry.type = type;
      ++used_;
    }
    return entry.count;
  }

  // Call `visit(type, count)` for all entries, and give their memory back.
  template <class Visit>
  void drain(const Visit& visit) {
    for (const Entry& entry : entries_)
      if (entry.type != 0)
        visit(entry.type, entry.count);
    std::vector<Entry>().swap(entries_);
    used_ = 0;
  }

  // Forget all entries. So few places remain that they are in the cache next time.
  void clear() {
    entries_.assign(std::min<std::size_t>(entries_.size(), fewest_entries), {});
    used_ = 0;
  }

  bool empty() const { return used_ == 0; }
  std::size_t size() const { return used_; }

 private:
  static constexpr std::size_t fewest_entries = 16;

  struct Entry {
    PathType type = 0;
    Count count = 0;
  };

  std::size_t first_place(PathType type) const {
    const std::uint64_t product = static_cast<std::uint64_t>(type) * 0x9E3779B97F4A7C15u;
    return (product >> 20) & (entries_.size() - 1);
  }

  void grow() {
    std::vector<Entry> entries(std::max(fewest_entries, 2 * entries_.size()));
    entries.swap(entries_);
    used_ = 0;
    for (const Entry& entry : entries)
      if (entry.type != 0)
        add(entry.type, entry.count);
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

}  // namespace casegraph
