// Answers one query after the other: gathers all evidence for all candidates, and combines it.
//
// There are two ways to do this, with the same result:
//
//   In full: walk all path types of the list, then ask the precedents (sharers of facts, known
//   answers, neighbours), then add the habit.
//
//   With early stopping: ask the precedents first, which is cheap and finds most candidates, and
//   add the habit to each new candidate. Then walk path types, the heaviest first, and check now
//   and then whether the goal depends only on a few leaders (early_stopping.hpp). If so, the rest
//   of the path types is followed only to the leaders.
//
// A query may look at `budget` edges. A step that would exceed it is not taken, and the query is
// not `exact`. What is left out then depends on the order of work, so if the budget is not enough
// for everything, the query is answered in full.
#pragma once

#include "answering/early_stopping.hpp"
#include "answering/evidence_record.hpp"
#include "answering/known_answers.hpp"
#include "answering/neighbours.hpp"
#include "answering/shared_facts.hpp"

namespace casegraph {

class Answerer {
 public:
  Answerer(const RelationQuery& query, const Queries& queries, const FactSimilarity& similarity,
           Workspace& workspace, Progress& progress)
      : steps(progress),
        query_(query),
        graph_(query.graph),
        options_(query.options),
        habit_(query.habit),
        queries_(queries),
        workspace_(workspace),
        candidates_(workspace.candidates),
        shared_(query, workspace, queries.entities.size() > 1, progress),
        neighbours_(query, similarity, workspace, progress),
        known_(query, similarity, workspace, progress) {
    const std::size_t nodes = query.trie.nodes.size();
    if (workspace.visits.size() < nodes) workspace.visits.resize(nodes);
    if (!options_.loop_free) workspace.walks.resize(graph_.entities);
  }

  // From now on, record the evidence of some answers.
  void record(EvidenceRecord& record) { record_ = &record; }

  // Gather and combine all evidence for the answers of a query, as far as the goal depends
  // on it. If only the best are wanted, others may have no score.
  const std::vector<Candidate>& answer(std::size_t query, const Goal& goal = {}) {
    entity_ = queries_.entities[query];
    hidden_ = queries_.hidden[query];
    if (!is_known()) {
      candidates_.renew(options_);
      return candidates_.list();
    }
    own_ = graph_.tails(entity_, query_.relation);
    new_only_ = goal.new_only;
    pieces_ = &query_.pieces;
    pieces_if_fewer_ = nullptr;
    if (options_.precedents) {
      shared_.find(entity_,
                   [&](Id relation, Id tail) { return !is_hidden(entity_, relation, tail); });
      known_.find(entity_, own_, hidden_);
    }
    const bool was_counted = hidden_ >= 0 && hidden_ != entity_ && is_own(hidden_);
    if (was_counted && !query_.pieces_if_fewer[0].empty())
      pieces_if_fewer_ = &query_.pieces_if_fewer[is_taken(given(hidden_) - 1)];

    const Id list = queries_.lists[query];
    const bool may_stop = query_.may_stop_early && record_ == nullptr && allows_stopping(goal);
    leaders_.clear();
    const bool is_decided = may_stop && gather_until_decided(list, goal);
    if (!is_decided) gather_in_full(list);
    if (is_decided && goal.top > 0 && !leaders_.empty())
      candidates_.combine(leaders_);
    else
      candidates_.combine();
    return candidates_.list();
  }

  // The query at hand.
  bool is_known() const { return entity_ >= 0; }
  Id entity() const { return entity_; }

  bool is_in_graph(Id entity) const { return entity >= 0 && entity < graph_.entities; }
  const Candidate* find(Id entity) const {
    return is_in_graph(entity) ? candidates_.find(entity) : nullptr;
  }

  // Whether precedents may support an answer. An entity is its own answer only if some entity of
  // the relation is.
  bool may_answer(Id answer) const {
    if (is_left_out(answer)) return false;
    return answer != entity_ || habit_.some_answer_themselves();
  }

  // How many entities give an answer, and how many others have the relation.
  Count given(Id answer) const {
    return static_cast<Count>(graph_.tails(answer, inverse(query_.relation)).size());
  }
  Count others() const { return habit_.others(!own_.empty()); }

  // Of all others that have the relation: how many give an answer, and how many there are.
  std::pair<Count, Count> habit_of(Id answer) const {
    return {given(answer) - is_own(answer), others()};
  }

  Steps steps;
  Count followed = 0;  // edges looked at, by all queries so far
  bool exact = true;   // whether the budget was enough for the query at hand

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
    exact = true;
    followed_before_ = followed;
    frontiers_in_use_ = 0;
    if (++workspace_.epoch == 0) {
      std::fill(workspace_.visits.begin(), workspace_.visits.end(), Workspace::Visit{});
      workspace_.epoch = 1;
    }
    const std::int64_t first = query_.lists.offsets[list];
    return {first, first, query_.lists.offsets[list + 1]};
  }

  void gather_in_full(Id list) {
    Walk walk = start(list);
    habit_at_once_ = false;
    looks_up_later_ = false;
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at) walk.led_somewhere += follow(walk);
    if (options_.precedents) {
      const Count left = budget_left();
      const auto [largest_class, cost] = shared_.affordable(left);
      exact = exact && largest_class == SharedFacts::every_class;
      shared_.choose(largest_class);
      ask_sharers();
      look_up_for_all();
      leave_budget(left - cost);
      if (is_affordable(known_.cost())) look_at_known_answers();
      if (is_affordable(cost_of_neighbours())) ask_neighbours();
    }
    if (!habit_.empty()) add_habit_to_all();
  }

  // Returns whether the budget would have been enough for everything. If not, the candidates are of
  // no use.
  bool gather_until_decided(Id list, const Goal& goal) {
    Walk walk = start(list);
    habit_at_once_ = !habit_.empty();
    looks_up_later_ = false;
    Count cost = 0;
    if (options_.precedents) cost = shared_.cost() + cost_of_neighbours() + known_.cost();
    if (cost > options_.budget) return false;
    if (options_.precedents) choose_what_to_look_up();
    make_own_candidates();
    for (Id target : goal.targets) candidate(target);
    if (options_.precedents) {
      ask_sharers();
      if (!looks_up_later_) look_up_for_all();
      look_at_known_answers();
      ask_neighbours();
    }
    leave_budget(options_.budget - cost);

    candidates_.close_other_kinds();
    Leaders leaders(candidates_, goal);
    if (looks_up_later_)
      for (Id target : goal.targets) {
        const std::size_t place = candidates_.place_of(target);
        while (candidates_[place].unseen > 0) look_up(place);
      }

    // Looking facts up for leaders who may fall behind later is in vain, so a check does some of
    // it.
    constexpr Count edges_at_a_check = 1 << 19;

    // Check after four path types, then whenever half as many again have been walked: a check looks
    // at all candidates, so that all checks together cost as much as a few.
    std::int64_t next_check = walk.at + 4;
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at) {
      if (walk.at == next_check) {
        steps.take(std::ssize(leaders.places()));
        const double next = query_.strengths[walk.at];
        leaders.look(next);
        if (looks_up_later_) look_up_for(leaders, next, edges_at_a_check);
        if (leaders.are_few() && others_score_less(leaders.least_score(), next))
          return finish_leaders(walk, leaders_ = leaders.places());
        next_check += (next_check - walk.first) / 2;
      }
      walk.led_somewhere += follow(walk);
    }
    if (looks_up_later_) finish_looking_up(leaders);
    return exact;
  }

  bool is_enough(const Walk& walk) const {
    return options_.walked > 0 && walk.led_somewhere == options_.walked;
  }

  // Whether the budget is enough for evidence of a kind; if not, there is none of it.
  bool is_affordable(Count cost) {
    const bool is_within = cost <= budget_left();
    if (!is_within) exact = false;
    return is_within;
  }

  Count cost_of_neighbours() const {
    if (options_.weights[Kind::neighbours] == 0) return 0;
    Count cost = 0;
    shared_.each_fact([&](Ids sharers) { cost += neighbours_.cost(sharers); });
    return cost;
  }

  Count budget_left() const { return followed_before_ + options_.budget - followed; }

  // What shared facts were to cost counts, not what they did cost, which depends on the goal.
  void leave_budget(Count left) { followed_before_ = followed + left - options_.budget; }

  bool allows_stopping(const Goal& goal) const {
    const auto can_be_candidate = [&](Id target) {
      return is_in_graph(target) && may_answer(target);
    };
    return goal.allows_early_stopping() &&
           std::all_of(goal.targets.begin(), goal.targets.end(), can_be_candidate);
  }

  // Whether no entity that is not a candidate yet can score as much, if all path types to come are
  // worth no more than `next`.
  bool others_score_less(double score, double next) {
    Piece habit;  // the best of those that are not candidates
    double unseen = 0;
    for (const Habit::Given& given : habit_.list()) {
      steps.take();
      if (candidates_.has(given.answer) || is_left_out(given.answer)) continue;
      habit = Piece(habit_.worth(given.count, others()));
      if (looks_up_later_) unseen = shared_.most_strength(given.count);
      break;
    }
    return Leaders::is_less(candidates_.upper_bound(habit, next, unseen), score);
  }

  // Add what the rest of the path types says about the leaders, and about nobody else. Returns
  // whether the budget would have been enough for everything.
  bool finish_leaders(Walk walk, std::vector<std::size_t> leaders) {
    for (std::size_t place : leaders)
      while (candidates_[place].unseen > 0) look_up(place);
    Count spared = 0;  // an upper bound of the edges that are not looked at now
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at) {
      steps.take();
      const Count left = budget_left() - spared;
      if (left < 0) return false;
      const Trie::Node& last = query_.trie.nodes[node_of(walk)];
      if (last.length == 1) {  // nothing to spare
        walk.led_somewhere += follow(walk);
        continue;
      }
      if (is_known_to_lead_nowhere(last.parent)) continue;
      steps.take(std::ssize(leaders));
      std::erase_if(leaders, [&](std::size_t place) {
        return candidates_.is_final(place, query_.strengths[walk.at]);
      });
      if (leaders.empty() && query_.cost_from[walk.at] <= left) break;
      Frontier* from = frontier(last.parent);
      if (from == nullptr) continue;
      const Count cost = most_cost(graph_.edges(last.relation), *from);
      walk.led_somewhere += cost > 0 && follow_to(walk, last, *from, leaders);
      spared += cost;
    }
    return exact;
  }

  // The last step of a path type, to the leaders only. Returns whether it leads anywhere at all.
  bool follow_to(const Walk& walk, const Trie::Node& last, Frontier& from,
                 const std::vector<std::size_t>& leaders) {
    const Edges& edges = graph_.edges(last.relation);
    const Edges& back = graph_.edges(inverse(last.relation));
    bool anywhere = false;
    weigh([&] { return leads_to(edges, back, from, hidden_, steps); });
    for (std::size_t place : leaders) {
      const Id leader = candidates_.list()[place].entity;
      if (leader == entity_ || !leads_to(edges, back, from, leader, steps)) continue;
      arrive(walk, leader);
      anywhere = true;
    }
    return anywhere || leads_on(edges, entity_, from, steps);
  }

  std::int32_t node_of(const Walk& walk) const {
    return query_.trie.node_of_type[query_.lists.walked[walk.at]];
  }

  // How many edges leave the ends of `from`.
  Count cost_of(const Edges& edges, const Frontier& from) const {
    Count cost = 0;
    for (Id end : from.ends) cost += static_cast<Count>(edges.of(end).size());
    return cost;
  }

  // The same, or an upper bound if there are too many ends to look at each.
  Count most_cost(const Edges& edges, const Frontier& from) const {
    constexpr std::size_t few_ends = 64;
    if (from.ends.size() > few_ends) return static_cast<Count>(edges.tails.size());
    return cost_of(edges, from);
  }

  bool is_own(Id answer) const {
    const bool is_skipped = answer == hidden_ || answer == entity_;  // by the known answers
    if (options_.precedents && !is_skipped) return known_.has(answer);
    return std::binary_search(own_.begin(), own_.end(), answer);
  }

  // Whether it is a known answer, and only new ones are wanted.
  bool is_left_out(Id answer) const { return new_only_ && answer != hidden_ && is_own(answer); }

  // Whether the slot of an answer is taken that so many others give.
  bool is_taken(Count given_by_others) const { return options_.slots && given_by_others > 0; }

  // The index of a candidate, which is created if necessary.
  std::size_t candidate(Id answer) {
    if (candidates_.has(answer)) return candidates_.place_of(answer);
    const bool is_given_used = options_.slots || !habit_.empty();
    const Count given_by_all = is_given_used ? given(answer) : 0;
    const Count given_by_others = given_by_all > 0 ? given_by_all - is_own(answer) : 0;
    const double unseen = looks_up_later_ ? shared_.most_strength(given_by_others) : 0;
    const bool has_taken_slot = is_taken(given_by_others);
    const std::size_t place = candidates_.make(answer, given_by_all, has_taken_slot, unseen);
    if (habit_at_once_) add_habit(place);
    return place;
  }

  void add(std::size_t place, const Evidence& evidence) {
    candidates_.add(place, evidence.kind, evidence.piece);
    if (record_ != nullptr) record_->add(candidates_[place].entity, evidence);
  }

  // Choose what the current path type is worth: less by one right end if it leads to the hidden
  // answer, which was counted when it was not hidden.
  template <class LeadsTo>
  void weigh(const LeadsTo& leads_to_hidden) {
    if (pieces_if_fewer_ != nullptr)
      pieces_ = leads_to_hidden() ? pieces_if_fewer_ : &query_.pieces;
  }

  // The current path type leads to this end.
  void arrive(const Walk& walk, Id end) {
    if (is_left_out(end)) return;
    const std::size_t place = candidate(end);
    const auto found_by = static_cast<std::int32_t>(walk.at - walk.first);
    const Piece& piece = (*pieces_)[walk.at][candidates_[place].is_taken];
    if (candidates_[place].found_by == INT32_MAX) {
      candidates_[place].found_by = found_by;
      if (!options_.loop_free) candidates_[place].paths = workspace_.walks[end];
    }
    candidates_.add(place, Kind::path, piece);
    if (record_ != nullptr)
      record_->add(end, {Kind::path, -1, -1, found_by, candidates_[place].is_taken, 0, piece});
    if (candidates_.is_final(place, query_.strengths[walk.at])) candidates_.mark_final(end);
  }

  // Add the evidence of the current path type. Returns whether it leads anywhere.
  bool follow(const Walk& walk) {
    const std::int32_t node = node_of(walk);
    const Trie::Node& last = query_.trie.nodes[node];
    const bool is_only_followed = last.ahead == 0 && last.length > 1;
    if (options_.loop_free && is_only_followed && record_ == nullptr)
      return follow_last_step(walk, last);

    const Frontier* reached = frontier(node);
    if (reached == nullptr) return false;
    if (!options_.loop_free) count_walks(query_.lists.types[query_.lists.walked[walk.at]]);
    steps.take(std::ssize(reached->ends));
    weigh([&] { return std::ranges::find(reached->ends, hidden_) != reached->ends.end(); });
    for (Id end : reached->ends)
      if (record_ != nullptr || !candidates_.is_marked_final(end)) arrive(walk, end);
    return true;
  }

  // The last step of a path type that no other goes on from: its ends need not be remembered, and
  // candidates that it cannot change are skipped.
  bool follow_last_step(const Walk& walk, const Trie::Node& last) {
    const Edges& edges = graph_.edges(last.relation);
    Frontier* from = frontier(last.parent);
    if (from == nullptr || !is_within_budget(edges, *from)) return false;
    weigh([&] {
      return leads_to(edges, graph_.edges(inverse(last.relation)), *from, hidden_, steps);
    });
    Seen seen{workspace_.stamps, candidates_};
    followed +=
        last_step(edges, entity_, *from, nullptr, seen, steps, [&](Id end) { arrive(walk, end); });
    return seen.anywhere;
  }

  // Whether the paths to a node of the trie were walked far enough to see that they lead nowhere.
  bool is_known_to_lead_nowhere(std::int32_t node) const {
    for (; node >= 0; node = query_.trie.nodes[node].parent) {
      const Workspace::Visit& visit = workspace_.visits[node];
      if (visit.epoch == workspace_.epoch) return visit.frontier < 0;
    }
    return false;
  }

  // Where the paths to a node of the trie end, or null if they lead nowhere. Every node is walked
  // once in a query.
  Frontier* frontier(std::int32_t node) {
    Workspace::Visit& visit = workspace_.visits[node];
    if (visit.epoch == workspace_.epoch)
      return visit.frontier < 0 ? nullptr : &workspace_.frontiers[visit.frontier];
    visit = {workspace_.epoch, -1};

    const Trie::Node& at = query_.trie.nodes[node];
    const bool is_root = at.parent < 0;
    const Frontier* from = is_root ? nullptr : frontier(at.parent);
    if (!is_root && (from == nullptr || !is_within_budget(graph_.edges(at.relation), *from)))
      return nullptr;

    if (frontiers_in_use_ == workspace_.frontiers.size()) workspace_.frontiers.emplace_back();
    Frontier& into = workspace_.frontiers[frontiers_in_use_];
    if (is_root)
      into.start(entity_);
    else
      take_step(at, *from, into);
    if (into.ends.empty()) return nullptr;
    visit.frontier = static_cast<std::int32_t>(frontiers_in_use_++);
    return &into;
  }

  void take_step(const Trie::Node& at, const Frontier& from, Frontier& into) {
    const Edges& edges = graph_.edges(at.relation);
    Stamps& stamps = workspace_.stamps;
    if (!options_.loop_free) {
      const auto is_allowed = [&](Id head, Id tail) {
        return hidden_ < 0 || !is_hidden(head, at.relation, tail);
      };
      followed += step_walks(edges, from, stamps, into, steps, is_allowed);
      return;
    }
    followed += step(edges, entity_, from, nullptr, at.length - 1, at.ahead, stamps, into, steps);
    // A loop-free path can use the hidden edge as its first step only.
    const bool may_be_hidden = at.length == 1 && at.relation == query_.relation && hidden_ >= 0;
    if (may_be_hidden) remove_hidden(into);
  }

  // Whether a step keeps within the budget. That does not depend on any order of ids.
  bool is_within_budget(const Edges& edges, const Frontier& from) {
    const Count left = budget_left();
    if (static_cast<Count>(edges.tails.size()) <= left) return true;  // each edge is looked at once
    steps.take(std::ssize(from.ends));
    const bool is_within = cost_of(edges, from) <= left;
    if (!is_within) exact = false;
    return is_within;
  }

  void remove_hidden(Frontier& reached) const {
    const auto at = std::find(reached.ends.begin(), reached.ends.end(), hidden_);
    if (at == reached.ends.end()) return;
    const auto place = at - reached.ends.begin();
    if (!reached.paths.empty()) reached.paths.erase(reached.paths.begin() + place);
    reached.ends.erase(at);
  }

  // Whether an edge is the hidden answer, in either direction.
  bool is_hidden(Id head, Id relation, Id tail) const {
    const bool is_answer = relation == query_.relation && head == entity_ && tail == hidden_;
    const bool is_inverse =
        relation == inverse(query_.relation) && head == hidden_ && tail == entity_;
    return is_answer || is_inverse;
  }

  // How many walks of a type end at each entity, into the workspace. Only the order of discovery
  // needs it.
  void count_walks(PathType type) {
    const Packing packing(options_.max_length);
    Stamps& stamps = workspace_.stamps;
    std::vector<std::pair<Id, Count>> now{{entity_, 1}}, next;
    const int length = packing.length(type);
    for (int place = 0; place < length; ++place) {
      const Id relation = packing.relation(type, place);
      next.clear();
      stamps.renew();
      for (const auto& [end, walks] : now) {
        for (Id tail : graph_.tails(end, relation)) {
          steps.take();
          if (hidden_ >= 0 && is_hidden(end, relation, tail)) continue;
          if (!stamps.has(tail)) {
            stamps.set(tail, next.size());
            next.emplace_back(tail, 0);
          }
          Count& total = next[stamps.slot(tail)].second;
          total = total > INT64_MAX - walks ? INT64_MAX : total + walks;
        }
      }
      now.swap(next);
    }
    for (const auto& [end, walks] : now) workspace_.walks[end] = walks;
  }

  // Add what others say that share a fact.
  void ask_sharers() {
    const bool one_by_one = record_ != nullptr || options_.sum;
    waiting_.clear();
    followed += shared_.ask(entity_, own_, one_by_one,
                            [&](const Evidence& evidence, Id answer, std::size_t times) {
                              use_shared_fact(evidence, answer, times);
                            });
    add_waiting();
  }

  void use_shared_fact(const Evidence& evidence, Id answer, std::size_t times) {
    steps.take();
    if (!may_answer(answer)) return;
    const std::size_t place = candidate(answer);
    if (options_.sum) {
      waiting_.push_back({place, evidence});
      return;
    }
    const auto best = static_cast<std::size_t>(options_.best);
    for (std::size_t time = std::min(times, best); time > 0; --time) add(place, evidence);
  }

  // With early stopping: choose the shared facts that are looked up for leaders only. What answers
  // that are no candidates can get from them is bounded by the habit.
  void choose_what_to_look_up() {
    if (habit_.empty()) {
      shared_.choose(SharedFacts::every_class);
      return;
    }
    shared_.choose_rarest();
    looks_up_later_ = shared_.looked_up() > 0;
    if (looks_up_later_) followed += shared_.open_looked_up(entity_);
  }

  // Look some more shared facts up for a candidate.
  void look_up(std::size_t place) {
    const Id answer = candidates_[place].entity;
    const std::size_t next = look_up_answer(answer, candidates_[place].looked_up);
    const Count given_by_others = candidates_[place].given - is_own(answer);
    candidates_.set_looked_up(place, next, shared_.most_strength_from(next, given_by_others));
  }

  // Look some shared facts up for an answer, from one on. Returns the one to go on with.
  std::size_t look_up_answer(Id answer, std::size_t from) {
    const bool all_count = record_ != nullptr || options_.sum;
    const auto best = static_cast<std::size_t>(all_count ? 0 : options_.best);
    const auto [next, edges] = shared_.look_up(answer, from, best, [&](const Evidence& evidence) {
      use_shared_fact(evidence, answer, 1);
    });
    followed += edges;
    followed_before_ += edges;  // the budget has paid for it: see `leave_budget`
    return next;
  }

  // Look shared facts up for the leaders, for whoever may score most first, until all on whom the
  // goal may depend have been looked up, or so many edges were looked at.
  void look_up_for(Leaders& leaders, double next, Count most_edges) {
    std::vector<std::pair<double, std::size_t>> waiting;  // upper bounds and places, as a heap
    for (std::size_t place : leaders.places())
      if (candidates_[place].unseen > 0)
        waiting.emplace_back(candidates_.bounds(place, next).upper, place);
    if (waiting.empty()) return;
    steps.take(std::ssize(leaders.places()) + std::ssize(waiting));
    std::make_heap(waiting.begin(), waiting.end());
    const Count before = followed;
    while (!waiting.empty() && followed - before < most_edges) {
      std::pop_heap(waiting.begin(), waiting.end());
      const std::size_t place = waiting.back().second;
      waiting.pop_back();
      const Bounds bounds = candidates_.bounds(place, next);
      if (Leaders::is_less(bounds.upper, leaders.least_score())) break;
      if (!leaders.may_decide(bounds)) continue;
      look_up(place);
      const Bounds now = candidates_.bounds(place, next);
      leaders.raise(place, bounds.lower, now.lower);
      if (candidates_[place].unseen <= 0) continue;
      waiting.emplace_back(now.upper, place);
      std::push_heap(waiting.begin(), waiting.end());
    }
    leaders.look(next);
  }

  // All path types are walked: look shared facts up for whoever can still be a leader.
  void finish_looking_up(Leaders& leaders) {
    leaders.look(0);
    look_up_for(leaders, 0, INT64_MAX);
    if (!others_score_less(leaders.least_score(), 0)) look_up_for_all();
  }

  // Look shared facts up for all answers that anybody gives, or for those whose evidence is wanted.
  void look_up_for_all() {
    if (shared_.looked_up() == 0) return;
    if (!looks_up_later_) followed += shared_.open_looked_up(entity_);
    waiting_.clear();
    if (record_ != nullptr)
      record_->each_wanted([&](Id answer) { look_up_answer(answer, 0); });
    else
      for (Id answer : shared_.all_answers()) {
        if (!may_answer(answer)) continue;
        const Candidate* known = find(answer);
        const bool is_begun = looks_up_later_ && known != nullptr;
        if (is_begun && known->unseen <= 0) continue;
        std::size_t next = is_begun ? known->looked_up : 0;
        while (next < shared_.looked_up()) next = look_up_answer(answer, next);
      }
    add_waiting();
  }

  // A sum of floating-point numbers depends on their order, and facts come in the order of ids.
  // Adding the largest first makes the sum depend on the numbers alone.
  void add_waiting() {
    const auto is_worth_more = [](const Waiting& a, const Waiting& b) {
      return a.evidence.piece.worth > b.evidence.piece.worth;
    };
    std::stable_sort(waiting_.begin(), waiting_.end(), is_worth_more);
    for (const Waiting& one : waiting_) add(one.place, one.evidence);
  }

  // Add the answers of the entities that share most with the query entity.
  void ask_neighbours() {
    if (options_.weights[Kind::neighbours] == 0) return;
    followed += cost_of_neighbours();
    neighbours_.start(entity_);
    shared_.each_fact([&](Ids sharers) { neighbours_.add_fact(sharers); });
    neighbours_.each_answer([&](Id answer, double worth, Count count, Count of) {
      if (!may_answer(answer)) return;
      add(candidate(answer), {Kind::neighbours, -1, -1, -1, count, of, Piece(worth)});
    });
  }

  // Add the candidates that are similar to the known answers.
  void look_at_known_answers() {
    const bool uses_facts = options_.weights[Kind::answers_fact] > 0;
    const bool uses_nearness = options_.weights[Kind::near_answers] > 0;
    if (own_.empty() || (!uses_facts && !uses_nearness)) return;
    followed += known_.cost();
    if (uses_facts) use_facts_of_answers();
    const auto use_nearness = [&](Id answer, double worth) {
      if (!may_answer(answer)) return;
      add(candidate(answer), {Kind::near_answers, -1, -1, -1, 0, known_.size(), Piece(worth)});
    };
    if (uses_nearness) known_.each_near(use_nearness);
  }

  void use_facts_of_answers() {
    if (record_ == nullptr && !options_.sum) {
      const auto can_answer = [&](Id answer) { return may_answer(answer); };
      const auto best = static_cast<std::size_t>(options_.best);
      known_.each_best(best, can_answer, [&](Id answer, std::span<const double> worths) {
        const std::size_t place = candidate(answer);
        for (double worth : worths)
          candidates_.add(place, Kind::answers_fact, workspace_.pieces.of(worth));
      });
      return;
    }
    waiting_.clear();
    known_.each_fact(
        [&](Id relation, Id tail, Id answer, const Piece& piece, Count count, Count of) {
          if (!may_answer(answer)) return;
          const Evidence evidence{Kind::answers_fact, relation, tail, -1, count, of, piece};
          const std::size_t place = candidate(answer);
          if (options_.sum)
            waiting_.push_back({place, evidence});
          else
            add(place, evidence);
        });
    add_waiting();
  }

  // The entity's own answers become candidates, even without other evidence, since others give them
  // less often than the list of the habit says.
  void make_own_candidates() {
    for (Id answer : own_)
      if (!is_left_out(answer)) candidate(answer);
  }

  // Add the habit to all candidates, among which are the answers whose evidence is wanted.
  void add_habit_to_all() {
    make_own_candidates();
    if (record_ != nullptr)
      for (Id answer : record_->answers())
        if (may_answer(answer)) candidate(answer);
    for (std::size_t place = 0; place < candidates_.list().size(); ++place) {
      steps.take();
      add_habit(place);
    }
  }

  void add_habit(std::size_t place) {
    const Candidate& candidate = candidates_[place];
    const Count count = candidate.given - is_own(candidate.entity);
    if (count <= 0) return;
    const Piece& piece = workspace_.pieces.of(habit_.worth(count, others()));
    add(place, {Kind::habit, -1, -1, -1, count, others(), piece});
  }

  const RelationQuery& query_;
  const Graph& graph_;
  const QueryOptions& options_;
  const Habit& habit_;
  const Queries& queries_;
  Workspace& workspace_;
  Candidates& candidates_;
  SharedFacts shared_;
  Neighbours neighbours_;
  KnownAnswers known_;
  EvidenceRecord* record_ = nullptr;

  // The query at hand.
  Id entity_ = -1;
  Id hidden_ = -1;
  Ids own_;                                      // the known answers of the entity
  bool new_only_ = false;                        // these are no answers
  const PathPieces* pieces_ = nullptr;           // what path types are worth now
  const PathPieces* pieces_if_fewer_ = nullptr;  // and if they lead to the hidden answer
  Count followed_before_ = 0;                    // `followed` when it began
  std::size_t frontiers_in_use_ = 0;             // of the workspace
  bool habit_at_once_ = false;        // added to each new candidate, or to all at the end
  bool looks_up_later_ = false;       // some shared facts, for the leaders only
  std::vector<std::size_t> leaders_;  // when the goal was decided

  // A piece of evidence that is added when all of its kind are known.
  struct Waiting {
    std::size_t place;
    Evidence evidence;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace casegraph
