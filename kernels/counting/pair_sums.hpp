// The sums of one pair of query relation and path type, and those of its inverse.
//
// What a start adds to them follows from few numbers: how many ends its paths reach, how many of
// these have askers, and which are right (reach_inverses.hpp says why). All of it is linear in the
// ends and in the starts, so both can be added some at a time.
#pragma once

#include <vector>

#include "common/ids.hpp"

namespace casegraph {

struct Sums {
  Count reached = 0;
  Count right = 0;
  Count reached_open = 0;  // of the ends reached, those whose slot is open
  Count right_open = 0;    // of the right ends, those whose slot is open

  Sums& operator+=(const Sums& more) {
    reached += more.reached;
    right += more.right;
    reached_open += more.reached_open;
    right_open += more.right_open;
    return *this;
  }
};

// Ends that are answers of their start.
struct RightEnds {
  Count all = 0;
  Count open = 0;           // whose only asker is the start
  Count of_one_answer = 0;  // that are the only answer of the start
};

// They fill one cache line, since counting goes from pair to pair and adds to all of these.
struct alignas(64) PairSums {
  Sums forwards;
  Sums inverse;

  // Ends of starts that have the query relation.
  //
  // with_askers  how many of them are the answer of any entity
  void add_forwards(Count ends, Count with_askers, const RightEnds& right) {
    // A right end whose only asker is its start has an open slot.
    const Count taken = with_askers - right.open;
    forwards += {ends, right.all, ends - taken, right.open};
  }

  // Walked backwards, each end that has askers reaches its start. The slot of a start is open if it
  // does not have the relation, or has this one answer.
  //
  // having  of the ends with askers, those of starts that have the relation
  void add_inverse(Count with_askers, Count having, const RightEnds& right) {
    inverse +=
        {with_askers, right.all, with_askers - having + right.of_one_answer, right.of_one_answer};
  }

  PairSums& operator+=(const PairSums& more) {
    forwards += more.forwards;
    inverse += more.inverse;
    return *this;
  }
};

// By pair: the sums of several threads together.
inline void add_to(std::vector<PairSums>& total, const std::vector<PairSums>& more) {
  for (std::size_t pair = 0; pair < total.size(); ++pair)
    total[pair] += more[pair];
}

}  // namespace casegraph
