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

#include <queue>

#include "answering/candidates.hpp"

namespace casegraph {

// What must be exact: the best `top` answers, or the standing of the targets. Neither: everything.
//
// new_only  the known answers of the query entity are no answers
struct Goal {
  // With more targets than this, nearly all candidates are near one of them.
  static constexpr std::size_t few_targets = 32;

  Count top = -1;
  bool new_only = false;
  Ids targets = {};

  bool allows_early_stopping() const {
    return top > 0 || (!targets.empty() && targets.size() <= few_targets);
  }
};

// The candidates that the goal may still depend on, while path types are walked. The targets must
// be candidates.
//
// Bounds only come nearer to each other. So a candidate that was once decided stays decided: it is
// marked as final, and looked at no more.
class Leaders {
 public:
  Leaders(Candidates& candidates, const Goal& goal) : candidates_(candidates), goal_(goal) {}

  // Look again, when all path types to come have no more than the strength `next`.
  void look(double next) {
    for (; seen_ < candidates_.list().size(); ++seen_)
      places_.push_back(seen_);
    bounds_.clear();
    if (goal_.top >= 0)
      find_best(static_cast<std::size_t>(goal_.top), next);
    else
      find_near(next);
  }

  // Whether there are so few that finishing them is cheaper than walking on.
  bool are_few() const { return are_few_; }
  const std::vector<std::size_t>& places() const { return places_; }

  // The goal is decided only if no other entity can score as much as this.
  double least_score() const { return least_score_; }

  // Whether the goal may depend on a candidate with these bounds.
  bool may_decide(const Bounds& bounds) const {
    if (is_less(bounds.upper, least_score_))
      return false;
    const auto overlaps = [&](const Bounds& target) {
      return !is_less(bounds.upper, target.lower) && !is_less(target.upper, bounds.lower);
    };
    return goal_.top >= 0 || std::any_of(of_targets_.begin(), of_targets_.end(), overlaps);
  }

  // Surely less. A smaller difference could be due to rounding, and is not trusted: sums of a few
  // doubles are exact to about 10^-14.
  static bool is_less(double a, double b) { return a + 1e-12 * (1 + std::abs(a)) < b; }

 private:
  // Beside the best `top`, or the targets. Each leader costs a lookup for every path type to come.
  static constexpr std::size_t most_others = 32;

  // All whose upper bound reaches the `top` best lower bound.
  void find_best(std::size_t top, double next) {
    leave_out_worse(top, next);
    if (bounds_.size() < top)
      return;
    best_.clear();
    for (std::size_t at = 0; at < places_.size(); ++at)
      best_.emplace_back(bounds_[at].lower, places_[at]);
    const auto last = best_.begin() + static_cast<std::ptrdiff_t>(top) - 1;
    std::nth_element(best_.begin(), last, best_.end(), std::greater<>());
    best_.resize(top);
    least_score_ = best_.back().first;
    keep(top + most_others, [&](std::size_t, const Bounds& bounds) { return may_decide(bounds); });
  }

  // Find the bounds of all but those who cannot reach the `top` best lower bounds seen so far: most
  // are far from that, and a simple upper bound says so.
  void leave_out_worse(std::size_t top, double next) {
    std::priority_queue<double, std::vector<double>, std::greater<>> best;
    std::size_t kept = 0;
    for (std::size_t place : places_) {
      if (is_less(candidates_.bounds(place, next).upper, least_score_)) {
        candidates_.mark_final(candidates_[place].entity);
        continue;
      }
      places_[kept++] = place;
      bounds_.push_back(candidates_.bounds(place, next));
      best.push(bounds_.back().lower);
      if (best.size() > top)
        best.pop();
      if (best.size() == top)
        least_score_ = std::max(least_score_, best.top());
    }
    places_.resize(kept);
  }

  // All whose bounds overlap with those of a target: either could be the better one.
  void find_near(double next) {
    for (std::size_t place : places_)
      bounds_.push_back(candidates_.bounds(place, next));
    std::vector<std::size_t> places_of_targets;
    of_targets_.clear();
    for (Id target : goal_.targets) {
      places_of_targets.push_back(candidates_.place_of(target));
      of_targets_.push_back(candidates_.bounds(places_of_targets.back(), next));
    }
    least_score_ = INFINITY;
    for (const Bounds& target : of_targets_)
      least_score_ = std::min(least_score_, target.lower);
    const auto is_target = [&](std::size_t place) {
      return std::ranges::find(places_of_targets, place) != places_of_targets.end();
    };
    keep(goal_.targets.size() + most_others, [&](std::size_t place, const Bounds& bounds) {
      return may_decide(bounds) || is_target(place);
    });
  }

  template <class MayDecide>
  void keep(std::size_t most, const MayDecide& may_decide) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < places_.size(); ++at) {
      if (may_decide(places_[at], bounds_[at]))
        places_[kept++] = places_[at];
      else
        candidates_.mark_final(candidates_[places_[at]].entity);
    }
    places_.resize(kept);
    are_few_ = kept <= most;
  }

  Candidates& candidates_;
  const Goal& goal_;
  std::size_t seen_ = 0;                              // candidates that were looked at so far
  std::vector<std::size_t> places_;                   // of the leaders
  std::vector<Bounds> bounds_;                        // parallel to them, while looking
  std::vector<std::pair<double, std::size_t>> best_;  // the `top` best lower bounds, with places
  std::vector<Bounds> of_targets_;
  double least_score_ = 0;
  bool are_few_ = false;
};

}  // namespace casegraph
