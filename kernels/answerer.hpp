// One query at a time: everything that speaks for any answer, gathered and combined.
#pragma once

#include <bit>
#include <cmath>
#include <deque>

#include "answers.hpp"
#include "frontier.hpp"
#include "trie.hpp"

namespace casegraph {

struct Candidate {
  Id entity;
  std::int32_t found_by;          // the place in the list of the first path type that led here
  Count paths;                    // how many of its walks did
  double score;
  std::array<double, 8> pieces;   // the best pieces of evidence, best first
  int kept;
};

// What several pieces of evidence are worth together.
class Combination {
 public:
  explicit Combination(const Manner& manner) : sum_(manner.sum), discount_(manner.discount), best_(std::min(manner.best, 8)) {}

  void add(Candidate& candidate, double piece) const {
    if (sum_) {
      candidate.score += piece;
      return;
    }
    if (candidate.kept == best_ && piece <= candidate.pieces[best_ - 1]) return;
    int place = candidate.kept < best_ ? candidate.kept++ : best_ - 1;
    for (; place > 0 && candidate.pieces[place - 1] < piece; --place) candidate.pieces[place] = candidate.pieces[place - 1];
    candidate.pieces[place] = piece;
  }
  void finish(Candidate& candidate) const {
    if (sum_) return;
    double weight = 1;
    for (int place = 0; place < candidate.kept; ++place, weight *= discount_)
      candidate.score -= weight * std::log1p(-candidate.pieces[place]);
  }

 private:
  const bool sum_;
  const double discount_;
  const int best_;
};

// What all entities that have the query relation answer, most frequent first. Nearly every possible answer has this evidence and
// no other; such a candidate is never made, since its place in this list is all there is to know about it.
class Habit {
 public:
  struct Given {
    Count count;
    Id answer;
  };

  Habit(const Graph& graph, Id relation, const Manner& manner, Ids rank) : manner_(manner), rank_(rank) {
    if (!manner.precedents) return;
    const Edges& given = graph.edges(inverse(relation));
    for (std::size_t row = 0; row < given.heads.size() && !reflexive_; ++row)
      reflexive_ = std::binary_search(given.row(row).begin(), given.row(row).end(), given.heads[row]);
    if (manner.habit == 0) return;
    entities_ = static_cast<Count>(graph.edges(relation).heads.size());
    for (std::size_t row = 0; row < given.heads.size(); ++row)
      list_.push_back({static_cast<Count>(given.row(row).size()), given.heads[row]});
    std::sort(list_.begin(), list_.end(), [&](const Given& a, const Given& b) {
      return a.count != b.count ? a.count > b.count : rank[a.answer] < rank[b.answer];
    });
  }

  bool empty() const { return list_.empty(); }
  bool some_answer_themselves() const { return reflexive_; }
  std::span<const Given> list() const { return list_; }
  Count others(bool has_own) const { return entities_ - has_own; }
  double worth(Count count, Count others) const {
    return manner_.habit * static_cast<double>(count) / (static_cast<double>(others) + manner_.doubt);
  }
  double score(Count count, Count others) const {
    const double worth_ = worth(count, others);
    return manner_.sum ? worth_ : 0.0 - std::log1p(-worth_);
  }
  // How many of the list come before the first for which `ends` holds; it must hold for all after that.
  template <class Ends>
  Count before(const Ends& ends) const {
    return std::partition_point(list_.begin(), list_.end(), [&](const Given& given) { return !ends(given); }) - list_.begin();
  }
  Id rank(Id entity) const { return rank_[entity]; }

 private:
  const Manner& manner_;
  const Ids rank_;
  Count entities_ = 0;
  bool reflexive_ = false;
  std::vector<Given> list_;
};

class Answerer {
 public:
  Answerer(const Graph& graph, const Queries& queries, const Lists& lists, const Trie& trie, const Habit& habit, const Manner& manner)
      : graph_(graph), queries_(queries), lists_(lists), trie_(trie), habit_(habit), manner_(manner), combination_(manner),
        places_(graph.entities), stamps_(graph.entities), tally_(graph.entities), walks_(graph.entities),
        visited_(trie.nodes.size()), frontier_of_(trie.nodes.size()) {}

  // Gather and combine everything that speaks for any answer of the query.
  const std::vector<Candidate>& ask(std::size_t query) {
    entity_ = queries_.entities[query];
    left_out_ = queries_.left_out[query];
    candidates_.clear();
    places_.renew();
    exact = true;
    enough_ = followed + manner_.budget;
    if (entity_ < 0) return candidates_;
    walk(queries_.lists[query]);
    if (manner_.precedents) share();
    if (!habit_.empty()) follow_habit();
    for (Candidate& candidate : candidates_) combination_.finish(candidate);
    return candidates_;
  }

  // Of all others that have the query relation: how many answer so, and how many they are.
  std::pair<Count, Count> habit_of(Id answer) const {
    const Ids own = graph_.tails(entity_, queries_.relation);
    return {given(answer) - std::binary_search(own.begin(), own.end(), answer), others()};
  }
  Count given(Id answer) const { return static_cast<Count>(graph_.tails(answer, inverse(queries_.relation)).size()); }
  Count others() const { return habit_.others(!graph_.tails(entity_, queries_.relation).empty()); }
  bool asked() const { return entity_ >= 0; }
  // Whether precedents may speak for this answer: the entity itself is one only if some entity does answer itself.
  bool may_answer(Id answer) const { return answer != entity_ || habit_.some_answer_themselves(); }
  Id entity() const { return entity_; }
  bool in_graph(Id entity) const { return entity >= 0 && entity < graph_.entities; }

  void record(Id answer) { recorded_ = answer; }
  const Candidate* find(Id entity) const {
    return entity >= 0 && entity < graph_.entities && places_.has(entity) ? &candidates_[places_.slot(entity)] : nullptr;
  }

  std::vector<Evidence> record_;
  Count followed = 0;
  bool exact = true;  // whether the budget has sufficed for the query at hand

 private:
  void add(Id answer, const Evidence& piece, Count paths = 0) {
    if (!places_.has(answer)) place(answer, piece.kind == Evidence::path ? piece.walked : INT32_MAX, paths);
    combination_.add(candidates_[places_.slot(answer)], piece.value);
    if (answer == recorded_) record_.push_back(piece);
  }

  void place(Id answer, std::int32_t found_by, Count paths) {
    places_.set(answer, candidates_.size());
    candidates_.push_back({answer, found_by, paths, 0, {}, 0});
  }

  void walk(Id list) {
    for (std::size_t used = 0; used < in_use_; ++used) pool_[used].clear();
    in_use_ = 0;
    if (++epoch_ == 0) {
      std::fill(visited_.begin(), visited_.end(), 0);
      epoch_ = 1;
    }
    int walked = 0;
    for (std::int64_t at = lists_.offsets[list]; at < lists_.offsets[list + 1]; ++at) {
      const std::int32_t node = trie_.node_of_type[lists_.walked[at]];
      const Frontier* reached = frontier(node);
      if (reached == nullptr) continue;
      if (!manner_.loop_free) count_walks(lists_.types[lists_.walked[at]]);
      for (Id end : reached->ends)
        add(end, {Evidence::path, -1, -1, static_cast<std::int32_t>(at - lists_.offsets[list]), 0, 0, lists_.weights[at]},
            manner_.loop_free ? 0 : walks_[end]);
      if (++walked == manner_.walked) return;
    }
  }

  // Where the paths that node spells end, walking every common beginning once; null if they lead nowhere.
  const Frontier* frontier(std::int32_t node) {
    if (visited_[node] == epoch_) return frontier_of_[node] < 0 ? nullptr : &pool_[frontier_of_[node]];
    visited_[node] = epoch_;
    frontier_of_[node] = -1;
    const Trie::Node& at = trie_.nodes[node];
    const Frontier* from = nullptr;
    if (at.parent >= 0 && (from = frontier(at.parent)) == nullptr) return nullptr;
    Frontier& into = fresh();
    if (from == nullptr) {
      into.start(entity_);
    } else {
      const Edges& edges = graph_.edges(at.relation);
      if (too_much(edges, *from)) {
        exact = false;
        --in_use_;
        return nullptr;
      }
      const auto allowed = [&](Id head, Id tail) { return left_out_ < 0 || !is_left_out(head, at.relation, tail); };
      followed += manner_.loop_free ? step(edges, entity_, *from, nullptr, at.length - 1, at.ahead, stamps_, into)
                                    : step_freely(edges, *from, stamps_, into, allowed);
      if (manner_.loop_free && at.length == 1 && at.relation == queries_.relation && left_out_ >= 0) leave_out(into);
    }
    if (into.ends.empty()) {
      --in_use_;
      return nullptr;
    }
    frontier_of_[node] = static_cast<std::int32_t>(in_use_) - 1;
    return &into;
  }

  // Whether following `edges` from `from` would exceed the budget; no order of ids plays a part in that.
  bool too_much(const Edges& edges, const Frontier& from) const {
    if (followed + static_cast<Count>(edges.tails.size()) <= enough_) return false;  // each edge is looked at once at most
    Count cost = 0;
    each_end(edges, from, nullptr, [&](std::size_t, Ids tails) { cost += static_cast<Count>(tails.size()); });
    return followed + cost > enough_;
  }

  Frontier& fresh() {
    if (in_use_ == pool_.size()) pool_.emplace_back();
    pool_[in_use_].clear();
    return pool_[in_use_++];
  }

  void leave_out(Frontier& reached) const {
    const auto at = std::find(reached.ends.begin(), reached.ends.end(), left_out_);
    if (at == reached.ends.end()) return;
    if (!reached.paths.empty()) reached.paths.erase(reached.paths.begin() + (at - reached.ends.begin()));
    reached.ends.erase(at);
  }

  // How many walks of the type end where; only the order of discovery asks for it.
  void count_walks(PathType type) {
    const Packing packing(manner_.max_length);
    std::vector<std::pair<Id, Count>> now{{entity_, 1}}, next;
    for (int place = 0, length = packing.length(type); place < length; ++place) {
      next.clear();
      stamps_.renew();
      for (const auto& [end, walks] : now)
        for (Id tail : graph_.tails(end, packing.relation(type, place))) {
          if (left_out_ >= 0 && is_left_out(end, packing.relation(type, place), tail)) continue;
          if (!stamps_.has(tail)) {
            stamps_.set(tail, next.size());
            next.emplace_back(tail, 0);
          }
          Count& total = next[stamps_.slot(tail)].second;
          total = total > INT64_MAX - walks ? INT64_MAX : total + walks;
        }
      now.swap(next);
    }
    for (const auto& [end, walks] : now) walks_[end] = walks;
  }

  // Of the others that share a fact with the entity and have the query relation, how many give which answer. If all who share
  // something are too many to be asked, the facts that fewest share come first, by powers of two, as far as the budget goes.
  void share() {
    std::array<Count, 65> sharing{};  // by the number of binary digits of how many share a fact
    each_fact([&](Id, Id, std::size_t others) { sharing[std::bit_width(others)] += static_cast<Count>(others); });
    int most = 0;
    for (Count total = followed; most < 65 && (total += sharing[most]) <= enough_; ++most) {}
    exact = exact && most == 65;
    each_fact([&](Id relation, Id tail, std::size_t others) {
      if (static_cast<int>(std::bit_width(others)) < most) share(relation, tail);
    });
  }

  // Call `use(relation, tail, how many share it)` for every fact of the entity.
  template <class Use>
  void each_fact(const Use& use) const {
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation)
      for (Id tail : graph_.tails(entity_, static_cast<Id>(relation)))
        if (!is_left_out(entity_, static_cast<Id>(relation), tail))
          use(static_cast<Id>(relation), tail, graph_.tails(tail, inverse(static_cast<Id>(relation))).size());
  }

  // Whether an edge is the known answer that is treated as unknown, in either direction.
  bool is_left_out(Id head, Id relation, Id tail) const {
    return (relation == queries_.relation && head == entity_ && tail == left_out_) ||
           (relation == inverse(queries_.relation) && head == left_out_ && tail == entity_);
  }

  void share(Id relation, Id tail) {
    const Edges& answers = graph_.edges(queries_.relation);
    const Ids sharing = graph_.tails(tail, inverse(relation));
    Count others = 0;
    given_.clear();
    for (Id other : sharing) {
      if (other == entity_) continue;
      const Ids given = answers.of(other);
      followed += static_cast<Count>(given.size());
      others += !given.empty();
      for (Id answer : given)
        if (tally_[answer]++ == 0) given_.push_back(answer);
    }
    followed += static_cast<Count>(sharing.size());
    for (Id answer : given_) {
      const bool is_the_fact = relation == queries_.relation && answer == tail;
      if (tally_[answer] >= manner_.support && !is_the_fact && may_answer(answer))
        add(answer, {Evidence::shared_fact, relation, tail, -1, tally_[answer], others,
                     static_cast<double>(tally_[answer]) / (static_cast<double>(others) + manner_.doubt)});
      tally_[answer] = 0;
    }
  }

  // Candidates have the habit as one more piece of evidence. The entity's own answers become candidates, even with no evidence
  // left, since others give them less often than the list says; whoever is asked for is one too.
  void follow_habit() {
    const auto candidates = candidates_.size();
    for (std::size_t at = 0; at < candidates; ++at) add_habit(candidates_[at].entity);
    for (Id answer : graph_.tails(entity_, queries_.relation))
      if (!places_.has(answer)) {
        place(answer, INT32_MAX, 0);
        add_habit(answer);
      }
    if (recorded_ >= 0 && !places_.has(recorded_) && may_answer(recorded_)) add_habit(recorded_);
  }

  void add_habit(Id answer) {
    const auto [count, others] = habit_of(answer);
    if (count > 0) add(answer, {Evidence::habit, -1, -1, -1, count, others, habit_.worth(count, others)});
  }

  const Graph& graph_;
  const Queries& queries_;
  const Lists& lists_;
  const Trie& trie_;
  const Habit& habit_;
  const Manner& manner_;
  const Combination combination_;
  Stamps places_, stamps_;
  std::vector<Count> tally_, walks_;
  std::vector<Id> given_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> visited_;
  std::vector<std::int32_t> frontier_of_;
  std::deque<Frontier> pool_;
  std::size_t in_use_ = 0;
  std::uint32_t epoch_ = 0;
  Count enough_ = 0;  // of `followed`, for the query at hand
  Id entity_ = -1, left_out_ = -1, recorded_ = -1;
};

}  // namespace casegraph
