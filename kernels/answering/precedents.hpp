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

  // The strength with which entities that resemble the query entity support some answers, in their
  // order; 0 as far as the budget does not go.
  std::vector<double> strengths(Ids answers) {
    std::vector<double> strengths(answers.size());
    if (options_.precedent_weight == 0 || !at_hand_.is_known())
      return strengths;
    const Count cost = resemblance_.find_heads();
    if (!budget_.allows(cost))
      return strengths;
    budget_.followed += cost;

    const std::vector<Id>& heads = resemblance_.nearest_heads();
    const Edges& asked = query_.graph.edges(query_.relation);
    std::vector<std::vector<std::size_t>> voters(answers.size());  // places in `heads`
    bool are_there_voters = false;
    for (std::size_t at = 0; at < answers.size(); ++at) {
      steps_.take(std::ssize(heads));
      for (std::size_t place = 0; place < heads.size(); ++place)
        if (asked.holds(heads[place], answers[at]))
          voters[at].push_back(place);
      are_there_voters |= !voters[at].empty();
    }
    if (!are_there_voters)
      return strengths;

    const std::vector<Weighted>& weighted = resemblance_.weighted_heads();
    for (std::size_t at = 0; at < answers.size(); ++at) {
      std::int64_t total = 0;
      Count count = 0;
      for (std::size_t place : voters[at]) {
        if (place >= weighted.size())
          break;
        total += vote_of(weighted[place]);
        ++count;
      }
      strengths[at] = options_.precedent_weight * score_of(total, count);
    }
    return strengths;
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
    const bool has_taken_slot = at_hand_.has_taken_slot(answer, given_by_all);
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
    resemblance_.nearest_heads();
    const std::vector<Weighted>& heads = resemblance_.weighted_heads();
    for (const auto& [head, weight] : heads) {
      const std::int64_t vote = vote_of({head, weight});
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
      const double score = score_of(total, voters);
      add_score(answer, Kind::precedents, score, voters, std::ssize(heads));
    }
  }

  static std::int64_t vote_of(const Weighted& head) {
    return static_cast<std::int64_t>(std::llrint(head.weight / unit));
  }
  double score_of(std::int64_t total, Count voters) const {
    return static_cast<double>(total) * unit * resemblance_.correction(voters);
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
