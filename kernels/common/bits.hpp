// A set of small numbers, one bit each.
#pragma once

#include "graph/graph.hpp"

namespace casegraph {

class Bits {
 public:
  explicit Bits(std::size_t size = 0) : words_(size / 64 + 1) {}

  void renew(std::size_t size) { words_.assign(size / 64 + 1, 0); }
  bool has(std::size_t number) const { return words_[number >> 6] >> (number & 63) & 1; }
  // Put it in, and say whether it was not.
  bool take(std::size_t number) {
    std::uint64_t& word = words_[number >> 6];
    const std::uint64_t before = word;
    word |= std::uint64_t{1} << (number & 63);
    return word != before;
  }
  void drop(std::size_t number) { words_[number >> 6] &= ~(std::uint64_t{1} << (number & 63)); }
  // Put all of a set in, given as words: how many of them were not.
  Count take(std::span<const std::uint64_t> set) {
    Count more = 0;
    for (std::size_t word = 0; word < set.size(); ++word) {
      more += std::popcount(set[word] & ~words_[word]);
      words_[word] |= set[word];
    }
    return more;
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace casegraph
