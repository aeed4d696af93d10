// What the entities that share a fact with the one that asks answer.
#pragma once

#include <bit>
#include <unordered_map>

#include "asking.hpp"

namespace casegraph {

class SharedFacts {
 public:
  static constexpr int all = 64;  // binary digits

  // tally  one 0 for each entity
  // keep   what is found for a fact that many share, for the next queries
  SharedFacts(const Asking& asking, std::vector<std::uint32_t>& tally, bool keep) : asking_(asking), tally_(tally), keep_(keep) {
    const Edges& answers = asking.graph.edges(asking.relation);
    if (!answers.heads.empty()) cost_of_one_ += static_cast<Count>(answers.tails.size() / answers.heads.size());
  }

  // The facts (relation, tail) of the entity for which `is_seen` holds.
  template <class IsSeen>
  void find(Id entity, const IsSeen& is_seen) {
    facts_.clear();
    for (Id relation = 0; relation < static_cast<Id>(asking_.graph.relations.size()); ++relation)
      for (Id tail : asking_.graph.tails(entity, relation))
        if (is_seen(relation, tail)) facts_.push_back({relation, tail, asking_.graph.tails(tail, inverse(relation)).size()});
  }

  // What asking all who share the facts takes, one fact after the other, if each has as many answers as one has on average.
  Count cost() const {
    Count total = 0;
    for (const Fact& fact : facts_) total += cost(fact);
    return total;
  }

  // If all who share something are too many to be asked, the facts that fewest share come first, by powers of two, as far as
  // the budget goes: those that are shared by fewer than 2^digits.
  int within(Count budget) const {
    std::array<Count, all + 1> sharing{};
    for (const Fact& fact : facts_) sharing[std::bit_width(fact.sharing)] += cost(fact);
    int digits = 0;
    for (Count total = 0; digits <= all && (total += sharing[digits]) <= budget; ++digits) {}
    return digits - 1;
  }

  // Call `use(piece of evidence, answer)` for what at least `support` others say, for the facts that fewer than 2^digits
  // share. Returns the edges looked at.
  //
  // own  what the entity that asks answers itself, which is not counted
  template <class Use>
  Count each(int digits, Id entity, Ids own, const Use& use) {
    Count edges = 0;
    for (const Fact& fact : facts_) {
      if (static_cast<int>(std::bit_width(fact.sharing)) > digits) continue;
      if (static_cast<Count>(fact.sharing) <= asking_.manner.support) continue;  // with the one that asks: too few others
      if (keep_ && fact.sharing > std::max(own.size(), few)) {
        edges += each(fact, kept(fact), own, use);
      } else {
        count(fact, entity, sharing_);
        edges += each(fact, sharing_, {}, use);
      }
    }
    return edges;
  }

 private:
  struct Fact {
    Id relation, tail;
    std::size_t sharing;  // how many share it
  };
  struct Sharing {
    Count others = 0;  // those that have the query relation
    Count edges = 0;   // that were looked at
    std::vector<Habit::Given> given;
  };

  template <class Use>
  Count each(const Fact& fact, const Sharing& sharing, Ids own, const Use& use) const {
    const Count others = sharing.others - !own.empty();
    Evidence piece{Evidence::shared_fact, fact.relation, fact.tail, -1, 0, others, 0};
    for (const auto& [gave, answer] : sharing.given) {
      const Count count = gave - std::binary_search(own.begin(), own.end(), answer);
      if (count < asking_.manner.support) continue;
      if (count != piece.count) piece.value = static_cast<double>(count) / (static_cast<double>(others) + asking_.manner.doubt);
      piece.count = count;
      use(piece, answer);
    }
    return sharing.edges - static_cast<Count>(own.size());
  }

  Count cost(const Fact& fact) const { return static_cast<Count>(fact.sharing) * cost_of_one_; }

  // What all who share the fact answer; the one that asks is among them.
  const Sharing& kept(const Fact& fact) {
    if (kept_size_ > most) {
      kept_.clear();
      kept_size_ = 0;
    }
    const auto [at, is_new] = kept_.try_emplace(static_cast<std::uint64_t>(fact.relation) << 32 | static_cast<std::uint32_t>(fact.tail));
    if (is_new) {
      count(fact, -1, at->second);
      kept_size_ += at->second.given.size();
    }
    return at->second;
  }

  // What all who share the fact answer, but for one of them, if at least `support` do.
  void count(const Fact& fact, Id but_for, Sharing& sharing) {
    const Ids sharers = asking_.graph.tails(fact.tail, inverse(fact.relation));
    const auto given_by = [&](Id other) { return other == but_for ? Ids{} : asking_.graph.tails(other, asking_.relation); };
    sharing = {0, static_cast<Count>(sharers.size()), std::move(sharing.given)};
    sharing.given.clear();
    for (Id other : sharers) {
      const Ids given = given_by(other);
      sharing.edges += static_cast<Count>(given.size());
      sharing.others += !given.empty();
      for (Id answer : given)
        if (++tally_[answer] == asking_.manner.support) sharing.given.push_back({0, answer});
    }
    for (auto& [count, answer] : sharing.given) count = tally_[answer];
    for (Id other : sharers)
      for (Id answer : given_by(other)) tally_[answer] = 0;
  }

  static constexpr std::size_t few = 16;        // sharing a fact
  static constexpr std::size_t most = 1 << 20;  // answers that are remembered

  const Asking& asking_;
  std::vector<std::uint32_t>& tally_;
  const bool keep_;
  Count cost_of_one_ = 1;
  std::vector<Fact> facts_;
  Sharing sharing_;
  std::unordered_map<std::uint64_t, Sharing> kept_;  // by fact, for all
  std::size_t kept_size_ = 0;
};

}  // namespace casegraph
