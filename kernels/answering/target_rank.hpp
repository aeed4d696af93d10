// How one target compares with all other candidates of a query.
//
// Problem: nearly all candidates have only the habit, and were never made (habit.hpp). Idea: the
// list of the habit is sorted by score, so bisection counts how many of all its entries are better
// than the target or equal to it. Then the entries that should not have counted are subtracted:
// those that are candidates with other evidence (which are compared by themselves), the known
// answers, entities that may not be answers, the target itself.
//
// Invariant: each entity that competes is counted exactly once, by its own score.
#pragma once

#include <tuple>

#include "answering/answerer.hpp"

namespace casegraph {

class TargetRank {
 public:
  // The candidates of the query must have been gathered by the answerer, and combined.
  TargetRank(const Answerer& answerer, const Habit& habit, Id target)
      : answerer_(answerer), habit_(habit), uses_habit_(!habit.empty()), target_(target) {
    if (const Candidate* candidate = answerer.find(target)) {
      score = candidate->score;
      found_ = found(*candidate);
    } else if (uses_habit_ && answerer.at_hand.is_in_graph(target) &&
               answerer.at_hand.may_answer(target)) {
      const auto [count, others] = answerer.habit_of(target);
      if (count <= 0)
        return;
      score = habit.score(count, others);
      found_ = found_by_habit(target);
    }
  }

  // Compare with all candidates and the whole habit, except for the known answers.
  void compare(const std::vector<Candidate>& candidates, Ids known) {
    if (uses_habit_)
      add_habit();
    for (const Candidate& other : candidates) {
      add(other, 1);
      if (uses_habit_)
        add_by_habit(other.entity, other.given, -1);
    }
    subtract_query_entity();
    if (uses_habit_)
      for (Id entity : answerer_.at_hand.linked())
        add_by_habit(entity, answerer_.at_hand.given(entity), -1);
    for (Id entity : known)
      subtract_known(entity);
  }

  double score = 0;
  Count better = 0;
  Count equal = 0;
  Count earlier = 0;

 private:
  // The order of discovery: by path type, then by the number of paths, then by rank.
  using Found = std::tuple<std::int32_t, Count, Id>;

  Found found(const Candidate& candidate) const {
    return {candidate.found_by, -candidate.paths, habit_.rank(candidate.entity)};
  }
  Found found_by_habit(Id entity) const { return {INT32_MAX, 0, habit_.rank(entity)}; }

  // The query entity is in the list of the habit, but may not be an answer.
  void subtract_query_entity() {
    if (!uses_habit_ || !answerer_.at_hand.is_known())
      return;
    const Id entity = answerer_.at_hand.entity;
    if (answerer_.find(entity) != nullptr || answerer_.at_hand.may_answer(entity))
      return;
    add_by_habit(entity, answerer_.at_hand.given(entity), -1);
  }

  void subtract_known(Id entity) {
    if (const Candidate* other = answerer_.find(entity))
      add(*other, -1);
    else if (uses_habit_ && answerer_.at_hand.is_in_graph(entity) &&
             answerer_.at_hand.may_answer(entity))
      add_by_habit(entity, answerer_.at_hand.given(entity), -1);
  }

  // Count a candidate by its score; with sign -1, take it back.
  void add(const Candidate& other, Count sign) {
    if (other.score <= 0 || other.entity == target_ || other.score < score)
      return;
    if (other.score > score) {
      better += sign;
    } else {
      equal += sign;
      if (score > 0 && found(other) < found_)
        earlier += sign;
    }
  }

  // The same for an entity as if it had only the habit, and as often as the list says.
  void add_by_habit(Id other, Count given, Count sign) {
    if (other != target_)
      add_given(other, given, sign);
  }
  void add_given(Id answer, Count given, Count sign) {
    if (given >= better_from_) {
      better += sign;
    } else if (given >= equal_from_) {
      equal += sign;
      if (score > 0 && found_by_habit(answer) < found_)
        earlier += sign;
    }
  }

  // Count the whole list of the habit, except for the target. It is sorted by count, which is also
  // the order of scores, and then by rank.
  void add_habit() {
    const Count others = answerer_.at_hand.others();
    const auto score_of = [&](const Habit::Given& given) {
      return habit_.score(given.count, others);
    };
    const Count higher =
        habit_.before([&](const Habit::Given& given) { return score_of(given) <= score; });
    const Count at_least =
        habit_.before([&](const Habit::Given& given) { return score_of(given) < score; });
    const Count at_least_and_earlier = habit_.before([&](const Habit::Given& given) {
      const double others_score = score_of(given);
      if (others_score != score)
        return others_score < score;
      return !(found_by_habit(given.answer) < found_);
    });

    const auto count_at = [&](Count place) {
      return habit_.list()[static_cast<std::size_t>(place)].count;
    };
    if (higher > 0)
      better_from_ = count_at(higher - 1);
    if (at_least > 0)
      equal_from_ = count_at(at_least - 1);
    better += higher;
    equal += at_least - higher;
    if (score > 0)
      earlier += at_least_and_earlier - higher;
    if (answerer_.at_hand.is_in_graph(target_))
      add_given(target_, answerer_.at_hand.given(target_), -1);
  }

  const Answerer& answerer_;
  const Habit& habit_;
  const bool uses_habit_;
  const Id target_;
  Found found_{};  // when the target was found

  // An answer that is given so often scores more than the target, or as much, by the habit alone.
  Count better_from_ = INT64_MAX;
  Count equal_from_ = INT64_MAX;
};

}  // namespace casegraph
