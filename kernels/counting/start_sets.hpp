// Sets of starts: from which of up to 256 entities, the starts of a batch, a path leads here.
//
// Problem: from nearly every entity of a dense graph the same path types lead nearly everywhere,
// and walking from one entity after the other looks at the same edges again and again.
//
// Idea: bit-parallel breadth-first search from many sources (MS-BFS, Then et al. 2014). Every
// entity holds one bit for each start, so that following an edge once follows it for all starts.
// The words of a set are joined in loops of fixed length, which compilers turn into vector
// instructions wherever there are any.
#pragma once

#include <array>
#include <bit>
#include <vector>

#include "common/ids.hpp"

namespace casegraph {

struct alignas(32) StartSet {
  static constexpr std::size_t size = 256;
  static constexpr std::size_t words = size / 64;

  std::array<std::uint64_t, words> bits{};

  void insert(std::size_t start) { bits[start >> 6] |= std::uint64_t{1} << (start & 63); }
  void erase(std::size_t start) { bits[start >> 6] &= ~(std::uint64_t{1} << (start & 63)); }

  bool empty() const { return (bits[0] | bits[1] | bits[2] | bits[3]) == 0; }
  bool operator==(const StartSet& other) const {
    std::uint64_t differing = 0;
    for (std::size_t word = 0; word < words; ++word)
      differing |= bits[word] ^ other.bits[word];
    return differing == 0;
  }

  StartSet& operator|=(const StartSet& other) {
    for (std::size_t word = 0; word < words; ++word)
      bits[word] |= other.bits[word];
    return *this;
  }
  StartSet& operator^=(const StartSet& other) {
    for (std::size_t word = 0; word < words; ++word)
      bits[word] ^= other.bits[word];
    return *this;
  }
  friend StartSet operator|(const StartSet& one, const StartSet& other) {
    StartSet joined = one;
    return joined |= other;
  }
  friend StartSet operator^(const StartSet& one, const StartSet& other) {
    StartSet differing = one;
    return differing ^= other;
  }
  friend StartSet operator&(const StartSet& one, const StartSet& other) {
    StartSet both;
    for (std::size_t word = 0; word < words; ++word)
      both.bits[word] = one.bits[word] & other.bits[word];
    return both;
  }

  // Those of this set that are not in the other.
  StartSet without(const StartSet& other) const {
    StartSet rest;
    for (std::size_t word = 0; word < words; ++word)
      rest.bits[word] = bits[word] & ~other.bits[word];
    return rest;
  }

  Count count_common(const StartSet& other) const {
    Count common = 0;
    for (std::size_t word = 0; word < words; ++word)
      common += std::popcount(bits[word] & other.bits[word]);
    return common;
  }

  // Call `use(start)` for every start in the set.
  template <class Use>
  void each(const Use& use) const {
    for (std::size_t word = 0; word < words; ++word)
      for (std::uint64_t left = bits[word]; left != 0; left &= left - 1)
        use(64 * word + static_cast<std::size_t>(std::countr_zero(left)));
  }
};

// Where paths of one type stand, from all starts of a batch.
struct StartSets {
  explicit StartSets(std::size_t graph_entities) : of(graph_entities) {}

  void clear() {
    for (Id entity : entities)
      of[entity] = {};
    entities.clear();
    all = {};
  }

  // A path from each of these starts leads to an entity.
  void add(Id entity, const StartSet& starts) {
    if (starts.empty())
      return;
    if (of[entity].empty())
      entities.push_back(entity);
    of[entity] |= starts;
    all |= starts;
  }

  // A path from one start leads to each of these entities.
  void add(Ids reached, std::size_t start) {
    for (Id entity : reached) {
      if (of[entity].empty())
        entities.push_back(entity);
      of[entity].insert(start);
    }
    if (!reached.empty())
      all.insert(start);
  }

  std::vector<StartSet> of;  // by entity; empty for those that are not in `entities`
  std::vector<Id> entities;  // where some path stands; each once
  StartSet all;              // at least the starts from which a path stands anywhere
};

// How many sets each start is in.
//
// Idea: a counter whose digits are sets (bit slices). Adding a set to it takes as many operations
// as the addition carries over. Eight sets at a time are first added up by a tree of full adders,
// so that only one in eight carries into the higher digits (Harley and Seal's population count).
class StartTallies {
 public:
  // Count so many sets; `set(at)` is the one at a place.
  template <class SetAt>
  void count(std::size_t size, const SetAt& set) {
    digits_ = {};
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8)
      add_eight([&](std::size_t place) -> const StartSet& { return set(at + place); });
    for (; at < size; ++at)
      add(set(at), 0);

    times_.fill(0);
    for (std::size_t digit = 0; digit < digits_.size(); ++digit)
      digits_[digit].each([&](std::size_t start) { times_[start] += Count{1} << digit; });
  }

  Count operator[](std::size_t start) const { return times_[start]; }

 private:
  // A full adder of one binary digit, for all starts at once. Returns what is carried.
  static StartSet add_two(StartSet& sum, const StartSet& a, const StartSet& b) {
    const StartSet differing = a ^ b;
    const StartSet carry = (a & b) | (differing & sum);
    sum ^= differing;
    return carry;
  }

  template <class SetAt>
  void add_eight(const SetAt& set) {
    const StartSet twos_a = add_two(digits_[0], set(0), set(1));
    const StartSet twos_b = add_two(digits_[0], set(2), set(3));
    const StartSet fours_a = add_two(digits_[1], twos_a, twos_b);
    const StartSet twos_c = add_two(digits_[0], set(4), set(5));
    const StartSet twos_d = add_two(digits_[0], set(6), set(7));
    const StartSet fours_b = add_two(digits_[1], twos_c, twos_d);
    add(add_two(digits_[2], fours_a, fours_b), 3);
  }

  void add(const StartSet& set, std::size_t digit) {
    StartSet carry = set;
    for (; !carry.empty(); ++digit) {
      const StartSet sum = digits_[digit] ^ carry;
      carry = digits_[digit] & carry;
      digits_[digit] = sum;
    }
  }

  std::array<StartSet, 32> digits_;  // lowest first; there are fewer than 2^31 entities
  std::array<Count, StartSet::size> times_{};
};

}  // namespace casegraph
