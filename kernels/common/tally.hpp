// Path type -> count, by open addressing; path type 0 is no path type and marks a free place.
#pragma once

#include <vector>

#include "common/path_type.hpp"

namespace casegraph {

class Tally {
 public:
  void add(PathType type, Count more) { (*this)[type] += more; }
  // The count of a type; 0 if it is new.
  Count& operator[](PathType type) {
    if (entries_.size() < 2 * (used_ + 1)) grow();
    std::size_t place = slot(type);
    while (entries_[place].type != type && entries_[place].type != 0)
      place = (place + 1) & (entries_.size() - 1);
    Entry& entry = entries_[place];
    if (entry.type == 0) {
      entry.type = type;
      ++used_;
    }
    return entry.count;
  }
  template <class Visit>
  void drain(const Visit& visit) {
    for (const Entry& entry : entries_)
      if (entry.type != 0) visit(entry.type, entry.count);
    std::vector<Entry>().swap(entries_);
    used_ = 0;
  }
  bool empty() const { return used_ == 0; }
  std::size_t size() const { return used_; }

 private:
  struct Entry {
    PathType type = 0;
    Count count = 0;
  };
  std::size_t slot(PathType type) const {
    return (static_cast<std::uint64_t>(type) * 0x9E3779B97F4A7C15u >> 20) & (entries_.size() - 1);
  }
  void grow() {
    std::vector<Entry> entries(std::max<std::size_t>(16, 2 * entries_.size()));
    entries.swap(entries_);
    used_ = 0;
    for (const Entry& entry : entries)
      if (entry.type != 0) add(entry.type, entry.count);
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

}  // namespace casegraph
