// The best few worths of each of very many entities.
//
// Problem: in dense graphs nearly every entity has hundreds of pieces of evidence of one kind, and
// only the best few count. Idea: pieces that are worth much come first. Then nearly all others are
// worth no more than the least of the best, and one comparison says so. Whoever has a long list of
// pieces sifts it by `least` before offering them: that saves time, and changes nothing.
//
// Invariant: what is kept for an entity are the best of all pieces that it was offered, in whatever
// order they came. The least of them only rises.
//
// A piece that is offered costs as many comparisons as pieces count, and one that is sifted out
// costs one. Between `start` and `take`, nobody else may use the stamps of the workspace.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "answering/workspace.hpp"

namespace casegraph {

class BestWorths {
 public:
  explicit BestWorths(Workspace& workspace)
      : slots_(workspace.stamps), least_(workspace.least_worths) {}

  // Begin without any. `most` of each entity count.
  void start(std::size_t most) {
    most_ = most;
    slots_.renew();
    found_.clear();
    best_.clear();
    excluded_.clear();
  }

  // By entity: what a piece must be worth more than to count. 0 while there is room for more, and
  // infinity for entities that are known to be no candidates.
  const double* least() const { return least_.data(); }

  // An entity is no candidate: whoever sifts offers it nothing.
  void exclude(Id entity) {
    least_[entity] = INFINITY;
    excluded_.push_back(entity);
  }

  // Keep a piece if it is one of the best of an entity.
  //
  // may_answer  whether an entity can be a candidate
  template <class MayAnswer>
  void offer(Id entity, double worth, const MayAnswer& may_answer) {
    if (!slots_.has(entity)) {
      if (!may_answer(entity)) {
        exclude(entity);
        return;
      }
      slots_.set(entity, found_.size());
      found_.push_back(entity);
      best_.resize(best_.size() + most_);
    }
    const std::span best(&best_[slots_.slot(entity) * most_], most_);
    insert(best, worth);
    least_[entity] = best.back();
  }

  // Call `use(entity, worths)` for all that have any, each with its best first. This ends the use:
  // every least worth is 0 again.
  template <class Use>
  void take(Steps& steps, const Use& use) {
    for (Id entity : found_)
      least_[entity] = 0;
    for (Id entity : excluded_)
      least_[entity] = 0;
    steps.take(std::ssize(found_));
    for (std::size_t slot = 0; slot < found_.size(); ++slot) {
      const std::span best(&best_[slot * most_], most_);
      const auto used = std::ranges::find(best, 0.0) - best.begin();
      if (used > 0)
        use(found_[slot], best.first(static_cast<std::size_t>(used)));
    }
  }

 private:
  // A step of insertion sort, without a branch: what is less than the new number moves down by one,
  // and the least falls out.
  static void insert(std::span<double> best, double worth) {
    for (std::size_t at = best.size() - 1; at > 0; --at)
      best[at] = std::max(best[at], std::min(best[at - 1], worth));
    best[0] = std::max(best[0], worth);
  }

  Stamps& slots_;               // the places of entities in `found_`
  std::vector<double>& least_;  // 0 if there is room for more; all 0 between uses
  std::size_t most_ = 0;
  std::vector<Id> found_;     // the candidates that have been offered any
  std::vector<double> best_;  // `most_` of each, 0 where there is room
  std::vector<Id> excluded_;  // who is known to be no candidate
};

}  // namespace casegraph
