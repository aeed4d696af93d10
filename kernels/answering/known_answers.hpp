// Precedents from the other end: what is like the known answers of the query entity.
//
// Two kinds of evidence look at the facts that known answers have:
//
//   facts of answers   If at least `support` known answers have a fact, then of the entities that
//                      have it, how many are answers? "9 of the 12 members of NATO are known
//                      answers, and this is one of the 12." Entities whose slot is open and
//                      entities whose slot is taken (another entity has them as its answer) are
//                      counted apart.
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
        facts_of_relation_(query.graph.relations.size()),
        steps_(progress) {}

  // Find all facts of the known answers.
  //
  // answers  sorted
  // hidden   an answer that is treated as unknown, or -1
  void find(Id entity, Ids answers, Id hidden) {
    entity_ = entity;
    hidden_ = hidden;
    size_ = 0;
    is_answer_.renew();
    facts_.clear();
    for (Id answer : answers) {
      if (answer == hidden || answer == entity) continue;
      is_answer_.set(answer);
      ++size_;
      const auto add = [&](Id relation, Id tail, Ids sharers) {
        const bool is_the_answer = relation == inverse(query_.relation) && tail == entity;
        const bool is_shared = sharers.size() >= 2;
        const bool is_rare = std::ssize(sharers) <= query_.options.most_sharers;
        if (!is_the_answer && is_shared && is_rare)
          facts_.push_back({relation, tail, answer, sharers});
      };
      FactSimilarity::each_fact(query_.graph, answer, steps_, add);
    }
    group_facts();
  }

  // How many answers are known.
  Count size() const { return size_; }

  // How many edges `each_fact` and `each_near` look at.
  Count cost() const {
    Count total = 0;
    for (const Group& group : groups_) total += std::ssize(group.sharers);
    return total;
  }

  // Call `use(relation, tail, candidate, piece, answers with the fact, entities with the fact)`.
  template <class Use>
  void each_fact(const Use& use) const {
    for (const Group& group : groups_)
      if (group.answers >= query_.options.support) use_fact(group, use);
  }

  // Call `use(candidate, worth)` for all that share much with the known answers.
  template <class Use>
  void each_near(const Use& use) {
    likeness_.renew();
    for (const Group& group : groups_) {
      const Count weight = similarity_.weight(std::ssize(group.sharers)) * group.reciprocal_norms;
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
      if (is_known) shared -= shared_with_itself(candidate);
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
  static constexpr double most_worth = 0.2;  // of the nearest candidate
  static constexpr double trust_in_both = 5;  // how many entities of its own slot the share in
                                              // both slots counts as much as

  // A known answer, and a fact that it has.
  struct FactOfAnswer {
    Id relation, tail;
    Id answer;
    Ids sharers;  // all entities that have the fact
  };

  // A fact, and the known answers that have it.
  struct Group {
    Id relation, tail;
    Ids sharers;
    Count answers = 0;
    Count taken_answers = 0;     // those that another entity has as its answer, too
    Count reciprocal_norms = 0;  // their sum
  };

  // How many of some entities are known answers, and how many are not.
  struct Tally {
    Count answers = 0;
    Count others = 0;
  };

  struct Near {
    Id candidate;
    double similarity;
  };

  // Sort facts by relation (a counting sort); those of one relation are told apart by their tails.
  void group_facts() {
    steps_.take(2 * std::ssize(facts_));
    used_relations_.clear();
    for (const FactOfAnswer& fact : facts_)
      if (facts_of_relation_[fact.relation]++ == 0) used_relations_.push_back(fact.relation);
    std::int32_t next = 0;
    for (Id relation : used_relations_) next += std::exchange(facts_of_relation_[relation], next);
    ordered_.resize(facts_.size());
    for (std::size_t place = 0; place < facts_.size(); ++place)
      ordered_[facts_of_relation_[facts_[place].relation]++] = static_cast<std::int32_t>(place);
    for (Id relation : used_relations_) facts_of_relation_[relation] = 0;

    groups_.clear();
    Id relation = -1;
    for (std::int32_t place : ordered_) {
      const FactOfAnswer& fact = facts_[place];
      if (fact.relation != relation) {
        relation = fact.relation;
        groups_by_tail_.renew();
      }
      if (!groups_by_tail_.has(fact.tail)) {
        groups_by_tail_.set(fact.tail, groups_.size());
        groups_.push_back({fact.relation, fact.tail, fact.sharers});
      }
      Group& group = groups_[groups_by_tail_.slot(fact.tail)];
      ++group.answers;
      group.taken_answers += has_other_asker(fact.answer);
      group.reciprocal_norms += reciprocal_norm(fact.answer);
    }
  }

  bool has_asker(Id entity) const { return askers_.row_of(entity) != askers_.heads.size(); }

  // The same for an answer of the query entity, which does not count itself.
  bool has_other_asker(Id answer) const { return askers_.of(answer).size() > 1; }

  bool is_taken(Id entity) const {
    return entity == hidden_ ? has_other_asker(entity) : has_asker(entity);
  }

  template <class Use>
  void use_fact(const Group& group, const Use& use) const {
    const Ids sharers = group.sharers;
    steps_.take(std::ssize(sharers) / 4);

    // by slot: 0 open, 1 taken
    std::array<Tally, 2> slots;
    slots[0].answers = group.answers - group.taken_answers;
    slots[1].answers = group.taken_answers;
    for (Id sharer : sharers) slots[1].others += is_taken(sharer);
    slots[0].others = std::ssize(sharers) - slots[1].others;
    slots[1].others -= group.answers;  // all of them have an asker, the query entity
    const bool is_own = std::binary_search(sharers.begin(), sharers.end(), entity_);
    if (is_own) --slots[is_taken(entity_)].others;

    const std::array<Piece, 2> pieces{worth_in(slots, 0), worth_in(slots, 1)};
    const Count all = std::ssize(sharers) - is_own;
    const bool is_of_use = std::max(pieces[0].worth, pieces[1].worth) >= least_worth;
    if (!is_of_use) return;
    steps_.take(std::ssize(sharers));
    for (Id sharer : sharers) {
      if (sharer == entity_) continue;
      if (is_answer_.has(sharer)) {
        use_for_answer(group, slots, sharer, all, use);
        continue;
      }
      const Piece& piece = pieces[is_taken(sharer)];
      if (piece.worth >= least_worth)
        use(group.relation, group.tail, sharer, piece, group.answers, all);
    }
  }

  // The same for a known answer, as if it were not known.
  template <class Use>
  void use_for_answer(const Group& group, std::array<Tally, 2> slots, Id answer, Count all,
                      const Use& use) const {
    if (group.answers - 1 < query_.options.support) return;
    const bool slot = has_other_asker(answer);
    --slots[slot].answers;
    ++slots[slot].others;
    const Piece piece = worth_in(slots, slot);
    if (piece.worth >= least_worth)
      use(group.relation, group.tail, answer, piece, group.answers - 1, all);
  }

  // By the share of answers among the entities in a slot, drawn towards their share in both slots.
  Piece worth_in(const std::array<Tally, 2>& slots, std::size_t slot) const {
    const auto number = [](Count count) { return static_cast<double>(count); };
    const double answers = number(slots[0].answers + slots[1].answers);
    const double others = number(slots[0].others + slots[1].others);
    const double doubt = query_.options.doubt;
    const double in_both = answers / (answers + others + doubt);
    const double own = number(slots[slot].answers);
    const double own_all = own + number(slots[slot].others);
    const double share = (own + trust_in_both * in_both) / (own_all + doubt + trust_in_both);
    return Piece(share);
  }

  Count reciprocal_norm(Id entity) const {
    const double norm = similarity_.norm(query_.graph, entity, steps_);
    return static_cast<Count>(std::llround(FactSimilarity::reciprocal_unit / norm));
  }

  // What a known answer shares with itself.
  Count shared_with_itself(Id answer) const {
    Count total = 0;
    const auto add = [&](Id relation, Id tail, Ids sharers) {
      const bool is_the_answer = relation == inverse(query_.relation) && tail == entity_;
      const bool is_rare = std::ssize(sharers) <= query_.options.most_sharers;
      if (!is_the_answer && is_rare) total += similarity_.weight(std::ssize(sharers));
    };
    FactSimilarity::each_fact(query_.graph, answer, steps_, add);
    return total * reciprocal_norm(answer);
  }

  const RelationQuery& query_;
  const Edges& askers_;
  const FactSimilarity& similarity_;
  EpochSums& likeness_;
  Stamps& groups_by_tail_;                       // of one relation
  Stamps& is_answer_;                            // the known answers
  std::vector<std::int32_t> facts_of_relation_;  // all 0 between queries
  mutable Steps steps_;

  // The query at hand.
  Id entity_ = -1;
  Id hidden_ = -1;
  Count size_ = 0;
  std::vector<FactOfAnswer> facts_;
  std::vector<Id> used_relations_;
  std::vector<std::int32_t> ordered_;  // places of facts
  std::vector<Group> groups_;
  std::vector<Near> near_;
};

}  // namespace casegraph
