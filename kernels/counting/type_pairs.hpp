// How often two path types occur together, over many multisets of path types.
//
// Problem: halves of two steps that meet at one entity make a cycle with each other, so every
// meeting point has a multiset of half types, and each pair in it is a cycle. Adding every pair to
// a hash table takes a random access a pair. Many pairs have the same two types.
//
// Idea: with M[set, type] = how often the type is in the set, the sums wanted are MᵀM (and n(n-1)/2
// on the diagonal). It is made row by row, as in Gustavson's sparse matrix product (1978): for one
// type, add up its partners over all sets that have it, in a dense array that fits into the cache;
// then go to the hash table once for each distinct pair.
//
// Invariant: a pair is stored as (larger number, smaller number), so each is found once.
// Cost: the pairs of members within sets, plus the excluded pairs.
#pragma once

#include <algorithm>
#include <vector>

#include "common/progress.hpp"
#include "counting/type_numbers.hpp"

namespace casegraph {

class TypePairs {
 public:
  // Forget everything.
  void clear() {
    types_.clear();
    forget_sets();
  }

  // The number by which a type is added.
  std::uint32_t number_of(PathType type) {
    const std::uint32_t number = types_[type];
    if (number == last_excluded_.size()) {
      last_excluded_.push_back(-1);
      if (times_.size() <= number) times_.push_back(0);
    }
    return number;
  }

  // Add a member to the set at hand. A type can be added several times.
  void add(std::uint32_t number) {
    if (times_[number]++ == 0) members_.push_back({number, 0});
  }

  // The set at hand is complete; begin the next. Returns how many pairs of types it has.
  Count finish_set() {
    const auto first = members_.begin() + set_ends_.back();
    std::sort(first, members_.end(),
              [](const Member& a, const Member& b) { return a.number < b.number; });
    for (auto member = first; member != members_.end(); ++member)
      std::swap(member->times, times_[member->number]);  // which leaves 0 for the next set
    const Count size = members_.end() - first;
    set_ends_.push_back(static_cast<std::uint32_t>(members_.size()));
    return size * (size + 1) / 2;
  }

  // Two members of a set that do not count as a pair.
  void exclude(std::uint32_t one, std::uint32_t other) {
    const std::uint32_t smaller = std::min(one, other), larger = std::max(one, other);
    excluded_.push_back({smaller, last_excluded_[larger]});
    last_excluded_[larger] = static_cast<std::int32_t>(excluded_.size()) - 1;
  }

  // A measure of the memory in use: members and excluded pairs.
  Count size() const { return static_cast<Count>(members_.size() + excluded_.size()); }

  // For all pairs of types call `start(one)(other, times)`, where `start` is called once a type.
  // Returns how many pairs there are. The sets are forgotten, the numbers of types are not.
  template <class Start>
  Count each_pair(Steps& steps, const Start& start) {
    Count pairs = 0;
    gather_places();
    sums_.assign(types_.size(), 0);
    for (std::uint32_t one = 0; one < types_.size(); ++one) {
      partners_.clear();
      add_partners(one, steps);
      if (partners_.empty()) continue;
      subtract_excluded(one, steps);
      steps.take(std::ssize(partners_));
      pairs += std::ssize(partners_);
      const auto use = start(types_.type(one));
      for (std::uint32_t other : partners_) {
        if (sums_[other] != 0) use(types_.type(other), sums_[other]);
        sums_[other] = 0;
      }
    }
    forget_sets();
    return pairs;
  }

 private:
  struct Member {
    std::uint32_t number;  // of the type
    std::uint32_t times;   // how often it is in the set
  };
  struct Excluded {
    std::uint32_t other;
    std::int32_t before;  // the excluded pair before it of the same larger type, or -1
  };
  struct Place {
    std::uint32_t set_begin;
    std::uint32_t member;
  };

  void forget_sets() {
    members_.clear();
    set_ends_.assign(1, 0);
    excluded_.clear();
    last_excluded_.assign(types_.size(), -1);
  }

  // A counting sort: for each type, the sets that it is in and its place there.
  void gather_places() {
    first_place_.assign(types_.size() + 2, 0);
    for (const Member& member : members_) ++first_place_[member.number + 2];
    for (std::size_t type = 2; type < first_place_.size(); ++type)
      first_place_[type] += first_place_[type - 1];
    places_.resize(members_.size());
    for (std::size_t set = 1; set < set_ends_.size(); ++set) {
      const std::uint32_t begin = set_ends_[set - 1];
      for (std::uint32_t at = begin; at < set_ends_[set]; ++at)
        places_[first_place_[members_[at].number + 1]++] = {begin, at};
    }
  }

  // Add up the partners of a type that have smaller numbers, which stand before it in each set.
  void add_partners(std::uint32_t one, Steps& steps) {
    for (std::uint32_t place = first_place_[one]; place < first_place_[one + 1]; ++place) {
      const auto [begin, at] = places_[place];
      steps.take(1 + at - begin);
      const Count times = members_[at].times;
      for (std::uint32_t other = begin; other < at; ++other)
        add_sum(members_[other].number, times * members_[other].times);
      if (times > 1) add_sum(one, times * (times - 1) / 2);
    }
  }

  void subtract_excluded(std::uint32_t one, Steps& steps) {
    for (std::int32_t at = last_excluded_[one]; at >= 0; at = excluded_[at].before) {
      steps.take();
      --sums_[excluded_[at].other];
    }
  }

  void add_sum(std::uint32_t other, Count more) {
    if (sums_[other] == 0) partners_.push_back(other);
    sums_[other] += more;
  }

  TypeNumbers types_;

  std::vector<Member> members_;  // of all sets; those of each finished set sorted by number
  std::vector<std::uint32_t> set_ends_{0};
  std::vector<std::uint32_t> times_;  // by number: how often it is in the set at hand

  std::vector<Excluded> excluded_;  // linked lists, one for each larger type
  std::vector<std::int32_t> last_excluded_;

  std::vector<std::uint32_t> first_place_;  // by number: where its places begin
  std::vector<Place> places_;

  std::vector<Count> sums_;              // by number: with the type at hand
  std::vector<std::uint32_t> partners_;  // the numbers whose sums are not 0
};

}  // namespace casegraph
