// All kinds of evidence but paths: the precedents of one query, and the habit of its relation.
//
// Problem: in graphs with hubs, the facts that very many entities share say little, and asking all
// who share them takes longer than everything else. Idea: with early stopping, such common facts
// are deferred. They are looked up later, for the leaders only, a few at a time and for whoever may
// score most first (the threshold algorithm with random access). Until then, how many entities give
// an answer bounds what the deferred facts can be worth for it.
//
// Where bounds say little, nearly all answers stay leaders. So once looking facts up has taken as
// long as asking all who share them would, these are asked after all. Both together take about
// twice as long as the better of the two (the ski rental problem).
//
// Invariant: once all who may decide the goal have been looked up, their scores are those of asking
// everybody.
#pragma once

#include "answering/early_stopping.hpp"
#include "answering/edge_budget.hpp"
#include "answering/evidence_record.hpp"
#include "answering/known_answers.hpp"
#include "answering/neighbours.hpp"
#include "answering/query_at_hand.hpp"
#include "answering/shared_facts.hpp"

namespace casegraph {

class Precedents {
 public:
  // keep_shared  remember what is found for facts that many share, for the next queries
  Precedents(const RelationQuery& query, const QueryAtHand& at_hand, EdgeBudget& budget,
             const FactSimilarity& similarity, Workspace& workspace, bool keep_shared, Steps& steps,
             Progress& progress)
      : options_(query.options),
        habit_(query.habit),
        at_hand_(at_hand),
        budget_(budget),
        workspace_(workspace),
        candidates_(workspace.candidates),
        steps_(steps),
        shared_(query, workspace, keep_shared, progress),
        neighbours_(query, similarity, workspace, progress),
        known_(query, similarity, workspace, progress) {}

  // From now on, record the evidence of some answers.
  void record(EvidenceRecord& record) { record_ = &record; }

  // Find the facts of the query entity and of its known answers.
  void find() {
    if (!options_.precedents)
      return;
    const Id entity = at_hand_.entity;
    const auto is_seen = [&](Id relation, Id tail) {
      return !at_hand_.is_hidden(entity, relation, tail);
    };
    shared_.find(entity, is_seen);
    known_.find(entity, at_hand_.own, at_hand_.hidden);
  }

  // The edges that all kinds make one look at.
  Count cost() const {
    return options_.precedents ? shared_.cost() + cost_of_neighbours() + known_.cost() : 0;
  }

  // In full: begin without candidates, to which the habit will be added at the end.
  void start_in_full() {
    habit_at_once_ = false;
    are_deferred_ = false;
  }

  // Nothing is known about the query entity: only the habit answers.
  void add_only_habit() {
    start_in_full();
    if (habit_.empty())
      return;
    known_.find(at_hand_.entity, at_hand_.own, at_hand_.hidden);
    add_habit_to_all();
  }

  // In full: add what all precedents say, as far as the budget goes, and the habit.
  void add_in_full() {
    if (options_.precedents) {
      const Count left = budget_.left();
      const auto [largest_class, cost] = shared_.affordable(left);
      budget_.exact = budget_.exact && largest_class == SharedFacts::every_class;
      if (is_one_by_one())
        shared_.choose_cheaper(largest_class);
      else
        shared_.choose(largest_class);
      ask_sharers();
      look_up_for_all_answers();
      budget_.leave(left - cost);
      if (budget_.allows(known_.cost()))
        look_at_known_answers();
      if (budget_.allows(cost_of_neighbours()))
        ask_neighbours();
    }
    if (!habit_.empty())
      add_habit_to_all();
  }

  // With early stopping: every new candidate gets the habit, and a bound for the deferred facts.
  void start_early() {
    habit_at_once_ = !habit_.empty();
    are_deferred_ = false;
    if (options_.precedents)
      defer_common_facts();
    make_own_candidates();
  }

  // With early stopping: add what all precedents say, except for the deferred facts.
  void add_early() {
    if (!options_.precedents)
      return;
    ask_sharers();
    look_at_known_answers();
    ask_neighbours();
  }

  // Whether some shared facts are deferred.
  bool are_deferred() const { return are_deferred_; }

  // The most strength that a deferred fact can have for an answer that so many others give.
  double most_deferred(Count given) { return are_deferred_ ? shared_.most_strength(given) : 0; }

  // Look all deferred facts up for a candidate, as far as they can count.
  void look_up_all(std::size_t place) {
    while (candidates_[place].unseen > 0)
      look_up_some(place);
  }

  // Ask all who share the deferred facts instead of looking these up. The other facts are asked
  // once more, since the best of all facts are found together; they are few.
  void ask_deferred() {
    if (!are_deferred_)
      return;
    are_deferred_ = false;
    shared_.ask_looked_up();
    ask_sharers();
    steps_.take(std::ssize(candidates_.list()));
    for (std::size_t place = 0; place < candidates_.list().size(); ++place)
      candidates_.set_looked_up(place, 0, 0);
  }

  // Look shared facts up for the leaders, for whoever may score most first, until all on whom the
  // goal may depend have been looked up, or so many edges were looked at. If looking up took too
  // long, all deferred facts are asked.
  void look_up_for_leaders(Leaders& leaders, double next, Count most_edges) {
    if (!are_deferred_)
      return;
    std::vector<std::pair<double, std::size_t>> waiting;  // upper bounds and places, as a heap
    for (std::size_t place : leaders.places())
      if (candidates_[place].unseen > 0)
        waiting.emplace_back(candidates_.bounds(place, next).upper, place);
    if (waiting.empty())
      return;
    steps_.take(std::ssize(leaders.places()) + std::ssize(waiting));
    std::make_heap(waiting.begin(), waiting.end());
    const Count before = looked_up_edges_;
    while (!waiting.empty() && looked_up_edges_ - before < most_edges) {
      if (looked_up_edges_ > cost_of_asking_deferred_) {
        ask_deferred();
        break;
      }
      std::pop_heap(waiting.begin(), waiting.end());
      const std::size_t place = waiting.back().second;
      waiting.pop_back();
      const Bounds bounds = candidates_.bounds(place, next);
      if (Leaders::is_less(bounds.upper, leaders.least_score()))
        break;
      if (!leaders.may_decide(bounds))
        continue;
      look_up_some(place);
      const Bounds now = candidates_.bounds(place, next);
      leaders.raise(place, bounds.lower, now.lower);
      if (candidates_[place].unseen <= 0)
        continue;
      waiting.emplace_back(now.upper, place);
      std::push_heap(waiting.begin(), waiting.end());
    }
    leaders.look(next);
  }

  // The place of a candidate, which is created if necessary.
  std::size_t candidate(Id answer) {
    if (candidates_.has(answer))
      return candidates_.place_of(answer);
    const bool is_given_used = options_.slots || !habit_.empty();
    const Count given_by_all = is_given_used ? at_hand_.given(answer) : 0;
    const Count given_by_others = given_by_all > 0 ? given_by_all - at_hand_.is_own(answer) : 0;
    const double unseen = most_deferred(given_by_others);
    const bool has_taken_slot = at_hand_.is_taken(given_by_others);
    const std::size_t place = candidates_.make(answer, given_by_all, has_taken_slot, unseen);
    if (habit_at_once_)
      add_habit(place);
    return place;
  }

 private:
  // A piece of evidence that is added when all of its kind are known.
  struct Waiting {
    std::size_t place;
    Piece piece;
  };

  auto may_answer() const {
    return [this](Id answer) { return at_hand_.may_answer(answer); };
  }

  void add(std::size_t place, const Piece& piece) {
    candidates_.add(place, piece.kind, piece.worth);
    if (record_ != nullptr)
      record_->add(candidates_[place].entity, piece);
  }

  // Whether every piece of evidence is wanted, not only the best of each kind.
  bool is_one_by_one() const { return record_ != nullptr || options_.sum; }

  // Add what others say that share a fact.
  void ask_sharers() {
    const Id entity = at_hand_.entity;
    if (!is_one_by_one()) {
      budget_.followed += shared_.ask_for_best(entity, at_hand_.own, most_pieces(), may_answer(),
                                               [&](Id answer, std::span<const double> worths) {
                                                 set_worths(answer, Kind::shared_fact, worths);
                                               });
      return;
    }
    waiting_.clear();
    budget_.followed += shared_.ask(entity, at_hand_.own, [&](const Piece& piece, Id answer) {
      use_shared_fact(piece, answer);
    });
    add_waiting();
  }

  void use_shared_fact(const Piece& piece, Id answer) {
    steps_.take();
    if (!at_hand_.may_answer(answer))
      return;
    const std::size_t place = candidate(answer);
    if (options_.sum)
      waiting_.push_back({place, piece});
    else
      add(place, piece);
  }

  // If every piece is wanted: look shared facts up for all answers that anybody gives, or for those
  // whose evidence is wanted.
  void look_up_for_all_answers() {
    if (shared_.looked_up() == 0)
      return;
    budget_.followed += shared_.open_looked_up(at_hand_.entity);
    waiting_.clear();
    if (record_ != nullptr)
      record_->each_wanted([&](Id answer) { look_up_some_for(answer, 0); });
    else
      for (Id answer : shared_.all_answers())
        if (at_hand_.may_answer(answer))
          look_up_some_for(answer, 0);
    add_waiting();
  }

  // How many pieces of a kind count.
  std::size_t most_pieces() const { return static_cast<std::size_t>(options_.best); }

  // The best pieces of a kind for an answer, in place of those it has.
  void set_worths(Id answer, Kind::Number kind, std::span<const double> worths) {
    strengths_.clear();
    for (double worth : worths)
      strengths_.push_back(workspace_.worths.of(worth).strength);
    candidates_.set_strengths(candidate(answer), kind, strengths_);
  }

  // Choose the shared facts that are deferred. What answers that are no candidates can get from
  // them is bounded by the habit, so none are if there is no habit.
  void defer_common_facts() {
    if (habit_.empty()) {
      shared_.choose(SharedFacts::every_class);
      return;
    }
    shared_.choose_rarest();
    are_deferred_ = shared_.looked_up() > 0;
    if (!are_deferred_)
      return;
    budget_.followed += shared_.open_looked_up(at_hand_.entity);
    cost_of_asking_deferred_ = shared_.cost_of_asking_looked_up();
    looked_up_edges_ = 0;
  }

  // Look some more deferred facts up for a candidate. Only those count that are stronger than the
  // weakest of its pieces; if no other fact can be, it has been looked up.
  void look_up_some(std::size_t place) {
    const Id answer = candidates_[place].entity;
    const std::size_t from = candidates_[place].looked_up;
    const double weakest = candidates_.weakest(place, Kind::shared_fact);
    const std::size_t next = look_up_some_for(answer, from, worth_of_strength(weakest));
    const Count given_by_others = candidates_[place].given - at_hand_.is_own(answer);
    const double unseen = shared_.most_strength_from(next, given_by_others);
    const bool can_count = unseen > candidates_.weakest(place, Kind::shared_fact);
    candidates_.set_looked_up(place, next, can_count ? unseen : 0);
  }

  // What a piece of this strength is worth, or less by a part in 10^12: more than rounding changes.
  static double worth_of_strength(double strength) { return -std::expm1(-strength) * (1 - 1e-12); }

  // Look some shared facts up for an answer, from one on; use those that are worth more than
  // `least`. Returns the one to go on with.
  std::size_t look_up_some_for(Id answer, std::size_t from, double least = 0) {
    const std::size_t best = is_one_by_one() ? 0 : most_pieces();
    const auto [next, edges] = shared_.look_up(
        answer, from, best, least, [&](const Piece& piece) { use_shared_fact(piece, answer); });
    budget_.follow_paid(edges);  // see `EdgeBudget::leave`
    looked_up_edges_ += edges;
    return next;
  }

  // A sum of floating-point numbers depends on their order, and facts come in the order of ids.
  // Adding the largest first makes the sum depend on the numbers alone.
  void add_waiting() {
    const auto is_worth_more = [](const Waiting& a, const Waiting& b) {
      return a.piece.worth.value > b.piece.worth.value;
    };
    std::stable_sort(waiting_.begin(), waiting_.end(), is_worth_more);
    for (const Waiting& one : waiting_)
      add(one.place, one.piece);
  }

  // Add the answers of the entities that share most with the query entity.
  void ask_neighbours() {
    if (options_.weights[Kind::neighbours] == 0)
      return;
    budget_.followed += cost_of_neighbours();
    neighbours_.start(at_hand_.entity);
    shared_.each_fact([&](Ids sharers) { neighbours_.add_fact(sharers); });
    neighbours_.each_answer([&](Id answer, double worth, Count count, Count of) {
      if (!at_hand_.may_answer(answer))
        return;
      add(candidate(answer), {Kind::neighbours, -1, -1, -1, count, of, Worth(worth)});
    });
  }

  // Add the candidates that are similar to the known answers.
  void look_at_known_answers() {
    const bool uses_facts = options_.weights[Kind::answers_fact] > 0;
    const bool uses_nearness = options_.weights[Kind::near_answers] > 0;
    if (at_hand_.own.empty() || (!uses_facts && !uses_nearness))
      return;
    budget_.followed += known_.cost();
    known_.look_at_sharers();
    if (uses_facts)
      use_facts_of_answers();
    const auto use_nearness = [&](Id answer, double worth) {
      if (!at_hand_.may_answer(answer))
        return;
      add(candidate(answer), {Kind::near_answers, -1, -1, -1, 0, known_.size(), Worth(worth)});
    };
    if (uses_nearness)
      known_.each_near(use_nearness);
  }

  void use_facts_of_answers() {
    if (!is_one_by_one()) {
      known_.each_best(most_pieces(), may_answer(), [&](Id answer, std::span<const double> worths) {
        set_worths(answer, Kind::answers_fact, worths);
      });
      return;
    }
    waiting_.clear();
    known_.each_fact(
        [&](Id relation, Id tail, Id answer, const Worth& worth, Count count, Count of) {
          if (!at_hand_.may_answer(answer))
            return;
          const Piece piece{Kind::answers_fact, relation, tail, -1, count, of, worth};
          const std::size_t place = candidate(answer);
          if (options_.sum)
            waiting_.push_back({place, piece});
          else
            add(place, piece);
        });
    add_waiting();
  }

  // The entity's own answers become candidates, even without other evidence, since others give them
  // less often than the list of the habit says.
  void make_own_candidates() {
    for (Id answer : at_hand_.own)
      if (!at_hand_.is_left_out(answer))
        candidate(answer);
  }

  // Add the habit to all candidates, among which are the answers whose evidence is wanted.
  void add_habit_to_all() {
    make_own_candidates();
    if (record_ != nullptr)
      for (Id answer : record_->answers())
        if (at_hand_.may_answer(answer))
          candidate(answer);
    for (std::size_t place = 0; place < candidates_.list().size(); ++place) {
      steps_.take();
      add_habit(place);
    }
  }

  void add_habit(std::size_t place) {
    const Candidate& candidate = candidates_[place];
    const Count count = candidate.given - at_hand_.is_own(candidate.entity);
    if (count <= 0)
      return;
    const Worth& worth = workspace_.worths.of(habit_.worth(count, at_hand_.others()));
    add(place, {Kind::habit, -1, -1, -1, count, at_hand_.others(), worth});
  }

  Count cost_of_neighbours() const {
    if (options_.weights[Kind::neighbours] == 0)
      return 0;
    Count cost = 0;
    shared_.each_fact([&](Ids sharers) { cost += neighbours_.cost(sharers); });
    return cost;
  }

  const QueryOptions& options_;
  const Habit& habit_;
  const QueryAtHand& at_hand_;
  EdgeBudget& budget_;
  Workspace& workspace_;
  Candidates& candidates_;
  Steps& steps_;
  SharedFacts shared_;
  Neighbours neighbours_;
  KnownAnswers known_;
  EvidenceRecord* record_ = nullptr;

  // The query at hand.
  std::vector<Waiting> waiting_;
  std::vector<double> strengths_;      // of the pieces that speak for the candidate at hand
  bool habit_at_once_ = false;         // added to each new candidate, or to all at the end
  bool are_deferred_ = false;          // some shared facts, to be looked up for the leaders only
  Count cost_of_asking_deferred_ = 0;  // in edges
  Count looked_up_edges_ = 0;          // what looking them up for answers took so far, in edges
};

}  // namespace casegraph
