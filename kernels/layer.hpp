// Half paths of one length, grouped by where they end.
#pragma once

#include <span>
#include <vector>

#include "graph.hpp"

namespace casegraph {

// Room is made for all halves before the first is kept: `expect` them, `arrange` once, `add` each.
template <class Half>
class Layer {
 public:
  explicit Layer(std::size_t entities) : begin_(entities), size_(entities) {}

  void expect(Id end, std::size_t many) {
    if (size_[end] == 0) ends.push_back(end);
    size_[end] += static_cast<std::uint32_t>(many);
  }
  // Ends with fewer halves than `least` are forgotten.
  void arrange(std::size_t least = 1) {
    std::size_t place = 0, kept = 0;
    for (Id end : ends) {
      const std::size_t many = size_[end];
      size_[end] = 0;
      begin_[end] = many < least ? nowhere : place;
      if (many < least) continue;
      ends[kept++] = end;
      place += many;
    }
    ends.resize(kept);
    halves_.resize(place);
  }
  void add(Id end, const Half& half) {
    if (begin_[end] != nowhere) halves_[begin_[end] + size_[end]++] = half;
  }
  void clear() {
    for (Id end : ends) size_[end] = 0;
    ends.clear();
  }
  std::span<Half> at(Id end) {
    if (size_[end] == 0) return {};
    return {halves_.data() + begin_[end], size_[end]};
  }

  std::vector<Id> ends;

 private:
  static constexpr std::size_t nowhere = SIZE_MAX;
  std::vector<Half> halves_;
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> size_;
};

}  // namespace casegraph
