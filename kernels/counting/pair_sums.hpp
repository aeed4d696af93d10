// The sums of one pair of query relation and path type, and those of its inverse.
//
// What a start adds to them follows from few numbers: how many ends its paths reach, how many of
// these have askers, and which are right (reach_inverses.hpp says why). All of it is linear in the
// ends, so they can be added some at a time.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// Ends that are answers of their start.
struct RightEnds {
  Count all = 0;
  Count open = 0;  // whose only asker is the start
};

// They fill one cache line, since counting goes from pair to pair and adds to all of these.
class alignas(64) PairSums {
 public:
  // Ends of a start that has the query relation.
  //
  // with_askers     how many of them are the answer of any entity
  // has_one_answer  whether the start has a single answer
  void add(Count ends, Count with_askers, const RightEnds& right, bool has_one_answer,
           bool both_ways) {
    // A right end whose only asker is this entity has an open slot.
    const Count taken = with_askers - right.open;
    forwards_.add({ends, right.all, ends - taken, right.open});
    if (!both_ways)
      return;
    const Count only_answer = has_one_answer ? right.all : 0;
    inverse_.add({with_askers, right.all, only_answer, only_answer});
  }

  // Ends of a start that does not have it. Walked backwards, each end that has askers reaches this
  // start, which no other entity has as its answer.
  void add_backwards(Count with_askers) { inverse_.add({with_askers, 0, with_askers, 0}); }

  // One end of a start that has the query relation, found by walking backwards.
  void add_one(bool is_right, bool is_open) {
    forwards_.add({1, is_right, is_open, is_right && is_open});
  }

  // A start whose step was too wide, as if it had reached as many ends.
  void add_skipped(Count width) { forwards_.reached += width; }

  // Add them to those of all pairs.
  void put_into(ReachBothWays& total, std::size_t pair) const {
    forwards_.put_into(total.forwards, pair);
    inverse_.put_into(total.inverse, pair);
  }

 private:
  struct OneWay {
    Count reached = 0;
    Count right = 0;
    Count reached_open = 0;
    Count right_open = 0;

    void add(const OneWay& more) {
      reached += more.reached;
      right += more.right;
      reached_open += more.reached_open;
      right_open += more.right_open;
    }
    void put_into(Reach& total, std::size_t pair) const {
      total.reached[pair] += reached;
      total.right[pair] += right;
      total.reached_open[pair] += reached_open;
      total.right_open[pair] += right_open;
    }
  };
  OneWay forwards_;
  OneWay inverse_;
};

}  // namespace casegraph
