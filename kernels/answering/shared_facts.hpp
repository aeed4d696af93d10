// Precedents by shared facts: the answers of entities that share a fact with the query entity.
//
// For a fact (relation, tail) of the query entity: of the other entities that have this fact and
// the query relation, how many answer a? At least `support` of them must, and the worth of the
// piece of evidence is count / (others + doubt).
#pragma once

#include <bit>
#include <unordered_map>

#include "answering/relation_query.hpp"
#include "answering/workspace.hpp"

namespace casegraph {

class SharedFacts {
 public:
  // Facts are grouped by the bit width of their number of sharers: class w has from 2^(w-1) to
  // 2^w - 1 of them. All classes:
  static constexpr int every_class = 64;

  // counts  of entities
  // keep    remember what is found for a fact that many share, for the next queries
  SharedFacts(const RelationQuery& query, EpochCounts& counts, bool keep, Progress& progress)
      : query_(query), counts_(counts), keep_(keep), steps_(progress) {
    const Edges& answers = query.graph.edges(query.relation);
    if (!answers.heads.empty())
      cost_of_sharer_ += static_cast<Count>(answers.tails.size() / answers.heads.size());
  }

  // Find the facts (relation, tail) of an entity for which `is_seen` holds.
  template <class IsSeen>
  void find(Id entity, const IsSeen& is_seen) {
    facts_.clear();
    const Graph& graph = query_.graph;
    steps_.take(std::ssize(graph.relations));
    for (Id relation = 0; relation < static_cast<Id>(graph.relations.size()); ++relation) {
      for (Id tail : graph.tails(entity, relation)) {
        steps_.take();
        if (!is_seen(relation, tail)) continue;
        facts_.push_back({relation, tail, graph.tails(tail, inverse(relation))});
      }
    }
  }

  // All facts that were found: call `use(sharers)` for each.
  template <class Use>
  void each_fact(const Use& use) const {
    for (const Fact& fact : facts_) use(fact.sharers);
  }

  // The edges that asking all sharers looks at, if each has as many answers as is usual.
  Count cost() const {
    Count total = 0;
    for (const Fact& fact : facts_) total += cost(fact);
    return total;
  }

  // If there are too many sharers for the budget, facts that fewest share come first. Returns the
  // largest class up to which the budget is enough for all facts. Whole classes, so that it does
  // not depend on the order of facts.
  int affordable_class(Count budget) const {
    std::array<Count, every_class + 1> cost_of_class{};
    for (const Fact& fact : facts_) cost_of_class[class_of(fact)] += cost(fact);
    int largest = 0;
    for (Count total = 0; largest <= every_class; ++largest) {
      total += cost_of_class[largest];
      if (total > budget) break;
    }
    return largest - 1;
  }

  // Call `use(piece of evidence, answer, times)` for what at least `support` others say,
  // for the facts up to a class. A fact says nothing for the answer that is this fact itself.
  // Returns the edges looked at.
  //
  // own         the known answers of the query entity, which is not asked itself
  // one_by_one  report each fact alone; otherwise facts with the same sharers, which say the same,
  //             are one piece of evidence, reported with how often it occurs
  template <class Use>
  Count each(int largest_class, Id entity, Ids own, bool one_by_one, const Use& use) {
    choose(largest_class);
    if (!one_by_one) sort_by_sharers();
    Count edges = 0;
    for (std::size_t begin = 0, end; begin < chosen_.size(); begin = end) {
      const Ids sharers = chosen_[begin].sharers;
      end = begin + 1;
      while (!one_by_one && end < chosen_.size() &&
             std::ranges::equal(chosen_[end].sharers, sharers))
        ++end;
      const auto facts = std::span<const Fact>(chosen_).subspan(begin, end - begin);
      if (keep_ && sharers.size() > std::max(own.size(), few_sharers)) {
        edges += report(facts, remembered(facts.front()), own, use);
      } else {
        count(sharers, entity, sharing_);
        edges += report(facts, sharing_, {}, use);
      }
    }
    return edges;
  }

 private:
  struct Fact {
    Id relation, tail;
    Ids sharers;  // all entities that have it, the query entity among them
  };

  // What the sharers of a fact answer.
  struct Sharing {
    Count others = 0;  // those that have the query relation
    Count edges = 0;   // that were looked at
    std::vector<Habit::Given> given;
  };

  static int class_of(const Fact& fact) {
    return static_cast<int>(std::bit_width(fact.sharers.size()));
  }

  Count cost(const Fact& fact) const {
    return static_cast<Count>(fact.sharers.size()) * cost_of_sharer_;
  }

  void choose(int largest_class) {
    chosen_.clear();
    for (const Fact& fact : facts_) {
      // The query entity is a sharer itself, so there must be one more than the support.
      const bool has_support = static_cast<Count>(fact.sharers.size()) > query_.options.support;
      if (has_support && class_of(fact) <= largest_class) chosen_.push_back(fact);
    }
  }

  // Facts with the same sharers come together, those of one group in order.
  void sort_by_sharers() {
    std::sort(chosen_.begin(), chosen_.end(), [&](const Fact& a, const Fact& b) {
      steps_.take(1 + std::ssize(a.sharers));  // they are compared as far as they agree
      const auto order = std::lexicographical_compare_three_way(a.sharers.begin(), a.sharers.end(),
                                                                b.sharers.begin(), b.sharers.end());
      if (order != 0) return order < 0;
      return std::pair(a.relation, a.tail) < std::pair(b.relation, b.tail);
    });
  }

  // own  what to subtract: the answers of the query entity, if it was counted among the sharers
  template <class Use>
  Count report(std::span<const Fact> facts, const Sharing& sharing, Ids own, const Use& use) {
    const Count others = sharing.others - !own.empty();
    const Fact& first = facts.front();
    Evidence evidence{Kind::shared_fact, first.relation, first.tail, -1, 0, others, Piece()};
    for (const auto& [given, answer] : sharing.given) {
      const Count count = given - std::binary_search(own.begin(), own.end(), answer);
      if (count < query_.options.support) continue;
      const std::size_t times = facts.size() - is_among(facts, answer);
      if (times == 0) continue;
      evidence.count = count;
      evidence.piece = piece_of(count, others);
      use(evidence, answer, times);
    }
    const Count edges = sharing.edges - static_cast<Count>(own.size());
    return static_cast<Count>(facts.size()) * edges;
  }

  // Remembers the worth of all small numbers, since a logarithm takes longer than a lookup.
  const Piece& piece_of(Count count, Count others) {
    const auto worth = [&] {
      const double all = static_cast<double>(others) + query_.options.doubt;
      return Piece(static_cast<double>(count) / all);
    };
    if (others >= few_others) return large_worth_ = worth();
    Piece& known = small_worths_[static_cast<std::size_t>(others * few_others + count)];
    if (known.worth == 0) known = worth();
    return known;
  }

  // Whether (query relation, answer) is one of the facts: an answer must not be evidence for
  // itself.
  bool is_among(std::span<const Fact> facts, Id answer) const {
    const auto key = [](const Fact& fact) { return std::pair(fact.relation, fact.tail); };
    const std::pair itself(query_.relation, answer);
    const auto at = std::ranges::lower_bound(facts, itself, {}, key);
    return at != facts.end() && key(*at) == itself;
  }

  // What all sharers of a fact answer, the query entity among them.
  const Sharing& remembered(const Fact& fact) {
    if (remembered_size_ > most_remembered) {
      remembered_.clear();
      remembered_size_ = 0;
    }
    const auto key =
        static_cast<std::uint64_t>(fact.relation) << 32 | static_cast<std::uint32_t>(fact.tail);
    const auto [at, is_new] = remembered_.try_emplace(key);
    if (is_new) {
      count(fact.sharers, -1, at->second);
      remembered_size_ += at->second.given.size();
    }
    return at->second;
  }

  // What the sharers of a fact answer, except for `excluded`: the answers that at least `support`
  // of them give.
  void count(Ids sharers, Id excluded, Sharing& sharing) {
    sharing = {0, static_cast<Count>(sharers.size()), std::move(sharing.given)};
    sharing.given.clear();
    const std::uint32_t zero = counts_.renew(sharers.size());
    const std::uint32_t enough = zero + static_cast<std::uint32_t>(query_.options.support);
    for (Id other : sharers) {
      const Ids given = other == excluded ? Ids{} : query_.graph.tails(other, query_.relation);
      steps_.take(1 + std::ssize(given));
      sharing.edges += static_cast<Count>(given.size());
      sharing.others += !given.empty();
      for (Id answer : given) {
        std::uint32_t& count = counts_.of[answer];
        count = std::max(count, zero) + 1;
        if (count == enough) sharing.given.push_back({0, answer});
      }
    }
    for (auto& [count, answer] : sharing.given) count = counts_.of[answer] - zero;
  }

  static constexpr Count few_others = 64;         // 64² worths of 16 bytes: 64 kilobytes
  static constexpr std::size_t few_sharers = 16;  // counting them again is as fast as a lookup
  static constexpr std::size_t most_remembered = 1 << 20;  // answers: 16 megabytes

  const RelationQuery& query_;
  EpochCounts& counts_;
  const bool keep_;
  Steps steps_;
  Count cost_of_sharer_ = 1;  // a lookup, and the answers that an entity has on average
  std::vector<Fact> facts_, chosen_;
  Sharing sharing_;  // of the facts at hand
  Piece large_worth_;
  std::vector<Piece> small_worths_ = std::vector<Piece>(few_others * few_others);
  std::unordered_map<std::uint64_t, Sharing> remembered_;  // by fact
  std::size_t remembered_size_ = 0;                        // answers
};

}  // namespace casegraph
