// Path type -> count, by open addressing; path type 0 is no path type and marks a free place.
#pragma once

#include <vector>

#include "path_type.hpp"

namespace casegraph {

class Tally {
 public:
  void add(PathType type, Count more) {
    if (keys_.size() < 2 * (used_ + 1)) grow();
    std::size_t place = slot(type);
    while (keys_[place] != type && keys_[place] != 0) place = (place + 1) & (keys_.size() - 1);
    if (keys_[place] == 0) {
      keys_[place] = type;
      ++used_;
    }
    counts_[place] += more;
  }
  template <class Visit>
  void drain(const Visit& visit) {
    for (std::size_t place = 0; place < keys_.size(); ++place)
      if (keys_[place] != 0) visit(keys_[place], counts_[place]);
    clear();
  }
  void clear() {
    std::vector<PathType>().swap(keys_);
    std::vector<Count>().swap(counts_);
    used_ = 0;
  }
  bool empty() const { return used_ == 0; }
  std::size_t size() const { return used_; }

 private:
  std::size_t slot(PathType type) const {
    return (static_cast<std::uint64_t>(type) * 0x9E3779B97F4A7C15u >> 20) & (keys_.size() - 1);
  }
  void grow() {
    std::vector<PathType> keys(std::max<std::size_t>(16, 2 * keys_.size()));
    std::vector<Count> counts(keys.size());
    keys.swap(keys_);
    counts.swap(counts_);
    used_ = 0;
    for (std::size_t place = 0; place < keys.size(); ++place)
      if (keys[place] != 0) add(keys[place], counts[place]);
  }

  std::vector<PathType> keys_;
  std::vector<Count> counts_;
  std::size_t used_ = 0;
};

}  // namespace casegraph
