// Answers one query after the other: gathers all evidence for all candidates, and combines it.
//
// There are two ways to do this, with the same result:
//
//   In full: walk all path types of the list, then add precedents and the habit.
//
//   With early stopping: add precedents first, which finds most candidates, and the habit to each
//   new candidate. Then walk path types, the heaviest first, and check now and then whether the
//   goal depends only on a few leaders (early_stopping.hpp). If so, the rest of the path types is
//   followed only to the leaders.
//
// A query may look at `budget` edges. A step that would exceed it is not taken, and the query is
// not `exact`. What is left out then depends on the order of work, so if the budget is not enough
// for everything, the query is answered in full.
#pragma once

#include "answering/early_stopping.hpp"
#include "answering/path_walker.hpp"
#include "answering/precedents.hpp"
#include "common/parallel.hpp"

namespace casegraph {

class alignas(own_lines) Answerer {
 public:
  Answerer(const RelationQuery& query, const Queries& queries, Workspace& workspace,
           Progress& progress)
      : steps(progress),
        at_hand(query, workspace),
        budget(query.options.budget),
        query_(query),
        graph_(query.graph),
        options_(query.options),
        habit_(query.habit),
        queries_(queries),
        workspace_(workspace),
        candidates_(workspace.candidates),
        walker_(query, at_hand, budget, workspace, steps),
        precedents_(query, at_hand, budget, workspace, steps) {}
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  // From now on, record the evidence of some answers.
  void record(EvidenceRecord& record) {
    record_ = &record;
    precedents_.record(record);
  }

  // Gather and combine all evidence for the answers of a query, as far as the goal depends
  // on it. If only the best are wanted, others may have no score.
  const std::vector<Candidate>& answer(std::size_t query, const Goal& goal = {}) {
    at_hand.start(queries_.entities[query], queries_.hidden[query], goal.new_only);
    if (!at_hand.is_known()) {
      candidates_.renew(options_);
      budget.renew();
      precedents_.start(false);
      precedents_.add_habit_to_all();
      candidates_.combine();
      return candidates_.list();
    }
    at_hand.find_linked(steps);
    choose_worths();

    const Id list = queries_.lists[query];
    const bool may_stop = query_.may_stop_early && record_ == nullptr && allows_stopping(goal);
    leaders_.clear();
    const bool is_decided = may_stop && gather_until_decided(list, goal);
    if (!is_decided)
      gather_in_full(list);
    if (is_decided && goal.top > 0 && !leaders_.empty())
      candidates_.combine(leaders_);
    else
      candidates_.combine();
    return candidates_.list();
  }

  // Walk the first path types of the list to some answers of a query. Returns the strength of the
  // paths to each of them, in their order.
  std::vector<double> path_strengths(std::size_t query, Ids targets) {
    std::vector<double> strengths(targets.size());
    at_hand.start(queries_.entities[query], queries_.hidden[query], false);
    if (!at_hand.is_known())
      return strengths;
    choose_worths();
    Walk walk = start(queries_.lists[query]);
    if (options_.walked > 0)
      walk.end = std::min(walk.end, walk.first + options_.walked);
    precedents_.start(false);
    std::vector<std::size_t> places;
    for (Id target : targets)
      if (at_hand.is_in_graph(target) && !candidates_.has(target))
        places.push_back(precedents_.candidate(target));
    follow_only_to(walk, places);
    for (std::size_t at = 0; at < targets.size(); ++at)
      if (at_hand.is_in_graph(targets[at]))
        strengths[at] = candidates_.path_strength(candidates_.place_of(targets[at]));
    return strengths;
  }

  // The strength with which precedents support some answers of a query, in their order.
  std::vector<double> precedent_strengths(std::size_t query, Ids targets) {
    at_hand.start(queries_.entities[query], queries_.hidden[query], false);
    budget.renew();
    return precedents_.strengths(targets);
  }

  const Candidate* find(Id entity) const {
    return at_hand.is_in_graph(entity) ? candidates_.find(entity) : nullptr;
  }

  // Of all others that have the relation: how many give an answer, and how many there are.
  std::pair<Count, Count> habit_of(Id answer) const {
    return {at_hand.given(answer) - at_hand.is_own(answer), at_hand.others()};
  }

  Steps steps;
  QueryAtHand at_hand;
  EdgeBudget budget;

 private:
  // A list of path types, and how far it has been walked.
  struct Walk {
    std::int64_t first, at, end;
    int led_somewhere = 0;  // path types
  };

  // The ends that a step has reached, and candidates that it cannot change: both are skipped.
  struct Seen {
    void renew() { stamps.renew(); }
    bool has(Id entity) const {
      return (anywhere && candidates.is_marked_final(entity)) || stamps.has(entity);
    }
    void set(Id entity) {
      stamps.set(entity);
      anywhere = true;
    }
    Stamps& stamps;
    const Candidates& candidates;
    bool anywhere = false;  // the first end counts whatever it is: the path type leads somewhere
  };

  Walk start(Id list) {
    candidates_.renew(options_);
    budget.renew();
    walker_.renew();
    const std::int64_t first = query_.lists.offsets[list];
    return {first, first, query_.lists.offsets[list + 1]};
  }

  void gather_in_full(Id list) {
    Walk walk = start(list);
    precedents_.start(false);
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at)
      walk.led_somewhere += follow(walk);
    precedents_.add();
    precedents_.add_habit_to_all();
  }

  // Returns whether the budget would have been enough for everything. If not, the candidates are of
  // no use.
  bool gather_until_decided(Id list, const Goal& goal) {
    Walk walk = start(list);
    precedents_.start(true);
    precedents_.make_own_candidates();
    for (Id target : goal.targets)
      precedents_.candidate(target);
    precedents_.add();
    if (!budget.exact)
      return false;

    // Check after four path types, then whenever half as many again have been walked: a check looks
    // at all candidates, so that all checks together cost as much as a few.
    Leaders leaders(candidates_, goal);
    std::int64_t next_check = walk.at + 4;
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at) {
      if (walk.at == next_check) {
        steps.take(std::ssize(leaders.places()));
        const double next = query_.strengths[walk.at];
        leaders.look(next);
        if (leaders.are_few() && others_score_less(leaders.least_score(), next))
          return finish_leaders(walk, leaders_ = leaders.places());
        next_check += (next_check - walk.first) / 2;
      }
      walk.led_somewhere += follow(walk);
    }
    return budget.exact;
  }

  bool is_enough(const Walk& walk) const {
    return options_.walked > 0 && walk.led_somewhere == options_.walked;
  }

  bool allows_stopping(const Goal& goal) const {
    const auto can_be_candidate = [&](Id target) {
      return at_hand.is_in_graph(target) && at_hand.may_answer(target);
    };
    return goal.allows_early_stopping() &&
           std::all_of(goal.targets.begin(), goal.targets.end(), can_be_candidate);
  }

  // Whether no entity that is not a candidate yet can score as much, if all path types to come are
  // worth no more than `next`.
  bool others_score_less(double score, double next) {
    Worth habit;  // the best of those that are not candidates
    for (const Habit::Given& given : habit_.list()) {
      steps.take();
      if (candidates_.has(given.answer) || at_hand.is_left_out(given.answer))
        continue;
      habit = Worth(habit_.worth(given.count, at_hand.others()));
      break;
    }
    return Leaders::is_less(candidates_.upper_bound(habit, next), score);
  }

  // Add what the rest of the path types says about the leaders, and about nobody else. Returns
  // whether the budget would have been enough for everything.
  bool finish_leaders(Walk walk, std::vector<std::size_t> leaders) {
    Count spared = 0;  // an upper bound of the edges that are not looked at now
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at) {
      steps.take();
      const Count left = budget.left() - spared;
      if (left < 0)
        return false;
      const Trie::Node& last = query_.ends[walk.at].last;
      if (last.length == 1) {  // nothing to spare
        walk.led_somewhere += follow(walk);
        continue;
      }
      if (walker_.is_known_to_lead_nowhere(last.parent))
        continue;
      drop_final(leaders, walk);
      if (leaders.empty() && query_.cost_from[walk.at] <= left)
        break;
      Frontier* from = walker_.frontier(last.parent);
      if (from == nullptr)
        continue;
      const Edges& edges = graph_.edges(last.relation);
      const Count cost = walker_.most_cost(edges, *from);
      if (cost > 0 &&
          (follow_to(walk, last, *from, leaders) || leads_on(edges, at_hand.entity, *from, steps)))
        ++walk.led_somewhere;
      spared += cost;
    }
    return budget.exact;
  }

  // Follow the path types of a list to some candidates, and to nobody else.
  void follow_only_to(Walk walk, std::vector<std::size_t> leaders) {
    for (; walk.at < walk.end; ++walk.at) {
      drop_final(leaders, walk);
      if (leaders.empty())
        return;
      const Trie::Node& last = query_.ends[walk.at].last;
      steps.take();
      if (Frontier* from = walker_.frontier(last.parent))
        follow_to(walk, last, *from, leaders);
    }
  }

  // Keep only candidates that the path types to come can change.
  void drop_final(std::vector<std::size_t>& places, const Walk& walk) {
    steps.take(std::ssize(places));
    std::erase_if(places, [&](std::size_t place) {
      return candidates_.is_final(place, query_.strengths[walk.at]);
    });
  }

  // The last step of a path type, to the leaders only. Returns whether it leads to any of them.
  bool follow_to(const Walk& walk, const Trie::Node& last, Frontier& from,
                 const std::vector<std::size_t>& leaders) {
    const Edges& edges = graph_.edges(last.relation);
    const Edges& back = graph_.edges(inverse(last.relation));
    bool anywhere = false;
    weigh([&] { return leads_to(edges, back, from, at_hand.hidden, steps); });
    for (std::size_t place : leaders) {
      const Id leader = candidates_.list()[place].entity;
      if (leader == at_hand.entity || !leads_to(edges, back, from, leader, steps))
        continue;
      arrive(walk, leader);
      anywhere = true;
    }
    return anywhere;
  }

  // Path types are worth less if they lead to the hidden answer, which was counted when it was not
  // hidden.
  void choose_worths() {
    const Id hidden = at_hand.hidden;
    const bool was_counted = hidden >= 0 && hidden != at_hand.entity && at_hand.is_own(hidden);
    worths_ = &query_.worths;
    worths_if_fewer_ = nullptr;
    if (was_counted && !query_.worths_if_fewer[0].empty())
      worths_if_fewer_ = &query_.worths_if_fewer[at_hand.has_taken_slot(hidden)];
  }

  // Choose what the current path type is worth: less by one right end if it leads to the hidden
  // answer, which was counted when it was not hidden.
  template <class LeadsTo>
  void weigh(const LeadsTo& leads_to_hidden) {
    if (worths_if_fewer_ != nullptr)
      worths_ = leads_to_hidden() ? worths_if_fewer_ : &query_.worths;
  }

  // The current path type leads to this end.
  void arrive(const Walk& walk, Id end) {
    if (at_hand.is_left_out(end))
      return;
    const std::size_t place = precedents_.candidate(end);
    const auto found_by = static_cast<std::int32_t>(walk.at - walk.first);
    const Worth& worth = (*worths_)[walk.at][candidates_[place].is_taken];
    if (candidates_[place].found_by == INT32_MAX) {
      candidates_[place].found_by = found_by;
      if (!options_.loop_free)
        candidates_[place].paths = workspace_.walks[end];
    }
    candidates_.add(place, Kind::path, worth);
    if (record_ != nullptr)
      record_->add(end, {Kind::path, -1, -1, found_by, candidates_[place].is_taken, 0, worth});
    if (candidates_.is_final(place, query_.strengths[walk.at]))
      candidates_.mark_final(end);
  }

  // Add the evidence of the current path type. Returns whether it leads anywhere.
  bool follow(const Walk& walk) {
    const auto& [node, last] = query_.ends[walk.at];
    const bool is_only_followed = last.ahead == 0 && last.length > 1;
    if (options_.loop_free && is_only_followed && record_ == nullptr)
      return follow_last_step(walk, last);

    const Frontier* reached = walker_.frontier(node);
    if (reached == nullptr)
      return false;
    if (!options_.loop_free)
      walker_.count_walks(query_.lists.types[query_.lists.walked[walk.at]]);
    steps.take(std::ssize(reached->ends));
    weigh([&] { return std::ranges::find(reached->ends, at_hand.hidden) != reached->ends.end(); });
    for (Id end : reached->ends)
      if (record_ != nullptr || !candidates_.is_marked_final(end))
        arrive(walk, end);
    return true;
  }

  // The last step of a path type that no other goes on from: its ends need not be remembered, and
  // candidates that it cannot change are skipped.
  bool follow_last_step(const Walk& walk, const Trie::Node& last) {
    const Edges& edges = graph_.edges(last.relation);
    Frontier* from = walker_.frontier(last.parent);
    if (from == nullptr || !walker_.is_within_budget(edges, *from))
      return false;
    weigh([&] {
      return leads_to(edges, graph_.edges(inverse(last.relation)), *from, at_hand.hidden, steps);
    });
    Seen seen{workspace_.stamps, candidates_};
    budget.followed += last_step(edges, at_hand.entity, *from, nullptr, seen, steps,
                                 [&](Id end) { arrive(walk, end); });
    return seen.anywhere;
  }

  const RelationQuery& query_;
  const Graph& graph_;
  const QueryOptions& options_;
  const Habit& habit_;
  const Queries& queries_;
  Workspace& workspace_;
  Candidates& candidates_;
  PathWalker walker_;
  Precedents precedents_;
  EvidenceRecord* record_ = nullptr;

  // The query at hand.
  const PathWorths* worths_ = nullptr;           // what path types are worth now
  const PathWorths* worths_if_fewer_ = nullptr;  // and if they lead to the hidden answer
  std::vector<std::size_t> leaders_;             // when the goal was decided
};

}  // namespace casegraph
