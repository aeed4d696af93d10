// How often two path types are found together, over many sets: added up type by type, so that the sums at hand fit into a small array.
#pragma once

#include <algorithm>
#include <vector>

#include "tally.hpp"

namespace casegraph {

class Pairs {
 public:
  void clear() {
    numbers_ = {};
    types_.clear();
    last_but_.clear();
    members_.clear();
    sets_.assign(1, 0);
    but_.clear();
  }

  // A member of the set at hand; a type may be in it several times.
  void add(PathType type) {
    const std::uint32_t number = number_of(type);
    if (times_[number]++ == 0) members_.push_back({number, 0});
  }
  // The set is complete: how many pairs of types it has.
  Count close() {
    const auto first = members_.begin() + sets_.back();
    std::sort(first, members_.end(), [](const Member& a, const Member& b) { return a.type < b.type; });
    for (auto member = first; member != members_.end(); ++member) std::swap(member->times, times_[member->type]);
    const Count size = members_.end() - first;
    sets_.push_back(static_cast<std::uint32_t>(members_.size()));
    return size * (size + 1) / 2;
  }
  // Two members of a set that do not count as a pair.
  void but(PathType one, PathType other) {
    const std::uint32_t a = number_of(one), b = number_of(other);
    but_.push_back({std::min(a, b), last_but_[std::max(a, b)]});
    last_but_[std::max(a, b)] = static_cast<std::int32_t>(but_.size()) - 1;
  }

  // How much memory that takes, more or less: a number of pairs.
  Count kept() const { return static_cast<Count>(members_.size() + but_.size()); }

  // For all pairs call `with(one)(other, times)`. Returns how many there are.
  template <class With>
  Count each(Steps& steps, const With& with) {
    gather();
    Count pairs = 0;
    sums_.assign(types_.size(), 0);
    for (std::uint32_t one = 0; one < types_.size(); ++one) {
      others_.clear();
      for (std::uint32_t place = first_[one]; place < first_[one + 1]; ++place) {
        const auto [begin, at] = places_[place];
        steps.take(1 + at - begin);
        const Count times = members_[at].times;
        for (std::uint32_t other = begin; other < at; ++other) sum(members_[other].type, times * members_[other].times);
        if (times > 1) sum(one, times * (times - 1) / 2);
      }
      for (std::int32_t pair = last_but_[one]; pair >= 0; pair = but_[pair].before) {
        steps.take();
        --sums_[but_[pair].other];
      }
      steps.take(std::ssize(others_));
      pairs += std::ssize(others_);
      const auto use = with(types_[one]);
      for (std::uint32_t other : others_) {
        if (sums_[other] != 0) use(types_[other], sums_[other]);
        sums_[other] = 0;
      }
    }
    return pairs;
  }

 private:
  struct Member {
    std::uint32_t type, times;
  };
  struct But {
    std::uint32_t other;
    std::int32_t before;  // of the same type, or -1
  };

  std::uint32_t number_of(PathType type) {
    Count& number = numbers_[type];
    if (number == 0) {
      types_.push_back(type);
      last_but_.push_back(-1);
      if (times_.size() < types_.size()) times_.push_back(0);
      number = static_cast<Count>(types_.size());
    }
    return static_cast<std::uint32_t>(number) - 1;
  }

  // Where each type is a member: of the set that begins at, at.
  void gather() {
    first_.assign(types_.size() + 2, 0);
    for (const Member& member : members_) ++first_[member.type + 2];
    for (std::size_t type = 2; type < first_.size(); ++type) first_[type] += first_[type - 1];
    places_.resize(members_.size());
    for (std::size_t set = 1; set < sets_.size(); ++set)
      for (std::uint32_t at = sets_[set - 1]; at < sets_[set]; ++at) places_[first_[members_[at].type + 1]++] = {sets_[set - 1], at};
  }

  void sum(std::uint32_t other, Count more) {
    if (sums_[other] == 0) others_.push_back(other);
    sums_[other] += more;
  }

  std::vector<PathType> types_;  // by number
  Tally numbers_;                // of types, from one on
  std::vector<Member> members_;  // of all sets, those of each sorted
  std::vector<std::uint32_t> sets_{0}, times_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;
  std::vector<But> but_;
  std::vector<std::int32_t> last_but_;  // by type
  std::vector<std::uint32_t> first_, others_;
  std::vector<Count> sums_;
};

}  // namespace casegraph
