// When to stop: what has been asked for can be settled before all path types have been walked.
#pragma once

#include "answering/candidates.hpp"

namespace casegraph {

// What must be known exactly: the best `top` answers, or how the targets stand, which must be
// candidates. Neither: everything.
struct Goal {
  Count top = -1;
  Ids targets = {};

  bool is_small() const { return top > 0 || (!targets.empty() && targets.size() <= 32); }
};

// The candidates that the goal may still depend on, as places, when all evidence to come is worth
// no more than `next`.
class Undecided {
 public:
  static constexpr std::size_t most =
      32;  // beside the best `top`, or the targets: with more, walking on is cheaper

  Undecided(const Candidates& candidates, const Goal& goal, const Piece& next)
      : candidates_(candidates) {
    for (std::size_t place = 0; place < candidates.list().size(); ++place)
      bounds_.push_back(candidates.bounds(place, next));
    if (goal.top >= 0)
      among_the_best(static_cast<std::size_t>(goal.top));
    else
      near_targets(goal.targets);
  }

  // What an entity that is no candidate must not be able to score.
  double least() const { return least_; }
  bool are_few() const { return are_few_; }
  const std::vector<std::size_t>& places() const { return places_; }
  // Rounding may not decide: what is less by less than this may be equal.
  static bool less(double a, double b) { return a * (1 + 1e-12) < b; }

 private:
  using Bounds = std::pair<double, double>;

  void among_the_best(std::size_t top) {
    if (bounds_.size() < top) return;
    std::vector<double> least;
    for (const Bounds& bounds : bounds_) least.push_back(bounds.first);
    std::nth_element(least.begin(), least.begin() + static_cast<std::ptrdiff_t>(top) - 1,
                     least.end(), std::greater<>());
    least_ = least[top - 1];
    gather(top + most, [&](const Bounds& bounds) { return !less(bounds.second, least_); });
  }

  void near_targets(Ids targets) {
    std::vector<Bounds> theirs;
    for (Id target : targets)
      theirs.push_back(bounds_[candidates_.find(target) - candidates_.list().data()]);
    least_ = INFINITY;
    for (const Bounds& target : theirs) least_ = std::min(least_, target.first);
    gather(theirs.size() + most, [&](const Bounds& bounds) {
      return std::any_of(theirs.begin(), theirs.end(), [&](const Bounds& target) {
        return !less(bounds.second, target.first) && !less(target.second, bounds.first);
      });
    });
  }

  template <class May>
  void gather(std::size_t room, const May& may) {
    for (std::size_t place = 0; place < bounds_.size() && places_.size() <= room; ++place)
      if (may(bounds_[place])) places_.push_back(place);
    are_few_ = places_.size() <= room;
  }

  const Candidates& candidates_;
  std::vector<Bounds> bounds_;
  std::vector<std::size_t> places_;
  double least_ = 0;
  bool are_few_ = false;
};

}  // namespace casegraph
