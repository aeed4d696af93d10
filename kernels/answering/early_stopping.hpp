// Early stopping by upper bounds: when what was asked for is known before all path types are
// walked.
//
// Problem: a query wants the best `top` answers, or how a few targets compare with the others, and
// most path types of its list change nothing about that. Idea: path types are walked in the order
// of their weights, so what comes next is worth no more than the weight at hand. That gives every
// candidate a lower and an upper bound (Fagin's threshold algorithm, in its form without random
// access). Candidates that cannot take part in the decision are left alone from then on; only the
// few that can, the leaders, get exact scores.
//
// Invariant: what is returned is the same to the last bit as if everything had been walked.
#pragma once

#include "answering/candidates.hpp"

namespace casegraph {

// What must be exact: the best `top` answers, or the standing of the targets. Neither: everything.
struct Goal {
  // With more targets than this, nearly all candidates are near one of them.
  static constexpr std::size_t few_targets = 32;

  Count top = -1;
  Ids targets = {};

  bool allows_early_stopping() const {
    return top > 0 || (!targets.empty() && targets.size() <= few_targets);
  }
};

// The candidates that the goal may still depend on, if all path types to come have no more than the
// strength `next`. The targets must be candidates.
class Leaders {
 public:
  Leaders(const Candidates& candidates, const Goal& goal, double next)
      : candidates_(candidates) {
    for (std::size_t place = 0; place < candidates.list().size(); ++place)
      bounds_.push_back(candidates.bounds(place, next));
    if (goal.top >= 0)
      find_best(static_cast<std::size_t>(goal.top));
    else
      find_near(goal.targets);
  }

  // Whether there are so few that finishing them is cheaper than walking on.
  bool are_few() const { return are_few_; }
  const std::vector<std::size_t>& places() const { return places_; }

  // The goal is decided only if no other entity can score as much as this.
  double least_score() const { return least_score_; }

  // Surely less. A difference of less than a part in 10^12 could be due to rounding, and is not
  // trusted: sums of a few dozen doubles are exact to about 10^-14.
  static bool is_less(double a, double b) { return a * (1 + 1e-12) < b; }

 private:
  // Beside the best `top`, or the targets. Each leader costs a lookup for every path type to come.
  static constexpr std::size_t most_others = 32;

  // All whose upper bound reaches the `top` best lower bound.
  void find_best(std::size_t top) {
    if (bounds_.size() < top) return;
    std::vector<double> lower;
    for (const Bounds& bounds : bounds_) lower.push_back(bounds.lower);
    const auto last = lower.begin() + static_cast<std::ptrdiff_t>(top) - 1;
    std::nth_element(lower.begin(), last, lower.end(), std::greater<>());
    least_score_ = *last;
    gather(top + most_others,
           [&](const Bounds& bounds) { return !is_less(bounds.upper, least_score_); });
  }

  // All whose bounds overlap with those of a target: either could be the better one.
  void find_near(Ids targets) {
    std::vector<Bounds> of_targets;
    for (Id target : targets) {
      const auto place = candidates_.find(target) - candidates_.list().data();
      of_targets.push_back(bounds_[place]);
    }
    least_score_ = INFINITY;
    for (const Bounds& target : of_targets) least_score_ = std::min(least_score_, target.lower);
    gather(targets.size() + most_others, [&](const Bounds& bounds) {
      return std::any_of(of_targets.begin(), of_targets.end(), [&](const Bounds& target) {
        return !is_less(bounds.upper, target.lower) && !is_less(target.upper, bounds.lower);
      });
    });
  }

  template <class MayDecide>
  void gather(std::size_t most, const MayDecide& may_decide) {
    for (std::size_t place = 0; place < bounds_.size() && places_.size() <= most; ++place)
      if (may_decide(bounds_[place])) places_.push_back(place);
    are_few_ = places_.size() <= most;
  }

  const Candidates& candidates_;
  std::vector<Bounds> bounds_;       // by candidate
  std::vector<std::size_t> places_;  // of the leaders
  double least_score_ = 0;
  bool are_few_ = false;
};

}  // namespace casegraph
