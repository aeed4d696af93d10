// Half paths of one length, grouped by where they end.
#pragma once

#include <span>
#include <vector>

#include "graph.hpp"

namespace casegraph {

template <class Half>
class Layer {
 public:
  explicit Layer(std::size_t entities) : begin_(entities), size_(entities) {}

  void add(Id end, const Half& half) {
    found_.emplace_back(end, half);
    if (size_[end]++ == 0) ends.push_back(end);
  }
  void group() {
    std::uint32_t place = 0;
    for (Id end : ends) {
      begin_[end] = place;
      place += size_[end];
      size_[end] = 0;
    }
    grouped_.resize(place);
    for (const auto& [end, half] : found_) grouped_[begin_[end] + size_[end]++] = half;
  }
  void clear() {
    for (Id end : ends) size_[end] = 0;
    ends.clear();
    found_.clear();
  }
  std::span<Half> at(Id end) { return {grouped_.data() + begin_[end], size_[end]}; }

  std::vector<Id> ends;

 private:
  std::vector<std::pair<Id, Half>> found_;
  std::vector<Half> grouped_;
  std::vector<std::uint32_t> begin_, size_;
};

}  // namespace casegraph
