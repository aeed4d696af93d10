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
// entities that share it. If most of all entities are known answers, their facts are not gathered:
// looking at who shares each fact of the graph is less work.
#pragma once

#include <numeric>
#include <utility>

#include "answering/best_worths.hpp"
#include "answering/fact_similarity.hpp"
#include "answering/relation_query.hpp"
#include "answering/workspace.hpp"
#include "common/fetch.hpp"

namespace casegraph {

class KnownAnswers {
 public:
  KnownAnswers(const RelationQuery& query, const FactSimilarity& similarity, Workspace& workspace,
               Progress& progress)
      : query_(query),
        by_answer_(query.graph.edges(inverse(query.relation))),
        similarity_(similarity),
        likeness_(workspace.likeness),
        reciprocal_norms_(workspace.reciprocal_norms),
        slots_(workspace.stamps),
        is_answer_(workspace.answers),
        standings_(workspace.standings),
        best_(workspace),
        facts_of_relation_(query.graph.relations.size()),
        uses_facts_(query.options.weights[Kind::answers_fact] > 0),
        uses_nearness_(query.options.weights[Kind::near_answers] > 0),
        steps_(progress) {}

  // Find all facts of the known answers.
  //
  // answers  sorted
  // hidden   an answer that is treated as unknown, or -1. It may never have been known: then the
  //          query entity is not one of its askers
  void find(Id entity, Ids answers, Id hidden) {
    entity_ = entity;
    hidden_ = std::binary_search(answers.begin(), answers.end(), hidden) ? hidden : -1;
    is_answer_.renew();
    answers_.clear();
    for (Id answer : answers) {
      if (answer == hidden || answer == entity)
        continue;
      is_answer_.set(answer);
      answers_.push_back(answer);
    }
    groups_.clear();
    cost_ = 0;
    if (!uses_facts_ && !uses_nearness_)
      return;
    if (has_many_facts())
      group_all_facts();
    else
      group_facts();
    for (const Group& group : groups_)
      cost_ += std::ssize(group.sharers);
  }

  bool has(Id entity) const { return is_answer_.has(entity); }

  // How many answers are known.
  Count size() const { return std::ssize(answers_); }

  // How many edges `look_at_sharers` looks at.
  Count cost() const { return cost_; }

  // Look at all who share a fact with known answers: how alike they are to these, and what each
  // fact is worth. The functions below tell what was found.
  void look_at_sharers() {
    worths_.clear();
    worths_.reserve(groups_.size());
    likeness_.renew();
    if (uses_facts_)
      mark_standings();
    for (std::size_t at = 0; at < groups_.size(); ++at) {
      if (at + lists_ahead < groups_.size())
        fetch(groups_[at + lists_ahead].sharers);
      const Group& group = groups_[at];
      if (uses_nearness_)
        add_likeness(group);
      if (uses_facts_ && group.answers >= query_.options.support)
        weigh(group);
    }
    if (uses_nearness_)
      subtract_own_likeness();
  }

  // Call `use(relation, tail, candidate, worth, answers with the fact, entities with the fact)` for
  // all facts of known answers and all who share them, facts that are worth most first.
  template <class Use>
  void each_fact(const Use& use) {
    steps_.take(std::ssize(worths_));
    const auto most = [](const FactWorth& fact) { return std::ranges::max(fact.worth); };
    std::ranges::stable_sort(worths_, std::greater<>(), most);
    for (const FactWorth& fact : worths_)
      use_fact(fact, use);
    unmark_standings();
  }

  // Call `use(candidate, worths)` for all who share a fact with known answers, with what their best
  // facts are worth, at most `most` of them, the best first.
  //
  // may_answer  whether an entity can be a candidate
  //
  // Facts that are worth much come first. No processor can guess for whom a fact is one of the
  // best, so its sharers are first sifted without a branch.
  template <class MayAnswer, class Use>
  void each_best(std::size_t most, const MayAnswer& may_answer, const Use& use) {
    order_by_worth();
    best_.start(most);
    best_.exclude(entity_);
    for (std::size_t at = 0; at < worths_.size(); ++at) {
      if (at + lists_ahead < worths_.size())
        fetch(worths_[at + lists_ahead].sharers);
      const FactWorth& fact = worths_[at];
      steps_.take(std::ssize(fact.sharers) / 2);
      for (Id sharer : sifted(fact))
        best_.offer(sharer, fact.worth[standing_of(sharer)], may_answer);
    }
    unmark_standings();
    best_.take(steps_, use);
  }

  // Call `use(candidate, worth)` for all that share much with the known answers.
  template <class Use>
  void each_near(const Use& use) {
    near_.clear();
    double nearest = 0;
    for (Id candidate : likeness_.touched()) {
      steps_.take();
      if (candidate == entity_)
        continue;
      const auto shared = static_cast<double>(likeness_.of(candidate));
      if (shared == 0)
        continue;
      const double similarity = shared / similarity_.norm(query_.graph, candidate, steps_);
      if (!is_answer_.has(candidate))
        nearest = std::max(nearest, similarity);
      near_.push_back({candidate, similarity});
    }
    for (const auto& [candidate, similarity] : near_) {
      const double relative = nearest == 0 ? 1 : std::min(1.0, similarity / nearest);
      const double worth = most_worth * relative * relative;
      if (worth >= least_worth)
        use(candidate, worth);
    }
  }

 private:
  static constexpr double most_worth = 0.2;      // of the nearest candidate
  static constexpr double trust_in_both = 5;     // how many entities of its own slot the share in
                                                 // both slots counts as much as
  static constexpr std::size_t lists_ahead = 8;  // how soon a list of sharers is fetched

  // A fact of a known answer, and the reciprocal norm of that answer.
  struct FactOfAnswer {
    Id relation, tail;
    std::uint32_t reciprocal_norm;
  };
  struct TailOfAnswer {
    Id tail;
    std::uint32_t reciprocal_norm;
  };

  // A fact, and the known answers that have it.
  struct Group {
    Id relation, tail;
    Ids sharers;  // all entities that have the fact
    Count answers = 0;
    Count reciprocal_norms = 0;  // their sum
  };

  // How many of some entities are known answers, and how many are not.
  struct Tally {
    Count answers = 0;
    Count others = 0;
  };

  // The standing of an entity: whether its slot is taken by another, and whether it is a known
  // answer.
  static constexpr std::uint8_t taken = 1;
  static constexpr std::uint8_t known = 2;

  // How many sharers of a fact are taken, how many of these are known answers, and whether the
  // query entity is a sharer.
  struct Standings {
    Count taken = 0;
    Count taken_answers = 0;
    bool has_entity = false;
  };

  // A worth for each standing.
  using ByStanding = std::array<double, 4>;

  // What a fact is worth; for a known answer, as if that were not known. 0 if it is too little.
  struct FactWorth {
    const Group* group;
    Ids sharers;
    bool is_own;  // whether the query entity has it
    ByStanding worth;
  };

  struct Near {
    Id candidate;
    double similarity;
  };

  // Whether gathering the facts of known answers would take longer than looking at all facts.
  bool has_many_facts() {
    constexpr Count edges_per_fact = 8;  // that are looked at while one fact is gathered
    const Adjacency* all = answers_.empty() ? nullptr : query_.graph.adjacency_if_it_pays(steps_);
    if (all == nullptr)
      return false;
    Count facts = 0;
    for (Id answer : answers_)
      facts += all->offsets[answer + 1] - all->offsets[answer];
    return facts * edges_per_fact > std::ssize(all->tails);
  }

  // Count how many sharers of each fact are known answers.
  void group_all_facts() {
    const Graph& graph = query_.graph;
    mark_norms();
    for (Id relation = 0; relation < std::ssize(graph.relations); ++relation) {
      const Edges& edges = graph.edges(inverse(relation));
      for (std::size_t row = 0; row < edges.heads.size(); ++row) {
        const Ids sharers = edges.row(row);
        steps_.take();
        if (!is_used(relation, edges.heads[row], sharers))
          continue;
        steps_.take(std::ssize(sharers) / 4);
        Group group{relation, edges.heads[row], sharers};
        for (Id sharer : sharers) {
          group.answers += is_answer_.has(sharer);
          group.reciprocal_norms += reciprocal_norms_[sharer];
        }
        if (group.answers > 0)
          groups_.push_back(group);
      }
    }
    unmark_norms();
  }

  // Sort the facts of known answers by relation (a counting sort); those of one relation differ in
  // their tails.
  void group_facts() {
    facts_.clear();
    for (Id answer : answers_) {
      const std::uint32_t norm = reciprocal_norm(answer);
      FactSimilarity::each_edge(query_.graph, answer, steps_, [&](Id relation, Id tail) {
        facts_.push_back({relation, tail, norm});
      });
    }
    steps_.take(2 * std::ssize(facts_));
    used_relations_.clear();
    for (const FactOfAnswer& fact : facts_)
      if (facts_of_relation_[fact.relation]++ == 0)
        used_relations_.push_back(fact.relation);
    std::int32_t next = 0;
    for (Id relation : used_relations_)
      next += std::exchange(facts_of_relation_[relation], next);
    tails_.resize(facts_.size());
    for (const FactOfAnswer& fact : facts_)
      tails_[facts_of_relation_[fact.relation]++] = {fact.tail, fact.reciprocal_norm};

    std::int32_t begin = 0;
    for (Id relation : used_relations_) {
      const std::int32_t end = std::exchange(facts_of_relation_[relation], 0);
      slots_.renew();
      for (; begin < end; ++begin)
        add_to_group(relation, tails_[begin]);
    }
  }

  void add_to_group(Id relation, const TailOfAnswer& fact) {
    const Id tail = fact.tail;
    constexpr std::size_t none = UINT32_MAX;  // the fact is of no use
    if (!slots_.has(tail)) {
      const Ids sharers = query_.graph.tails(tail, inverse(relation));
      const bool uses_it = is_used(relation, tail, sharers);
      slots_.set(tail, uses_it ? groups_.size() : none);
      if (uses_it)
        groups_.push_back({relation, tail, sharers});
    }
    const std::size_t place = slots_.slot(tail);
    if (place == none)
      return;
    ++groups_[place].answers;
    groups_[place].reciprocal_norms += fact.reciprocal_norm;
  }

  // Whether a fact says anything: not that the query entity has the answer, nor a fact of nobody
  // else, nor one of very many.
  bool is_used(Id relation, Id tail, Ids sharers) const {
    const bool is_the_answer = relation == inverse(query_.relation) && tail == entity_;
    const bool is_common = similarity_.is_common(std::ssize(sharers));
    return sharers.size() >= 2 && !is_common && !is_the_answer;
  }

  // Mark the standings of all entities, if that is less work than looking them up: every sharer is
  // asked about at least twice, and a lookup takes about twice as long as a mark.
  void mark_standings() {
    constexpr Count marks_per_sharer = 4;
    const bool pays = std::ssize(by_answer_.heads) < marks_per_sharer * cost();
    marked_ = pays ? by_answer_.heads : Ids{};
    steps_.take(std::ssize(marked_) / 4);
    if (marked_.empty())
      return;
    for (Id entity : marked_)
      standings_[entity] = taken;
    for (Id answer : answers_)
      standings_[answer] = known | (has_other_asker(answer) ? taken : 0);
    if (hidden_ >= 0)
      standings_[hidden_] = has_other_asker(hidden_) ? taken : 0;
  }

  void unmark_standings() {
    for (Id entity : marked_)
      standings_[entity] = 0;
  }

  // Whether an answer of the query entity is an answer of another one, too.
  bool has_other_asker(Id answer) const { return by_answer_.of(answer).size() > 1; }

  std::size_t standing_of(Id entity) const {
    return marked_.empty() ? looked_up_standing(entity) : standings_[entity];
  }

  // Call `use(standing)` with a function that says the standing of an entity. A loop over very many
  // entities then need not ask for each how standings are known.
  template <class Use>
  auto by_standing(const Use& use) const {
    if (marked_.empty())
      return use([&](Id entity) { return looked_up_standing(entity); });
    const std::uint8_t* const standings = standings_.data();
    return use([=](Id entity) { return std::size_t{standings[entity]}; });
  }

  std::size_t looked_up_standing(Id entity) const {
    const bool is_known = is_answer_.has(entity);
    const bool is_asked_for = is_known || entity == hidden_;
    const bool is_taken = is_asked_for ? has_other_asker(entity) : by_answer_.has(entity);
    return (is_known ? known : 0) | (is_taken ? taken : 0);
  }

  // Add to how alike entities are to the known answers what they share by a fact.
  void add_likeness(const Group& group) {
    const Count weight = similarity_.weight(std::ssize(group.sharers));
    if (weight == 0)
      return;
    steps_.take(std::ssize(group.sharers) / 2);
    likeness_.add(group.sharers, weight * group.reciprocal_norms);
  }

  // What a known answer shares with itself does not count. That is, of all facts that are used:
  // those that are not common, except that it is an answer of the query entity.
  void subtract_own_likeness() {
    const Ids all_answers = query_.graph.tails(entity_, query_.relation);
    const bool is_used = !similarity_.is_common(std::ssize(all_answers));
    const Count of_being_answer = is_used ? similarity_.weight(std::ssize(all_answers)) : 0;
    steps_.take(std::ssize(answers_));
    for (Id answer : answers_) {
      const Count weight = similarity_.rare_weight(query_.graph, answer, steps_) - of_being_answer;
      likeness_.subtract(answer, weight * reciprocal_norm(answer));
    }
  }

  // A counting sort by worth, in steps of about one in a hundred: an exact one would take longer.
  // The facts themselves are moved, so that they are read one after the other.
  void order_by_worth() {
    constexpr double steps_to_half = 64;
    constexpr std::size_t steps = 512;
    std::array<std::uint32_t, steps + 1> next{};  // where the next fact of each step goes
    step_of_fact_.clear();
    for (const FactWorth& fact : worths_) {
      const double halvings = std::max(0.0, -std::log2(std::ranges::max(fact.worth)));
      const auto step = std::min(steps - 1, static_cast<std::size_t>(steps_to_half * halvings));
      step_of_fact_.push_back(static_cast<std::uint16_t>(step));
      ++next[step + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    ordered_.resize(worths_.size());
    for (std::size_t place = 0; place < worths_.size(); ++place)
      ordered_[next[step_of_fact_[place]]++] = worths_[place];
    worths_.swap(ordered_);
  }

  // Count the sharers of a fact by their standings.
  Standings tally(Ids sharers) const {
    return by_standing([&](const auto& standing) {
      // Two numbers in one, so that a sharer takes one addition.
      constexpr std::uint64_t one_answer = std::uint64_t{1} << 32;
      constexpr std::array<std::uint64_t, 4> tallies{0, 1, 0, one_answer + 1};
      const Id entity = entity_;
      bool has_entity = false;
      std::uint64_t both = 0;
      for (Id sharer : sharers) {
        both += tallies[standing(sharer)];
        has_entity |= sharer == entity;
      }
      return Standings{static_cast<Count>(both % one_answer), static_cast<Count>(both / one_answer),
                       has_entity};
    });
  }

  // Find what a fact is worth, if it is worth anything.
  void weigh(const Group& group) {
    steps_.take(std::ssize(group.sharers) / 2);
    const Standings sharers = tally(group.sharers);
    FactWorth fact{&group, group.sharers, sharers.has_entity, {}};
    std::array<Tally, 2> slots;
    slots[1] = {sharers.taken_answers, sharers.taken - sharers.taken_answers};
    slots[0].answers = group.answers - sharers.taken_answers;
    slots[0].others = std::ssize(group.sharers) - sharers.taken - slots[0].answers;
    if (fact.is_own)
      --slots[standing_of(entity_) & taken].others;
    fact.worth = {worth_in(slots, 0), worth_in(slots, 1)};
    if (group.answers > query_.options.support) {
      fact.worth[2] = worth_of_answer(slots, 0);
      fact.worth[3] = worth_of_answer(slots, 1);
    }
    for (double& worth : fact.worth)
      if (worth < least_worth)
        worth = 0;
    if (std::ranges::max(fact.worth) > 0)
      worths_.push_back(fact);
  }

  // The sharers for whom a fact is worth more than the least of their best.
  Ids sifted(const FactWorth& fact) {
    if (sifted_.size() < fact.sharers.size())
      sifted_.resize(fact.sharers.size());
    return by_standing([&](const auto& standing) {
      const ByStanding worth = fact.worth;
      const double* const least_worths = best_.least();
      Id* const sifted = sifted_.data();
      std::size_t count = 0;
      for (Id sharer : fact.sharers) {
        sifted[count] = sharer;
        count += worth[standing(sharer)] > least_worths[sharer];
      }
      return Ids(sifted, count);
    });
  }

  template <class Use>
  void use_fact(const FactWorth& fact, const Use& use) {
    const Group& group = *fact.group;
    const Count all = std::ssize(group.sharers) - fact.is_own;
    steps_.take(std::ssize(group.sharers));
    std::array<Worth, 4> worths;
    for (std::size_t standing = 0; standing < worths.size(); ++standing)
      worths[standing] = Worth(fact.worth[standing]);
    for (Id sharer : group.sharers) {
      if (sharer == entity_)
        continue;
      const Worth& worth = worths[standing_of(sharer)];
      if (worth.value == 0)
        continue;
      const Count answers = group.answers - is_answer_.has(sharer);
      use(group.relation, group.tail, sharer, worth, answers, all);
    }
  }

  // What a fact is worth for a known answer, as if that were not known: never more than for others.
  double worth_of_answer(std::array<Tally, 2> slots, std::size_t slot) const {
    if (slots[slot].answers == 0)
      return 0;  // there is none
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

  void mark_norms() {
    for (Id answer : answers_)
      reciprocal_norms_[answer] = reciprocal_norm(answer);
  }
  void unmark_norms() {
    for (Id answer : answers_)
      reciprocal_norms_[answer] = 0;
  }

  std::uint32_t reciprocal_norm(Id entity) const {
    const double norm = similarity_.norm(query_.graph, entity, steps_);
    return static_cast<std::uint32_t>(std::llround(FactSimilarity::reciprocal_unit / norm));
  }

  const RelationQuery& query_;
  const Edges& by_answer_;  // the edges of the query relation: who gives each answer
  const FactSimilarity& similarity_;
  Sums& likeness_;
  std::vector<std::uint32_t>& reciprocal_norms_;  // of known answers; all 0 between calls
  Stamps& slots_;                                 // the groups of one relation by tail
  Marks& is_answer_;                              // the known answers
  std::vector<std::uint8_t>& standings_;          // where marked; all 0 between calls
  BestWorths best_;                               // the facts that count for each candidate
  std::vector<std::int32_t> facts_of_relation_;   // all 0 between queries
  const bool uses_facts_, uses_nearness_;  // whether these kinds of evidence count; if neither
                                           // does, only `has` is asked
  mutable Steps steps_;

  // The query at hand.
  Id entity_ = -1;
  Id hidden_ = -1;  // the known answer that is hidden, or -1
  Count cost_ = 0;
  Ids marked_;  // the entities whose standing is or was marked; none if standings are looked up
  std::vector<Id> answers_;
  std::vector<FactOfAnswer> facts_;
  std::vector<Id> used_relations_;
  std::vector<TailOfAnswer> tails_;  // of the facts, by relation
  std::vector<Group> groups_;
  std::vector<FactWorth> worths_;
  std::vector<std::uint16_t> step_of_fact_;  // parallel to them, before they are ordered
  std::vector<FactWorth> ordered_;           // while they are ordered
  std::vector<Id> sifted_;                   // who may gain by the fact at hand
  std::vector<Near> near_;
};

}  // namespace casegraph
