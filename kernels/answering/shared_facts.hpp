// What the entities that share a fact with the one that asks answer.
#pragma once

#include <bit>
#include <unordered_map>

#include "answering/relation_query.hpp"

namespace casegraph {

class SharedFacts {
 public:
  static constexpr int all = 64;  // binary digits

  // tally  of each entity
  // keep   what is found for a fact that many share, for the next queries
  SharedFacts(const Asking& asking, Workspace::Tallies& tally, bool keep, Progress& progress)
      : asking_(asking), tally_(tally), keep_(keep), steps_(progress) {
    const Edges& answers = asking.graph.edges(asking.relation);
    if (!answers.heads.empty())
      cost_of_one_ += static_cast<Count>(answers.tails.size() / answers.heads.size());
  }

  // The facts (relation, tail) of the entity for which `is_seen` holds.
  template <class IsSeen>
  void find(Id entity, const IsSeen& is_seen) {
    facts_.clear();
    steps_.take(std::ssize(asking_.graph.relations));
    for (Id relation = 0; relation < static_cast<Id>(asking_.graph.relations.size()); ++relation)
      for (Id tail : asking_.graph.tails(entity, relation)) {
        steps_.take();
        if (is_seen(relation, tail))
          facts_.push_back({relation, tail, asking_.graph.tails(tail, inverse(relation))});
      }
  }

  // What asking all who share the facts takes, one fact after the other, if each has as many
  // answers as one has on average.
  Count cost() const {
    Count total = 0;
    for (const Fact& fact : facts_) total += cost(fact);
    return total;
  }

  // If all who share something are too many to be asked, the facts that fewest share come first, by
  // powers of two, as far as the budget goes: those that are shared by fewer than 2^digits.
  int within(Count budget) const {
    std::array<Count, all + 1> sharing{};
    for (const Fact& fact : facts_) sharing[std::bit_width(fact.sharers.size())] += cost(fact);
    int digits = 0;
    for (Count total = 0; digits <= all && (total += sharing[digits]) <= budget; ++digits) {
    }
    return digits - 1;
  }

  // Call `use(piece of evidence, its worth, answer, times)` for what at least `support` others say,
  // for the facts that fewer than 2^digits share; nobody speaks for the fact itself. Returns the
  // edges looked at.
  //
  // own    what the entity that asks answers itself, which is not counted
  // apart  each fact is spoken of by itself; else those that the same entities share are one piece
  // of evidence several times
  template <class Use>
  Count each(int digits, Id entity, Ids own, bool apart, const Use& use) {
    chosen_.clear();
    for (const Fact& fact : facts_)
      if (static_cast<int>(std::bit_width(fact.sharers.size())) <= digits &&
          static_cast<Count>(fact.sharers.size()) > asking_.manner.support)
        chosen_.push_back(fact);  // more than the one that asks share it
    if (!apart)
      std::sort(chosen_.begin(), chosen_.end(), [&](const Fact& a, const Fact& b) {
        steps_.take(1 + std::ssize(a.sharers));  // as far as they agree they are compared
        return sharers_come_first(a, b);
      });
    Count edges = 0;
    for (std::size_t begin = 0, end; begin < chosen_.size(); begin = end) {
      const Ids sharers = chosen_[begin].sharers;
      for (end = begin + 1;
           !apart && end < chosen_.size() && std::ranges::equal(chosen_[end].sharers, sharers);
           ++end) {
      }
      const auto facts = std::span<const Fact>(chosen_).subspan(begin, end - begin);
      if (keep_ && sharers.size() > std::max(own.size(), few)) {
        edges += each(facts, kept(facts.front()), own, use);
      } else {
        count(sharers, entity, sharing_);
        edges += each(facts, sharing_, {}, use);
      }
    }
    return edges;
  }

 private:
  struct Fact {
    Id relation, tail;
    Ids sharers;  // who else has it, and the one that asks
  };
  static bool sharers_come_first(const Fact& a, const Fact& b) {
    const auto order = std::lexicographical_compare_three_way(a.sharers.begin(), a.sharers.end(),
                                                              b.sharers.begin(), b.sharers.end());
    return order != 0 ? order < 0 : std::pair(a.relation, a.tail) < std::pair(b.relation, b.tail);
  }
  struct Sharing {
    Count others = 0;  // those that have the query relation
    Count edges = 0;   // that were looked at
    std::vector<Habit::Given> given;
  };

  template <class Use>
  Count each(std::span<const Fact> facts, const Sharing& sharing, Ids own, const Use& use) {
    const Count others = sharing.others - !own.empty();
    Evidence piece{
        Evidence::shared_fact, facts.front().relation, facts.front().tail, -1, 0, others, 0};
    for (const auto& [gave, answer] : sharing.given) {
      const Count count = gave - std::binary_search(own.begin(), own.end(), answer);
      if (count < asking_.manner.support) continue;
      const std::size_t times = facts.size() - is_among(facts, answer);
      if (times == 0) continue;
      const Piece& worth = worth_of(count, others);
      piece.count = count;
      piece.value = worth.worth;
      use(piece, worth, answer, times);
    }
    return static_cast<Count>(facts.size()) * (sharing.edges - static_cast<Count>(own.size()));
  }

  // What so many of so many say; worked out once for all small numbers.
  const Piece& worth_of(Count count, Count others) {
    const auto worth = [&] {
      return Piece(static_cast<double>(count) /
                   (static_cast<double>(others) + asking_.manner.doubt));
    };
    if (others >= few_others) return worth_ = worth();
    Piece& known = worths_[static_cast<std::size_t>(others * few_others + count)];
    if (known.worth == 0) known = worth();
    return known;
  }

  // Whether the answer would be spoken for by itself: by the fact that it is one.
  bool is_among(std::span<const Fact> facts, Id answer) const {
    const std::pair itself(asking_.relation, answer);
    const auto key = [](const Fact& fact) { return std::pair(fact.relation, fact.tail); };
    const auto at = std::ranges::lower_bound(facts, itself, {}, key);
    return at != facts.end() && key(*at) == itself;
  }

  Count cost(const Fact& fact) const {
    return static_cast<Count>(fact.sharers.size()) * cost_of_one_;
  }

  // What all who share the fact answer; the one that asks is among them.
  const Sharing& kept(const Fact& fact) {
    if (kept_size_ > most) {
      kept_.clear();
      kept_size_ = 0;
    }
    const auto [at, is_new] = kept_.try_emplace(static_cast<std::uint64_t>(fact.relation) << 32 |
                                                static_cast<std::uint32_t>(fact.tail));
    if (is_new) {
      count(fact.sharers, -1, at->second);
      kept_size_ += at->second.given.size();
    }
    return at->second;
  }

  // What all who share a fact answer, but for one of them, if at least `support` do.
  void count(Ids sharers, Id but_for, Sharing& sharing) {
    const auto given_by = [&](Id other) {
      return other == but_for ? Ids{} : asking_.graph.tails(other, asking_.relation);
    };
    sharing = {0, static_cast<Count>(sharers.size()), std::move(sharing.given)};
    sharing.given.clear();
    const std::uint32_t nobody = tally_.none(sharers.size()),
                        enough = nobody + static_cast<std::uint32_t>(asking_.manner.support);
    for (Id other : sharers) {
      const Ids given = given_by(other);
      steps_.take(1 + std::ssize(given));
      sharing.edges += static_cast<Count>(given.size());
      sharing.others += !given.empty();
      for (Id answer : given)
        if ((tally_.of[answer] = std::max(tally_.of[answer], nobody) + 1) == enough)
          sharing.given.push_back({0, answer});
    }
    for (auto& [count, answer] : sharing.given) count = tally_.of[answer] - nobody;
  }

  static constexpr Count few_others = 64;
  static constexpr std::size_t few = 16;        // sharing a fact
  static constexpr std::size_t most = 1 << 20;  // answers that are remembered

  const Asking& asking_;
  Workspace::Tallies& tally_;
  const bool keep_;
  Steps steps_;
  Count cost_of_one_ = 1;
  std::vector<Fact> facts_, chosen_;
  Sharing sharing_;
  Piece worth_;
  std::vector<Piece> worths_ = std::vector<Piece>(few_others * few_others);
  std::unordered_map<std::uint64_t, Sharing> kept_;  // by fact, for all
  std::size_t kept_size_ = 0;
};

}  // namespace casegraph
