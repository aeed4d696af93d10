// A path type (the relations of a path, in their order) as one integer.
//
// Step i is the i-th group of bits, the first step lowest, and holds the relation plus one. So 0 is
// no step, and the length of a path type can be read from the integer.
#pragma once

#include <algorithm>

#include "common/ids.hpp"

namespace casegraph {

using PathType = std::int64_t;

constexpr int longest_path = 5;  // a path type of five steps leaves twelve bits for a relation

// The groups are as wide as the longest path type allows: 62 / max_length bits, and no more than an
// id has. So a path type keeps its integer while relations are added to the graph.
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
  PathType without_first(PathType type) const { return type >> bits_; }
  PathType prefix(PathType type, int length) const {
    return type & ((PathType{1} << (bits_ * length)) - 1);
  }
  int length(PathType type) const {
    int steps = 0;
    for (; type != 0; type >>= bits_)
      ++steps;
    return steps;
  }

  // Whether so many relations fit into a group of bits.
  bool has_room(std::size_t relations) const {
    return relations < static_cast<std::size_t>(mask());
  }

  // Whether an integer is a path type of 1 to `longest` steps over so many relations.
  bool is_path_type(PathType type, int longest, std::size_t relations) const {
    int steps = 0;
    for (; type > 0 && steps < longest; type >>= bits_, ++steps) {
      const auto step = static_cast<std::size_t>(type & mask());
      if (step == 0 || step > relations)
        return false;
    }
    return steps > 0 && type == 0;
  }

 private:
  PathType mask() const { return (PathType{1} << bits_) - 1; }

  int bits_;
};

// The path type of the same paths, walked from their ends to their starts.
inline PathType backwards(PathType type, const Packing& packing) {
  PathType back = 0;
  const int length = packing.length(type);
  for (int place = 0; place < length; ++place) {
    const Id relation = packing.relation(type, length - 1 - place);
    back |= packing.step(inverse(relation), place);
  }
  return back;
}

}  // namespace casegraph
