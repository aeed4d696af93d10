// One query at a time: everything that speaks for any answer, gathered and combined.
#pragma once

#include "answering/early_stopping.hpp"
#include "answering/shared_facts.hpp"

namespace casegraph {

class Answerer {
 public:
  Answerer(const Asking& asking, const Queries& queries, Workspace& workspace, Progress& progress)
      : steps(progress),
        asking_(asking),
        graph_(asking.graph),
        queries_(queries),
        manner_(asking.manner),
        habit_(asking.habit),
        candidates_(workspace.candidates),
        workspace_(workspace),
        shared_(asking, workspace.tally, queries.entities.size() > 1, progress) {
    if (workspace.visits.size() < asking.trie.nodes.size())
      workspace.visits.resize(asking.trie.nodes.size());
    if (!manner_.loop_free) workspace.walks.resize(graph_.entities);
  }

  // Gather and combine everything that speaks for any answer of the query, as far as the goal
  // depends on it.
  const std::vector<Candidate>& ask(std::size_t query, const Goal& goal = {}) {
    entity_ = queries_.entities[query];
    left_out_ = queries_.left_out[query];
    if (!asked()) {
      candidates_.renew(manner_);
      return candidates_.list();
    }
    own_ = graph_.tails(entity_, asking_.relation);
    if (manner_.precedents)
      shared_.find(entity_,
                   [&](Id relation, Id tail) { return !is_left_out(entity_, relation, tail); });
    const Id list = queries_.lists[query];
    const bool may_stop = asking_.may_stop && recorded_ < 0 && can_be_candidates(goal);
    if (!may_stop || !ask_in_short(list, goal)) ask_in_full(list);
    candidates_.combine();
    return candidates_.list();
  }

  // Of all others that have the query relation: how many answer so, and how many they are.
  std::pair<Count, Count> habit_of(Id answer) const {
    return {given(answer) - is_own(answer), others()};
  }
  Count given(Id answer) const {
    return static_cast<Count>(graph_.tails(answer, inverse(asking_.relation)).size());
  }
  Count others() const { return habit_.others(!own_.empty()); }
  bool asked() const { return entity_ >= 0; }
  // Whether precedents may speak for this answer: the entity itself is one only if some entity does
  // answer itself.
  bool may_answer(Id answer) const { return answer != entity_ || habit_.some_answer_themselves(); }
  Id entity() const { return entity_; }
  bool in_graph(Id entity) const { return entity >= 0 && entity < graph_.entities; }

  void record(Id answer) { recorded_ = answer; }
  const Candidate* find(Id entity) const {
    return in_graph(entity) ? candidates_.find(entity) : nullptr;
  }

  std::vector<Evidence> record_;
  Steps steps;
  Count followed = 0;
  bool exact = true;  // whether the budget has sufficed for the query at hand

 private:
  using Given = Habit::Given;

  // The ends that a step has reached, and those for which it makes no difference.
  struct Seen {
    void renew() { stamps.renew(); }
    bool has(Id entity) const {
      return (anywhere && candidates.is_marked(entity)) || stamps.has(entity);
    }
    void set(Id entity) {
      stamps.set(entity);
      anywhere = true;
    }
    Stamps& stamps;
    const Candidates& candidates;
    bool anywhere = false;
  };

  // A list of path types, and how far it has been walked.
  struct Walk {
    std::int64_t first, at, end;
    int walked = 0;  // those that led somewhere
  };

  Walk start(Id list) {
    candidates_.renew(manner_);
    exact = true;
    before_ = followed;
    in_use_ = 0;
    if (++workspace_.epoch == 0) {
      std::fill(workspace_.visits.begin(), workspace_.visits.end(), Workspace::Visit{});
      workspace_.epoch = 1;
    }
    return {asking_.lists.offsets[list], asking_.lists.offsets[list],
            asking_.lists.offsets[list + 1]};
  }

  void ask_in_full(Id list) {
    Walk walk = start(list);
    habit_at_once_ = false;
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at) walk.walked += follow(walk);
    if (manner_.precedents) {
      const int digits = shared_.within(before_ + manner_.budget - followed);
      exact = exact && digits == SharedFacts::all;
      share(digits);
    }
    if (!habit_.empty()) follow_habit();
  }

  // The same in another order: path types last, and only until the goal is settled. Returns whether
  // the budget would have sufficed for all of them; if not, what is to be left out depends on all.
  bool ask_in_short(Id list, const Goal& goal) {
    Walk walk = start(list);
    habit_at_once_ = !habit_.empty();
    for (Id answer : own_) candidate(answer);
    for (Id target : goal.targets) candidate(target);
    if (shared_.cost() > manner_.budget) return false;
    share(SharedFacts::all);
    before_ = followed - shared_.cost();
    for (std::int64_t check = walk.at + 4; walk.at < walk.end && !is_enough(walk); ++walk.at) {
      if (walk.at == check) {
        steps.take(std::ssize(candidates_.list()));
        const Undecided undecided(candidates_, goal, asking_.pieces[walk.at]);
        if (undecided.are_few() && others_score_less(undecided.least(), asking_.pieces[walk.at]))
          return settle(walk, undecided.places());
        check += (check - walk.first) / 2;
      }
      walk.walked += follow(walk);
    }
    return exact;
  }

  bool is_enough(const Walk& walk) const {
    return manner_.walked > 0 && walk.walked == manner_.walked;
  }

  bool can_be_candidates(const Goal& goal) const {
    return goal.is_small() && std::all_of(goal.targets.begin(), goal.targets.end(), [&](Id target) {
             return in_graph(target) && may_answer(target);
           });
  }

  // Whether nobody who is no candidate yet can score as much, if all path types to come are worth
  // no more than `next`.
  bool others_score_less(double score, const Piece& next) {
    Piece habit;
    for (const Given& given : habit_.list()) {
      steps.take();
      if (!candidates_.has(given.answer)) {
        habit = Piece(habit_.worth(given.count, others()));
        break;
      }
    }
    return Undecided::less(candidates_.most(habit, next), score);
  }

  // Give these candidates what the rest of the path types say, and nobody else. Returns whether the
  // budget would have sufficed.
  bool settle(Walk walk, std::vector<std::size_t> places) {
    Count spared = 0;  // edges that nobody looks at now; no fewer than there are
    for (; walk.at < walk.end && !is_enough(walk); ++walk.at) {
      steps.take(1 + std::ssize(places));
      std::erase_if(places, [&](std::size_t place) {
        return candidates_.is_settled(place, asking_.lists.weights[walk.at]);
      });
      const Count left = before_ + manner_.budget - followed - spared;
      if (left < 0) return false;
      if (places.empty() && asking_.cost_from[walk.at] <= left) break;
      const Trie::Node& last =
          asking_.trie.nodes[asking_.trie.node_of_type[asking_.lists.walked[walk.at]]];
      Frontier* from = last.length == 1 ? nullptr : frontier(last.parent);
      if (last.length == 1) {
        walk.walked += follow(walk);
      } else if (from != nullptr) {
        const Count cost = most_cost(graph_.edges(last.relation), *from);
        walk.walked += cost > 0 && settle(walk, last, *from, places);
        spared += cost;
      }
    }
    return exact;
  }

  // No more edges than this can be followed from `from`.
  Count most_cost(const Edges& edges, const Frontier& from) const {
    if (from.ends.size() > few_ends) return static_cast<Count>(edges.tails.size());
    return cost_of(edges, from);
  }

  // How many edges can be followed from `from`.
  Count cost_of(const Edges& edges, const Frontier& from) const {
    Count cost = 0;
    for (Id end : from.ends) cost += static_cast<Count>(edges.of(end).size());
    return cost;
  }

  // The same for one path type. Returns whether it leads anywhere.
  bool settle(const Walk& walk, const Trie::Node& last, Frontier& from,
              const std::vector<std::size_t>& places) {
    const Edges &edges = graph_.edges(last.relation), &back = graph_.edges(inverse(last.relation));
    bool anywhere = false;
    for (std::size_t place : places)
      if (const Id entity = candidates_.list()[place].entity;
          entity != entity_ && leads_to(edges, back, from, entity, steps)) {
        arrive(walk, entity);
        anywhere = true;
      }
    return anywhere || leads_on(edges, entity_, from, steps);
  }

  bool is_own(Id answer) const { return std::binary_search(own_.begin(), own_.end(), answer); }

  std::size_t candidate(Id answer) {
    const bool is_new = !candidates_.has(answer);
    const std::size_t place = candidates_.place(answer);
    if (is_new && habit_at_once_) add_habit(place);
    return place;
  }

  void add(std::size_t place, const Evidence& piece, const Piece& worth) {
    candidates_.add(place, worth);
    if (recorded_ >= 0 && candidates_[place].entity == recorded_) record_.push_back(piece);
  }

  // The path type at hand leads to this end.
  void arrive(const Walk& walk, Id end) {
    const std::size_t place = candidate(end);
    const auto found_by = static_cast<std::int32_t>(walk.at - walk.first);
    if (end == recorded_)
      record_.push_back({Evidence::path, -1, -1, found_by, 0, 0, asking_.lists.weights[walk.at]});
    if (candidates_[place].found_by == INT32_MAX) {
      candidates_[place].found_by = found_by;
      if (!manner_.loop_free) candidates_[place].paths = workspace_.walks[end];
    }
    candidates_.add(place, asking_.pieces[walk.at]);
    if (candidates_.is_settled(place, asking_.lists.weights[walk.at])) candidates_.mark(end);
  }

  // Add what the path type at hand says. Returns whether it leads anywhere.
  bool follow(const Walk& walk) {
    const std::int32_t type = asking_.lists.walked[walk.at], node = asking_.trie.node_of_type[type];
    const Trie::Node& last = asking_.trie.nodes[node];
    const auto arrive_there = [&](Id end) { arrive(walk, end); };
    if (manner_.loop_free && last.ahead == 0 && last.length > 1 && recorded_ < 0)
      return follow_last(last, arrive_there);
    const Frontier* reached = frontier(node);
    if (reached == nullptr) return false;
    if (!manner_.loop_free) count_walks(asking_.lists.types[type]);
    steps.take(std::ssize(reached->ends));
    for (Id end : reached->ends) arrive_there(end);
    return true;
  }

  // The last step of a path type that no other goes on from: nobody has to remember where it leads.
  template <class Arrive>
  bool follow_last(const Trie::Node& last, const Arrive& arrive_there) {
    const Frontier* from = frontier(last.parent);
    if (from == nullptr || !within_budget(graph_.edges(last.relation), *from)) return false;
    Seen seen{workspace_.stamps, candidates_};
    followed +=
        last_step(graph_.edges(last.relation), entity_, *from, nullptr, seen, steps, arrive_there);
    return seen.anywhere;
  }

  // Where the paths that node spells end, walking every common beginning once; null if they lead
  // nowhere.
  Frontier* frontier(std::int32_t node) {
    Workspace::Visit& visit = workspace_.visits[node];
    if (visit.epoch == workspace_.epoch)
      return visit.frontier < 0 ? nullptr : &workspace_.frontiers[visit.frontier];
    visit = {workspace_.epoch, -1};
    const Trie::Node& at = asking_.trie.nodes[node];
    const Frontier* from = at.parent < 0 ? nullptr : frontier(at.parent);
    if (at.parent >= 0 && (from == nullptr || !within_budget(graph_.edges(at.relation), *from)))
      return nullptr;
    if (in_use_ == workspace_.frontiers.size()) workspace_.frontiers.emplace_back();
    Frontier& into = workspace_.frontiers[in_use_];
    if (from == nullptr)
      into.start(entity_);
    else
      go_on(at, *from, into);
    if (into.ends.empty()) return nullptr;
    visit.frontier = static_cast<std::int32_t>(in_use_++);
    return &into;
  }

  void go_on(const Trie::Node& at, const Frontier& from, Frontier& into) {
    const Edges& edges = graph_.edges(at.relation);
    const auto allowed = [&](Id head, Id tail) {
      return left_out_ < 0 || !is_left_out(head, at.relation, tail);
    };
    followed += manner_.loop_free
                    ? step(edges, entity_, from, nullptr, at.length - 1, at.ahead,
                           workspace_.stamps, into, steps)
                    : step_freely(edges, from, workspace_.stamps, into, steps, allowed);
    if (manner_.loop_free && at.length == 1 && at.relation == asking_.relation && left_out_ >= 0)
      leave_out(into);
  }

  // Whether following `edges` from `from` keeps within the budget; no order of ids plays a part in
  // that.
  bool within_budget(const Edges& edges, const Frontier& from) {
    const Count left = before_ + manner_.budget - followed;
    if (static_cast<Count>(edges.tails.size()) <= left)
      return true;  // each edge is looked at once at most
    steps.take(std::ssize(from.ends));
    const Count cost = cost_of(edges, from);
    if (cost > left) exact = false;
    return cost <= left;
  }

  void leave_out(Frontier& reached) const {
    const auto at = std::find(reached.ends.begin(), reached.ends.end(), left_out_);
    if (at == reached.ends.end()) return;
    if (!reached.paths.empty())
      reached.paths.erase(reached.paths.begin() + (at - reached.ends.begin()));
    reached.ends.erase(at);
  }

  // How many walks of the type end where; only the order of discovery asks for it.
  void count_walks(PathType type) {
    const Packing packing(manner_.max_length);
    std::vector<std::pair<Id, Count>> now{{entity_, 1}}, next;
    for (int place = 0, length = packing.length(type); place < length; ++place) {
      next.clear();
      workspace_.stamps.renew();
      for (const auto& [end, walks] : now)
        for (Id tail : graph_.tails(end, packing.relation(type, place))) {
          steps.take();
          if (left_out_ >= 0 && is_left_out(end, packing.relation(type, place), tail)) continue;
          if (!workspace_.stamps.has(tail)) {
            workspace_.stamps.set(tail, next.size());
            next.emplace_back(tail, 0);
          }
          Count& total = next[workspace_.stamps.slot(tail)].second;
          total = total > INT64_MAX - walks ? INT64_MAX : total + walks;
        }
      now.swap(next);
    }
    for (const auto& [end, walks] : now) workspace_.walks[end] = walks;
  }

  // Whether an edge is the known answer that is treated as unknown, in either direction.
  bool is_left_out(Id head, Id relation, Id tail) const {
    return (relation == asking_.relation && head == entity_ && tail == left_out_) ||
           (relation == inverse(asking_.relation) && head == left_out_ && tail == entity_);
  }

  // Of the others that share a fact with the entity and have the query relation, how many give
  // which answer: for the facts that fewer share than 2^digits.
  void share(int digits) {
    const bool apart = recorded_ >= 0 || manner_.sum;
    followed += shared_.each(
        digits, entity_, own_, apart,
        [&](const Evidence& piece, const Piece& worth, Id answer, std::size_t times) {
          steps.take();
          if (!may_answer(answer)) return;
          const std::size_t place = candidate(answer);
          for (std::size_t time = std::min(times, static_cast<std::size_t>(manner_.best)); time > 0;
               --time)
            add(place, piece, worth);
        });
  }

  // Candidates have the habit as one more piece of evidence. The entity's own answers become
  // candidates, even with no evidence left, since others give them less often than the list says;
  // whoever is asked for is one too.
  void follow_habit() {
    for (Id answer : own_) candidates_.place(answer);
    if (in_graph(recorded_) && may_answer(recorded_)) candidates_.place(recorded_);
    for (std::size_t place = 0; place < candidates_.list().size(); ++place) {
      steps.take();
      add_habit(place);
    }
  }

  void add_habit(std::size_t place) {
    const Id answer = candidates_[place].entity;
    candidates_[place].given = given(answer);
    const Count count = candidates_[place].given - is_own(answer);
    if (count <= 0) return;
    const Piece worth(habit_.worth(count, others()));
    add(place, {Evidence::habit, -1, -1, -1, count, others(), worth.worth}, worth);
  }

  static constexpr std::size_t few_ends = 64;

  const Asking& asking_;
  const Graph& graph_;
  const Queries& queries_;
  const Manner& manner_;
  const Habit& habit_;
  Candidates& candidates_;
  Workspace& workspace_;
  SharedFacts shared_;
  std::size_t in_use_ = 0;      // of the workspace's frontiers
  Ids own_;                     // the answers that the entity has
  Count before_ = 0;            // `followed` when the query at hand began
  bool habit_at_once_ = false;  // or after all other evidence
  Id entity_ = -1, left_out_ = -1, recorded_ = -1;
};

}  // namespace casegraph
