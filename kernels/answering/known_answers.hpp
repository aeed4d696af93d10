// Precedents from the other end: what is like the known answers of the query entity.
//
// Two kinds of evidence look at the facts that known answers have:
//
//   facts of answers   If at least `support` known answers have a fact, then of the entities that
//                      have it, how many are answers? "9 of the 12 members of NATO are known
//                      answers, and this is one of the 12." Entities whose slot is open and entities
//                      whose slot is taken (another entity has them as its answer) are counted
//                      apart.
//   near answers       The similarity by facts (fact_similarity.hpp) to all known answers together,
//                      relative to the candidate that is nearest.
//
// A known answer is treated as if it were not known: its own edge is left out.
#pragma once

#include <unordered_map>

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
        steps_(progress) {}

  // Find all facts of the known answers.
  //
  // answers  sorted
  // hidden   an answer that is treated as unknown, or -1
  void find(Id entity, Ids answers, Id hidden) {
    entity_ = entity;
    answers_ = answers;
    hidden_ = hidden;
    shared_.clear();
    for (Id answer : answers) {
      if (answer == hidden) continue;
      FactSimilarity::each_fact(
          query_.graph, answer, steps_, [&](Id relation, Id tail, Ids sharers) {
            const bool is_the_answer = relation == inverse(query_.relation) && tail == entity;
            if (is_the_answer || sharers.size() < 2) return;
            if (std::ssize(sharers) > query_.options.most_sharers) return;
            const auto key = static_cast<std::uint64_t>(relation) << 32 | static_cast<std::uint32_t>(tail);
            shared_.push_back({key, answer, sharers});
          });
    }
    std::sort(shared_.begin(), shared_.end(), [&](const Shared& a, const Shared& b) {
      steps_.take();
      return a.fact != b.fact ? a.fact < b.fact : a.answer < b.answer;
    });
  }

  // How many edges `each_fact` and `each_near` look at.
  Count cost() const {
    Count total = 0;
    for (std::size_t at = 0; at < shared_.size(); ++at)
      if (at == 0 || shared_[at].fact != shared_[at - 1].fact) total += std::ssize(shared_[at].sharers);
    return total;
  }

  // Call `use(relation, tail, candidate, worth, answers with the fact, entities with the fact)`.
  template <class Use>
  void each_fact(const Use& use) {
    for (std::size_t begin = 0, end = 0; begin < shared_.size(); begin = end) {
      while (end < shared_.size() && shared_[end].fact == shared_[begin].fact) ++end;
      const auto known = std::span<const Shared>(shared_).subspan(begin, end - begin);
      if (std::ssize(known) >= query_.options.support) use_fact(known, use);
    }
  }

  // Call `use(candidate, worth)` for all that share a fact with a known answer.
  template <class Use>
  void each_near(const Use& use) {
    likeness_.renew();
    for (std::size_t begin = 0, end = 0; begin < shared_.size(); begin = end) {
      Count reciprocals = 0;
      for (; end < shared_.size() && shared_[end].fact == shared_[begin].fact; ++end)
        reciprocals += reciprocal_norm(shared_[end].answer);
      const Ids sharers = shared_[begin].sharers;
      const Count weight = similarity_.weight(std::ssize(sharers)) * reciprocals;
      if (weight == 0) continue;
      steps_.take(std::ssize(sharers) / 2);
      for (Id sharer : sharers) likeness_.add(sharer, weight);
    }

    near_.clear();
    double nearest = 0;
    for (Id candidate : likeness_.touched()) {
      steps_.take();
      if (candidate == entity_) continue;
      const bool is_known = is_answer(candidate);
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
      use(candidate, most_worth * relative * relative);
    }
  }

 private:
  // A known answer, and a fact that it has.
  struct Shared {
    std::uint64_t fact;  // relation and tail
    Id answer;
    Ids sharers;  // all entities that have the fact
  };

  struct Near {
    Id candidate;
    double similarity;
  };

  // How many of some entities are known answers, and how many are not.
  struct Tally {
    Count answers = 0;
    Count others = 0;
  };

  static constexpr double most_worth = 0.2;    // of the nearest candidate
  static constexpr double trust_in_both = 5;   // what a slot counts as, added from both slots

  bool is_answer(Id entity) const {
    return entity != hidden_ && std::binary_search(answers_.begin(), answers_.end(), entity);
  }

  // Whether an entity other than the query entity has this one as its answer.
  bool is_taken(Id entity, bool is_own) const {
    return std::ssize(askers_.of(entity)) - is_own > 0;
  }

  template <class Use>
  void use_fact(std::span<const Shared> known, const Use& use) {
    const auto relation = static_cast<Id>(known.front().fact >> 32);
    const auto tail = static_cast<Id>(known.front().fact & UINT32_MAX);
    const Ids sharers = known.front().sharers;
    steps_.take(2 * std::ssize(sharers));

    // by slot: 0 open, 1 taken
    std::array<Tally, 2> slots;
    for (const Shared& one : known) ++slots[is_taken(one.answer, true)].answers;
    slots[0].others = std::ssize(sharers);
    for (Id sharer : sharers) {
      const bool is_own = sharer == hidden_;
      slots[1].others += is_taken(sharer, is_own);
    }
    slots[0].others -= slots[1].others;
    const auto leave_out = [&](Id entity) {
      --slots[is_taken(entity, entity == hidden_)].others;
    };
    for (const Shared& one : known) leave_out(one.answer);
    if (std::binary_search(sharers.begin(), sharers.end(), entity_)) leave_out(entity_);

    const std::array<Piece, 2> pieces{worth_in(slots, 0), worth_in(slots, 1)};
    const auto answers = std::ssize(known);
    const Count all = answers + slots[0].others + slots[1].others;
    for (Id sharer : sharers) {
      if (sharer == entity_) continue;
      if (is_answer(sharer)) {
        if (answers - 1 < query_.options.support) continue;
        const bool slot = is_taken(sharer, true);
        std::array<Tally, 2> without = slots;
        --without[slot].answers;
        ++without[slot].others;
        use(relation, tail, sharer, worth_in(without, slot), answers - 1, all);
      } else {
        use(relation, tail, sharer, pieces[is_taken(sharer, sharer == hidden_)], answers, all);
      }
    }
  }

  // The share of answers among the entities in a slot, drawn towards their share in both slots.
  Piece worth_in(const std::array<Tally, 2>& slots, std::size_t slot) const {
    const auto number = [](Count count) { return static_cast<double>(count); };
    const double answers = number(slots[0].answers + slots[1].answers);
    const double others = number(slots[0].others + slots[1].others);
    const double doubt = query_.options.doubt;
    const double in_both = answers / (answers + others + doubt);
    const double own = number(slots[slot].answers);
    const double own_all = own + number(slots[slot].others);
    return Piece((own + trust_in_both * in_both) / (own_all + doubt + trust_in_both));
  }

  Count reciprocal_norm(Id entity) const {
    const double norm = similarity_.norm(query_.graph, entity, steps_);
    return static_cast<Count>(std::llround(FactSimilarity::reciprocal_unit / norm));
  }

  // What a known answer shares with itself.
  Count shared_with_itself(Id answer) const {
    Count total = 0;
    FactSimilarity::each_fact(query_.graph, answer, steps_, [&](Id relation, Id tail, Ids sharers) {
      const bool is_the_answer = relation == inverse(query_.relation) && tail == entity_;
      if (is_the_answer || std::ssize(sharers) > query_.options.most_sharers) return;
      total += similarity_.weight(std::ssize(sharers));
    });
    return total * reciprocal_norm(answer);
  }

  const RelationQuery& query_;
  const Edges& askers_;
  const FactSimilarity& similarity_;
  EpochSums& likeness_;
  mutable Steps steps_;

  // The query at hand.
  Id entity_ = -1;
  Ids answers_;
  Id hidden_ = -1;
  std::vector<Shared> shared_;  // sorted by fact
  std::vector<Near> near_;
};

}  // namespace casegraph
