// A set of small numbers as a bitset: one bit for each number that could be in it.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "common/ids.hpp"

namespace casegraph {

// How many bits are set in both of two bitsets of the same length, if they are long.
Count count_common_bits_of_many_words(std::span<const std::uint64_t> one,
                                      std::span<const std::uint64_t> other);

// The same for any length.
inline Count count_common_bits(std::span<const std::uint64_t> one,
                               std::span<const std::uint64_t> other) {
  constexpr std::size_t few_words = 16;
  if (one.size() >= few_words)
    return count_common_bits_of_many_words(one, other);
  Count common = 0;
  for (std::size_t word = 0; word < one.size(); ++word)
    common += std::popcount(one[word] & other[word]);
  return common;
}

class Bits {
 public:
  explicit Bits(std::size_t size = 0) : words_(size / 64 + 1) {}

  // Make it empty, with room for the numbers below `size`.
  void reset(std::size_t size) { words_.assign(size / 64 + 1, 0); }

  bool has(std::size_t number) const { return words_[number >> 6] >> (number & 63) & 1; }

  // Returns whether the number is new.
  bool insert(std::size_t number) {
    std::uint64_t& word = words_[number >> 6];
    const std::uint64_t before = word;
    word |= std::uint64_t{1} << (number & 63);
    return word != before;
  }

  // The same, if it does not matter whether it is new.
  void put(std::size_t number) { words_[number >> 6] |= std::uint64_t{1} << (number & 63); }

  void erase(std::size_t number) { words_[number >> 6] &= ~(std::uint64_t{1} << (number & 63)); }

  // Insert a whole set, given as words. Returns how many of its numbers are new.
  Count insert(std::span<const std::uint64_t> set) {
    Count added = 0;
    for (std::size_t word = 0; word < set.size(); ++word) {
      added += std::popcount(set[word] & ~words_[word]);
      words_[word] |= set[word];
    }
    return added;
  }

  // The same, if it does not matter how many are new.
  void put(std::span<const std::uint64_t> set) {
    for (std::size_t word = 0; word < set.size(); ++word)
      words_[word] |= set[word];
  }

  std::size_t words() const { return words_.size(); }

  // How many numbers are in it.
  Count count() const { return count_common_bits(words_, words_); }

  // Call `use(number)` for every number in it.
  template <class Use>
  void each(const Use& use) const {
    for (std::size_t word = 0; word < words_.size(); ++word)
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1)
        use(64 * word + static_cast<std::size_t>(std::countr_zero(left)));
  }

  // How many numbers are in it and in another set, given as words.
  Count count_common(std::span<const std::uint64_t> set) const {
    return count_common_bits(set, std::span(words_).first(set.size()));
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace casegraph
