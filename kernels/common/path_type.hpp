// A path type as one integer: the relation of step i, plus one, stands in the i-th group of bits,
// the first step lowest.
#pragma once

#include <algorithm>

#include "graph/graph.hpp"

namespace casegraph {

using PathType = std::int64_t;

// The groups are as wide as the longest path type allows, so that a path type keeps its number
// while relations are added.
class Packing {
 public:
  explicit Packing(int max_length) : bits_(std::min(31, 62 / max_length)) {}

  PathType step(Id relation, int place) const {
    return (static_cast<PathType>(relation) + 1) << (bits_ * place);
  }
  PathType shift(PathType type, int places) const {
    return places == 0 ? type : type << (bits_ * places);
  }
  Id relation(PathType type, int place) const {
    return static_cast<Id>((type >> (bits_ * place)) & mask()) - 1;
  }
  PathType prefix(PathType type, int length) const {
    return type & ((PathType{1} << (bits_ * length)) - 1);
  }
  // Whether so many relations can be told apart.
  bool has_room(std::size_t relations) const {
    return relations < static_cast<std::size_t>(mask());
  }
  // Whether a number is a path type of one to `longest` steps over so many relations.
  bool is_path_type(PathType type, int longest, std::size_t relations) const {
    int steps = 0;
    for (; type > 0 && steps < longest; type >>= bits_, ++steps) {
      const auto step = static_cast<std::size_t>(type & mask());
      if (step == 0 || step > relations) return false;
    }
    return steps > 0 && type == 0;
  }
  int length(PathType type) const {
    int steps = 0;
    for (; type != 0; type >>= bits_) ++steps;
    return steps;
  }

 private:
  PathType mask() const { return (PathType{1} << bits_) - 1; }
  int bits_;
};

// The path type that leads back.
inline PathType backwards(PathType type, const Packing& packing) {
  PathType back = 0;
  for (int length = packing.length(type), place = 0; place < length; ++place)
    back |= packing.step(inverse(packing.relation(type, length - 1 - place)), place);
  return back;
}

}  // namespace casegraph
