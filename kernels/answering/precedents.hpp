// All kinds of evidence but paths: precedents, similar answers, and the habit of the relation.
#pragma once

#include "answering/edge_budget.hpp"
#include "answering/evidence_record.hpp"
#include "answering/resemblance.hpp"

namespace casegraph {

class Precedents {
 public:
  Precedents(const RelationQuery& query, const QueryAtHand& at_hand, EdgeBudget& budget,
             Workspace& workspace, Steps& steps)
      : query_(query),
        options_(query.options),
        habit_(query.habit),
        at_hand_(at_hand),
        budget_(budget),
        workspace_(workspace),
        candidates_(workspace.candidates),
        steps_(steps),
        resemblance_(query, at_hand, workspace, steps) {}

  // From now on, record the evidence of some answers.
  void record(EvidenceRecord& record) { record_ = &record; }

  // Begin with a query.
  //
  // habit_at_once  add the habit to each new candidate, or to all of them by `add_habit_to_all`
  void start(bool habit_at_once) { habit_at_once_ = habit_at_once && !habit_.empty(); }

  // Add what resembling entities say, as far as the budget goes.
  void add() {
    if (!options_.precedents || options_.precedent_weight == 0)
      return;
    if (const Count cost = resemblance_.find_heads(); budget_.allows(cost)) {
      budget_.followed += cost;
      add_heads();
    }
    const bool only_hidden_is_known =
        at_hand_.own.size() == 1 && at_hand_.own[0] == at_hand_.hidden;
    if (at_hand_.own.empty() || only_hidden_is_known)
      return;
    if (const Count cost = resemblance_.find_answers(); budget_.allows(cost)) {
      budget_.followed += cost;
      add_answers();
    }
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
    if (habit_.empty())
      return;
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

  // The place of a candidate, which is created if necessary.
  std::size_t candidate(Id answer) {
    if (candidates_.has(answer))
      return candidates_.place_of(answer);
    const bool is_given_used = options_.slots || !habit_.empty();
    const Count given_by_all = is_given_used ? at_hand_.given(answer) : 0;
    const Count given_by_others = given_by_all > 0 ? given_by_all - at_hand_.is_own(answer) : 0;
    const bool has_taken_slot = at_hand_.is_taken(given_by_others);
    const std::size_t place = candidates_.make(answer, given_by_all, has_taken_slot);
    if (habit_at_once_)
      add_habit(place);
    return place;
  }

 private:
  // Weights are added as integers, so that their sum does not depend on any order.
  static constexpr double unit = 0x1p-40;

  // The weights of all precedents with the same answer.
  struct Votes {
    Id answer;
    Count voters = 0;
    std::int64_t total = 0;
  };

  void add_heads() {
    votes_.clear();
    Stamps& slots = workspace_.stamps;
    slots.renew();
    const std::vector<Weighted>& heads = resemblance_.heads();
    for (const auto& [head, weight] : heads) {
      const auto vote = static_cast<std::int64_t>(std::llrint(weight / unit));
      for (Id answer : query_.graph.tails(head, query_.relation)) {
        steps_.take();
        if (!slots.has(answer)) {
          slots.set(answer, votes_.size());
          votes_.push_back({answer});
        }
        Votes& of_answer = votes_[slots.slot(answer)];
        of_answer.total += vote;
        ++of_answer.voters;
      }
    }
    for (const auto& [answer, voters, total] : votes_) {
      const double score = static_cast<double>(total) * unit * resemblance_.correction(voters);
      add_score(answer, Kind::precedents, score, voters, std::ssize(heads));
    }
  }

  void add_answers() {
    for (const auto& [answer, score] : resemblance_.answers())
      add_score(answer, Kind::answers, score, resemblance_.known_answers(), 0);
  }

  void add_score(Id answer, Kind::Number kind, double score, Count count, Count of) {
    if (!at_hand_.may_answer(answer))
      return;
    const Worth worth(score, options_.precedent_weight * score);
    add(candidate(answer), {kind, -1, -1, -1, count, of, worth});
  }

  void add(std::size_t place, const Piece& piece) {
    candidates_.add(place, piece.kind, piece.worth);
    if (record_ != nullptr)
      record_->add(candidates_[place].entity, piece);
  }

  void add_habit(std::size_t place) {
    const Candidate& candidate = candidates_[place];
    const Count count = candidate.given - at_hand_.is_own(candidate.entity);
    if (count <= 0)
      return;
    const Worth& worth = workspace_.worths.of(habit_.worth(count, at_hand_.others()));
    add(place, {Kind::habit, -1, -1, -1, count, at_hand_.others(), worth});
  }

  const RelationQuery& query_;
  const QueryOptions& options_;
  const Habit& habit_;
  const QueryAtHand& at_hand_;
  EdgeBudget& budget_;
  Workspace& workspace_;
  Candidates& candidates_;
  Steps& steps_;
  Resemblance resemblance_;
  EvidenceRecord* record_ = nullptr;
  std::vector<Votes> votes_;
  bool habit_at_once_ = false;
};

}  // namespace casegraph
