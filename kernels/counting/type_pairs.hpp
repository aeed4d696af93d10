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
// If there are few types, as from most entities, all sums fit into the cache as they are: a matrix
// of types by types. Then no set need be kept.
//
// Invariant: a pair is stored as (larger number, smaller number), so each is found once.
// Cost: the pairs of members within sets, plus the excluded pairs.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "common/progress.hpp"
#include "common/tally.hpp"

namespace casegraph {

class TypePairs {
 public:
  // relations  how many there are
  TypePairs(const Packing& packing, std::size_t relations)
      : packing_(packing),
        relations_(relations),
        number_of_two_(relations <= few_relations ? relations * relations : 0) {}

  // Forget all types.
  void clear() {
    if (number_of_two_.empty())
      number_of_type_.clear();
    else
      for (PathType type : types_)
        number_of_two_[place_of_two(packing_.relation(type, 0), packing_.relation(type, 1))] = 0;
    types_.clear();
  }

  // The number by which a type of two steps is added. First all types are numbered, then the sets
  // begin.
  std::uint32_t number_of(Id first, Id second) {
    const PathType type = packing_.step(first, 0) | packing_.step(second, 1);
    if (number_of_two_.empty())
      return numbered(type, number_of_type_[type]);
    return numbered(type, number_of_two_[place_of_two(first, second)]);
  }

  void begin_sets() {
    members_.clear();
    set_ends_.assign(1, 0);
    excluded_.clear();
    added_ = 0;
    if (times_.size() < types_.size())
      times_.resize(types_.size());
    has_few_types_ = types_.size() <= few_types;
    if (has_few_types_ && matrix_.size() < row_of(types_.size()))
      matrix_.resize(row_of(types_.size()));
  }

  // Add a member to the set at hand. A type can be added several times.
  void add(std::uint32_t number) {
    if (times_[number]++ == 0)
      members_.push_back({number, 0});
  }

  // The set at hand is complete; begin the next. Returns how many pairs of types it has.
  Count finish_set() {
    const auto first = members_.begin() + set_ends_.back();
    for (auto member = first; member != members_.end(); ++member)
      std::swap(member->times, times_[member->number]);  // which leaves 0 for the next set
    const Count size = members_.end() - first;
    added_ += size;
    if (has_few_types_)
      add_to_matrix();
    else
      set_ends_.push_back(static_cast<std::uint32_t>(members_.size()));
    return size * (size + 1) / 2;
  }

  // Two members of the set just finished that do not count as a pair.
  void exclude(std::uint32_t one, std::uint32_t other) {
    ++added_;
    if (has_few_types_)
      --matrix_[place_of(one, other)];
    else
      excluded_.push_back({std::max(one, other), std::min(one, other)});
  }

  // Members and excluded pairs since the sets began: a bound of the memory in use.
  Count size() const { return added_; }

  // For all pairs of types call `start(one)(other, times)`, where `start` is called once a type.
  // Returns how many pairs there are. Then other sets of the same types can begin.
  template <class Start>
  Count each_pair(Steps& steps, const Start& start) {
    if (has_few_types_)
      return each_in_matrix(steps, start);
    Count pairs = 0;
    gather_places();
    gather_excluded();
    sorted_ends_.assign(set_ends_.begin(), set_ends_.end());
    if (sums_.size() < types_.size())
      sums_.resize(types_.size());
    for (std::uint32_t one = 0; one < types_.size(); ++one) {
      partners_.clear();
      add_partners(one, steps);
      if (partners_.empty())
        continue;
      subtract_excluded(one, steps);
      steps.take(std::ssize(partners_));
      pairs += std::ssize(partners_);
      const auto use = start(types_[one]);
      for (std::uint32_t other : partners_) {
        if (sums_[other] != 0)
          use(types_[other], sums_[other]);
        sums_[other] = 0;
      }
    }
    return pairs;
  }

 private:
  // With fewer, the numbers of types are in an array, which takes a megabyte then: finding the
  // paths to answers in Hetionet-part takes a tenth less.
  static constexpr std::size_t few_relations = 1 << 9;

  std::size_t place_of_two(Id first, Id second) const {
    return static_cast<std::size_t>(first) * relations_ + static_cast<std::size_t>(second);
  }

  // The number of a type, which is counted from 1 where it is known, else 0.
  template <class Number>
  std::uint32_t numbered(PathType type, Number& number) {
    if (number == 0) {
      types_.push_back(type);
      number = static_cast<Number>(types_.size());
    }
    return static_cast<std::uint32_t>(number) - 1;
  }

  struct Member {
    std::uint32_t number;  // of the type
    std::uint32_t times;   // how often it is in the set
  };
  struct NumberPair {
    std::uint32_t larger;
    std::uint32_t smaller;
  };
  struct Place {
    std::uint32_t set;
    std::uint32_t times;  // how often the type is in the set
  };

  // The matrix takes a megabyte then: a second-level cache. It is still quicker than keeping the
  // sets where it fills that.
  static constexpr std::size_t few_types = 1 << 9;

  // Where the row of a type begins: its pairs with all that have no larger numbers. So each pair
  // has one place, and no place is left empty.
  static std::size_t row_of(std::size_t larger) { return larger * (larger + 1) / 2; }
  static std::size_t place_of(std::uint32_t one, std::uint32_t other) {
    return row_of(std::max(one, other)) + std::min(one, other);
  }

  // Add the pairs of the only set there is, and forget it.
  void add_to_matrix() {
    for (auto one = members_.begin(); one != members_.end(); ++one) {
      for (auto other = members_.begin(); other != one; ++other)
        add_pairs(one->number, other->number, Count{one->times} * other->times);
      if (one->times > 1)
        add_pairs(one->number, one->number, Count{one->times} * (one->times - 1) / 2);
    }
    members_.clear();
  }

  void add_pairs(std::uint32_t one, std::uint32_t other, Count more) {
    Count& sum = matrix_[place_of(one, other)];
    if (sum == 0) {
      sum = 1;  // so that these types are listed once, also if all pairs of them are excluded
      pairs_in_matrix_.push_back({std::max(one, other), std::min(one, other)});
    }
    sum += more;
  }

  template <class Start>
  Count each_in_matrix(Steps& steps, const Start& start) {
    const Count pairs = std::ssize(pairs_in_matrix_);
    steps.take(pairs);
    for (const auto& [one, other] : pairs_in_matrix_) {
      const Count sum = std::exchange(matrix_[place_of(one, other)], 0) - 1;
      if (sum != 0)
        start(types_[one])(types_[other], sum);
    }
    pairs_in_matrix_.clear();
    return pairs;
  }

  // A counting sort: for each type, the sets that it is in.
  void gather_places() {
    first_place_.assign(types_.size() + 2, 0);
    for (const Member& member : members_)
      ++first_place_[member.number + 2];
    for (std::size_t type = 2; type < first_place_.size(); ++type)
      first_place_[type] += first_place_[type - 1];
    if (places_.size() < members_.size())
      places_.resize(members_.size());
    for (std::uint32_t set = 0; set + 1 < set_ends_.size(); ++set)
      for (std::uint32_t at = set_ends_[set]; at < set_ends_[set + 1]; ++at)
        places_[first_place_[members_[at].number + 1]++] = {set, members_[at].times};
  }

  // The same for excluded pairs: for each larger type, the smaller ones.
  void gather_excluded() {
    first_excluded_.assign(types_.size() + 2, 0);
    for (const NumberPair& both : excluded_)
      ++first_excluded_[both.larger + 2];
    for (std::size_t type = 2; type < first_excluded_.size(); ++type)
      first_excluded_[type] += first_excluded_[type - 1];
    if (excluded_with_.size() < excluded_.size())
      excluded_with_.resize(excluded_.size());
    for (const NumberPair& both : excluded_)
      excluded_with_[first_excluded_[both.larger + 1]++] = both.smaller;
  }

  // Add up the partners of a type that have smaller numbers.
  //
  // Types come in the order of their numbers. Each puts itself into its sets, over the members that
  // have been gathered as places: so whoever is there before it has a smaller number, and no set
  // need be sorted.
  void add_partners(std::uint32_t one, Steps& steps) {
    for (std::uint32_t place = first_place_[one]; place < first_place_[one + 1]; ++place) {
      const auto [set, times] = places_[place];
      const std::uint32_t end = sorted_ends_[set]++;
      steps.take(1 + end - set_ends_[set]);
      for (std::uint32_t other = set_ends_[set]; other < end; ++other)
        add_sum(members_[other].number, Count{times} * members_[other].times);
      if (times > 1)
        add_sum(one, Count{times} * (times - 1) / 2);
      members_[end] = {one, times};
    }
  }

  void subtract_excluded(std::uint32_t one, Steps& steps) {
    steps.take(first_excluded_[one + 1] - first_excluded_[one]);
    for (std::uint32_t at = first_excluded_[one]; at < first_excluded_[one + 1]; ++at)
      --sums_[excluded_with_[at]];
  }

  void add_sum(std::uint32_t other, Count more) {
    if (sums_[other] == 0)
      partners_.push_back(other);
    sums_[other] += more;
  }

  const Packing packing_;
  const std::size_t relations_;
  std::vector<PathType> types_;               // by number
  std::vector<std::uint32_t> number_of_two_;  // by relations: counted from 1, or 0; or empty
  Tally number_of_type_;                      // the same if there are many relations

  std::vector<Member> members_;             // of all sets
  std::vector<std::uint32_t> set_ends_{0};  // where each set ends and the next begins
  std::vector<std::uint32_t> times_;        // by number: how often it is in the set at hand

  std::vector<NumberPair> excluded_;
  std::vector<std::uint32_t> first_excluded_;  // by larger number: where the smaller ones begin
  std::vector<std::uint32_t> excluded_with_;

  std::vector<std::uint32_t> first_place_;  // by number: where its places begin
  std::vector<Place> places_;
  std::vector<std::uint32_t> sorted_ends_;  // by set: where the members that had their turn end

  std::vector<Count> sums_;              // by number: with the type at hand; 0 between types
  std::vector<std::uint32_t> partners_;  // the numbers whose sums are not 0

  Count added_ = 0;
  bool has_few_types_ = false;
  std::vector<Count> matrix_;  // if there are few types: of every two, 0 or how many pairs + 1
  std::vector<NumberPair> pairs_in_matrix_;  // those that are not 0
};

}  // namespace casegraph
