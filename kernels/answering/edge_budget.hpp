// How many edges a query may look at, and how many it has looked at.
//
// Problem: a hub must not stop the world, and what is left out must not depend on any order of ids.
// Idea: the cost of a step or of a kind of evidence is known before it is taken. What would exceed
// the budget is left out as a whole, and the query is not exact.
#pragma once

#include "common/ids.hpp"

namespace casegraph {

class EdgeBudget {
 public:
  explicit EdgeBudget(Count edges) : edges_(edges) {}

  // Begin with another query.
  void renew() {
    followed_before_ = followed;
    exact = true;
  }

  Count left() const { return followed_before_ + edges_ - followed; }

  // From now on so much is left: what kinds of evidence were to cost counts, not what they did
  // cost, which depends on the goal.
  void leave(Count left) { followed_before_ = followed + left - edges_; }

  // Look at edges that were paid for before.
  void follow_paid(Count edges) {
    followed += edges;
    followed_before_ += edges;
  }

  // Whether so much is left; if not, it will not be spent, and the query is not exact.
  bool allows(Count cost) {
    if (cost > left())
      exact = false;
    return cost <= left();
  }

  Count followed = 0;  // edges looked at, by all queries so far
  bool exact = true;   // whether the budget was enough for the query at hand

 private:
  const Count edges_;
  Count followed_before_ = 0;  // when the query at hand began
};

}  // namespace casegraph
