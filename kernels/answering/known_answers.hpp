// Precedents from the other end: candidates similar to the known answers of the query entity.
//
// Two kinds of evidence look at the facts that known answers have:
//
//   facts of answers   If at least `support` known answers have a fact, then of the entities that
//                      have it, how many are answers? "9 of the 12 members of NATO are known
//                      answers, and this is one of the 12." Entities whose slot is open and
//                      entities whose slot is taken (another entity has them as its answer) are
//                      counted separately.
//   near answers       The similarity by facts (fact_similarity.hpp) to all known answers together,
//                      relative to the candidate that is nearest.
//
// A known answer is treated as if it were not known: its own edge is left out.
//
// The cost is the number of facts that known answers have, and for each distinct fact the number of
// entities that share it.
#pragma once

#include <utility>

#include "answering/fact_similarity.hpp"
#include "answering/relation_query.hpp"
#include "answering/workspace.hpp"

namespace casegraph {

class KnownAnswers {
 public:
  KnownAnswers(const RelationQuery& query, const FactSimilarity& similarity, Workspace& workspace,
               Progress& progress)
      : query_(query),
        askers_(query.graph.edges(inverse(query.relation))),
        similarity_(similarity),
        likeness_(workspace.likeness),
        groups_by_tail_(workspace.stamps),
        is_answer_(workspace.answers),
        is_full_(workspace.is_full),
        has_asker_(workspace.has_asker),
        facts_of_relation_(query.graph.relations.size()),
        steps_(progress) {}

  // Find all facts of the known answers.
  //
  // answers  sorted
  // hidden   an answer that is treated as unknown, or -1
  void find(Id entity, Ids answers, Id hidden) {
    entity_ = entity;
    hidden_ = hidden;
    is_answer_.renew();
    answers_.clear();
    facts_.clear();
    for (Id answer : answers) {
      if (answer == hidden || answer == entity) continue;
      is_answer_.set(answer, answers_.size());
      const auto place = static_cast<std::int32_t>(answers_.size());
      answers_.push_back({has_other_asker(answer), reciprocal_norm(answer)});
      FactSimilarity::each_edge(query_.graph, answer, steps_, [&](Id relation, Id tail) {
        const bool is_the_answer = relation == inverse(query_.relation) && tail == entity;
        if (!is_the_answer) facts_.push_back({relation, tail, place});
      });
    }
    group_facts();
  }

  bool has(Id entity) const { return is_answer_.has(entity); }

  // How many answers are known.
  Count size() const { return std::ssize(answers_); }

  // How many edges `each_fact` and `each_near` look at.
  Count cost() const {
    Count total = 0;
    for (const Group& group : groups_) total += std::ssize(group.sharers);
    return total;
  }

  // Call `use(relation, tail, candidate, piece, answers with the fact, entities with the fact)`.
  //
  // The strongest facts come first. `use` returns the strength of the weakest piece that counts for
  // the candidate. Once facts to come are no stronger, it is left out: in dense graphs that is soon
  // so for nearly all.
  template <class Use>
  void each_fact(const Use& use) {
    find_taken();
    weigh_facts();
    for (const auto& [_, place] : by_worth_) use_fact(worths_[place], use);
    for (Id entity : marked_taken_) has_asker_.erase(static_cast<std::size_t>(entity));
    for (Id candidate : full_) is_full_.erase(static_cast<std::size_t>(candidate));
    full_.clear();
  }

  // Call `use(candidate, worth)` for all that share much with the known answers.
  template <class Use>
  void each_near(const Use& use) {
    likeness_.renew();
    for (const Group& group : groups_) {
      const Count weight = group.weight * group.reciprocal_norms;
      if (weight == 0) continue;
      steps_.take(std::ssize(group.sharers) / 2);
      for (Id sharer : group.sharers) likeness_.add(sharer, weight);
    }

    near_.clear();
    double nearest = 0;
    for (Id candidate : likeness_.touched()) {
      steps_.take();
      if (candidate == entity_) continue;
      const bool is_known = is_answer_.has(candidate);
      Count shared = likeness_.of(candidate);
      if (is_known) {  // what a known answer shares with itself does not count
        const Answer& itself = answers_[is_answer_.slot(candidate)];
        shared -= itself.weight * itself.reciprocal_norm;
      }
      if (shared <= 0) continue;
      const double similarity =
          static_cast<double>(shared) / similarity_.norm(query_.graph, candidate, steps_);
      if (!is_known) nearest = std::max(nearest, similarity);
      near_.push_back({candidate, similarity});
    }
    for (const auto& [candidate, similarity] : near_) {
      const double relative = nearest == 0 ? 1 : std::min(1.0, similarity / nearest);
      const double worth = most_worth * relative * relative;
      if (worth >= least_worth) use(candidate, worth);
    }
  }

 private:
  static constexpr double most_worth = 0.2;   // of the nearest candidate
  static constexpr double trust_in_both = 5;  // how many entities of its own slot the share in
                                              // both slots counts as much as

  struct Answer {
    bool has_other_asker;
    Count reciprocal_norm;
    Count weight = 0;  // of its facts
  };

  // A fact of a known answer, which is given by its place.
  struct FactOfAnswer {
    Id relation, tail;
    std::int32_t answer;
  };
  struct TailOfAnswer {
    Id tail;
    std::int32_t answer;
  };

  // A fact, and the known answers that have it.
  struct Group {
    Id relation, tail;
    Ids sharers;  // all entities that have the fact
    Count weight = 0;
    Count answers = 0;
    Count taken_answers = 0;     // those that another entity has as its answer, too
    Count reciprocal_norms = 0;  // their sum
  };

  // How many of some entities are known answers, and how many are not.
  struct Tally {
    Count answers = 0;
    Count others = 0;
  };

  // What a fact is worth, by slot: 0 open, 1 taken.
  struct FactWorth {
    const Group* group;
    bool is_own;  // whether the query entity has it
    std::array<double, 2> worth;
    std::array<double, 2> worth_of_answers;  // for a known answer, as if that were not known
  };

  struct Near {
    Id candidate;
    double similarity;
  };

  // Sort facts by relation (a counting sort); those of one relation differ in their tails.
  void group_facts() {
    steps_.take(2 * std::ssize(facts_));
    used_relations_.clear();
    for (const FactOfAnswer& fact : facts_)
      if (facts_of_relation_[fact.relation]++ == 0) used_relations_.push_back(fact.relation);
    std::int32_t next = 0;
    for (Id relation : used_relations_) next += std::exchange(facts_of_relation_[relation], next);
    ordered_.resize(facts_.size());
    for (const FactOfAnswer& fact : facts_)
      ordered_[facts_of_relation_[fact.relation]++] = {fact.tail, fact.answer};

    groups_.clear();
    std::int32_t begin = 0;
    for (Id relation : used_relations_) {
      const std::int32_t end = std::exchange(facts_of_relation_[relation], 0);
      groups_by_tail_.renew();
      for (; begin < end; ++begin) add_to_group(relation, ordered_[begin]);
    }
  }

  void add_to_group(Id relation, const TailOfAnswer& fact) {
    constexpr std::size_t none = UINT32_MAX;  // the fact is of no use
    if (!groups_by_tail_.has(fact.tail)) {
      const Ids sharers = query_.graph.tails(fact.tail, inverse(relation));
      const bool is_shared = sharers.size() >= 2;
      const bool is_rare = std::ssize(sharers) <= query_.options.most_sharers;
      groups_by_tail_.set(fact.tail, is_shared && is_rare ? groups_.size() : none);
      if (is_shared && is_rare) {
        groups_.push_back({relation, fact.tail, sharers});
        groups_.back().weight = similarity_.weight(std::ssize(sharers));
      }
    }
    const std::size_t place = groups_by_tail_.slot(fact.tail);
    if (place == none) return;
    Group& group = groups_[place];
    Answer& answer = answers_[fact.answer];
    ++group.answers;
    group.taken_answers += answer.has_other_asker;
    group.reciprocal_norms += answer.reciprocal_norm;
    answer.weight += group.weight;
  }

  // Mark all that have an asker, if there are fewer of them than will be asked about: a bit is
  // faster than a lookup.
  void find_taken() {
    marked_taken_ = std::ssize(askers_.heads) < cost() ? askers_.heads : Ids{};
    steps_.take(std::ssize(marked_taken_) / 4);
    for (Id entity : marked_taken_) has_asker_.insert(static_cast<std::size_t>(entity));
  }

  bool has_asker(Id entity) const {
    if (marked_taken_.empty()) return askers_.has(entity);
    return has_asker_.has(static_cast<std::size_t>(entity));
  }

  // The same for an answer of the query entity, which does not count itself.
  bool has_other_asker(Id answer) const { return askers_.of(answer).size() > 1; }

  bool is_taken(Id entity) const {
    return entity == hidden_ ? has_other_asker(entity) : has_asker(entity);
  }

  // Find what facts are worth that enough known answers have; those worth most come first.
  void weigh_facts() {
    worths_.clear();
    by_worth_.clear();
    for (const Group& group : groups_) {
      if (group.answers < query_.options.support) continue;
      const FactWorth fact = weighed(group);
      const double most = std::max(fact.worth[0], fact.worth[1]);
      if (most < least_worth) continue;
      by_worth_.emplace_back(-most, worths_.size());
      worths_.push_back(fact);
    }
    steps_.take(std::ssize(worths_));
    std::sort(by_worth_.begin(), by_worth_.end());
  }

  FactWorth weighed(const Group& group) const {
    const Ids sharers = group.sharers;
    steps_.take(std::ssize(sharers) / 4);
    FactWorth fact{&group, std::binary_search(sharers.begin(), sharers.end(), entity_), {}, {}};
    std::array<Tally, 2> slots;
    slots[0].answers = group.answers - group.taken_answers;
    slots[1].answers = group.taken_answers;
    for (Id sharer : sharers) slots[1].others += is_taken(sharer);
    slots[0].others = std::ssize(sharers) - slots[1].others;
    slots[1].others -= group.answers;  // all of them have an asker, the query entity
    if (fact.is_own) --slots[is_taken(entity_)].others;
    fact.worth = {worth_in(slots, 0), worth_in(slots, 1)};
    if (group.answers > query_.options.support)
      fact.worth_of_answers = {worth_of_answer(slots, 0), worth_of_answer(slots, 1)};
    return fact;
  }

  template <class Use>
  void use_fact(const FactWorth& fact, const Use& use) {
    const Group& group = *fact.group;
    const Count all = std::ssize(group.sharers) - fact.is_own;
    steps_.take(std::ssize(group.sharers));
    std::array<std::array<Piece, 2>, 2> pieces;  // by whether it is a known answer, and by slot
    double most = -1;                            // the most strength that it or a later fact has
    for (Id sharer : group.sharers) {
      if (is_full_.has(static_cast<std::size_t>(sharer)) || sharer == entity_) continue;
      if (most < 0) {  // logarithms, only where they are needed
        pieces[0] = {Piece(fact.worth[0]), Piece(fact.worth[1])};
        pieces[1] = {Piece(fact.worth_of_answers[0]), Piece(fact.worth_of_answers[1])};
        most = std::max(pieces[0][0].strength, pieces[0][1].strength);
      }
      const bool is_known = is_answer_.has(sharer);
      const Piece& piece = pieces[is_known][is_known ? slot_of_answer(sharer) : is_taken(sharer)];
      if (piece.worth < least_worth) continue;
      const double weakest =
          use(group.relation, group.tail, sharer, piece, group.answers - is_known, all);
      if (most > weakest) continue;
      is_full_.insert(static_cast<std::size_t>(sharer));
      full_.push_back(sharer);
    }
  }

  bool slot_of_answer(Id answer) const { return answers_[is_answer_.slot(answer)].has_other_asker; }

  // What a fact is worth for a known answer, as if that were not known: never more than for others.
  double worth_of_answer(std::array<Tally, 2> slots, std::size_t slot) const {
    if (slots[slot].answers == 0) return 0;  // there is none
    --slots[slot].answers;
    ++slots[slot].others;
    return worth_in(slots, slot);
  }

  // By the share of answers among the entities in a slot, drawn towards their share in both slots.
  double worth_in(const std::array<Tally, 2>& slots, std::size_t slot) const {
    const auto number = [](Count count) { return static_cast<double>(count); };
    const double answers = number(slots[0].answers + slots[1].answers);
    const double others = number(slots[0].others + slots[1].others);
    const double doubt = query_.options.doubt;
    const double in_both = answers / (answers + others + doubt);
    const double own = number(slots[slot].answers);
    const double own_all = own + number(slots[slot].others);
    const double share = (own + trust_in_both * in_both) / (own_all + doubt + trust_in_both);
    return share;
  }

  Count reciprocal_norm(Id entity) const {
    const double norm = similarity_.norm(query_.graph, entity, steps_);
    return static_cast<Count>(std::llround(FactSimilarity::reciprocal_unit / norm));
  }

  const RelationQuery& query_;
  const Edges& askers_;
  const FactSimilarity& similarity_;
  EpochSums& likeness_;
  Stamps& groups_by_tail_;  // of one relation
  Stamps& is_answer_;       // the known answers, with their places in `answers_`
  Bits& is_full_;           // the candidates in `full_`; empty between calls
  Bits& has_asker_;         // entities that are an answer of another; empty between calls
  std::vector<std::int32_t> facts_of_relation_;  // all 0 between queries
  mutable Steps steps_;

  // The query at hand.
  Id entity_ = -1;
  Id hidden_ = -1;
  Ids marked_taken_;  // the entities in `has_asker_`
  std::vector<Answer> answers_;
  std::vector<FactOfAnswer> facts_;
  std::vector<Id> used_relations_;
  std::vector<TailOfAnswer> ordered_;  // facts by relation
  std::vector<Group> groups_;
  std::vector<FactWorth> worths_;
  std::vector<std::pair<double, std::size_t>>
      by_worth_;          // their negative worths and places, sorted
  std::vector<Id> full_;  // candidates that have room for no more facts
  std::vector<Near> near_;
};

}  // namespace casegraph
