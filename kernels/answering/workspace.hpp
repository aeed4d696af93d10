// The arrays that queries work with, kept from one query to the next.
//
// Making arrays as long as there are entities would take longer than most queries.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "answering/candidates.hpp"
#include "answering/fact_similarity.hpp"
#include "counting/frontier.hpp"

namespace casegraph {

// A count for each entity, all set to zero at once in constant time.
//
// Counts are offset by a base that rises from one use to the next: values up to the base count as
// zero, so the array need not be cleared.
struct EpochCounts {
  std::vector<std::uint32_t> of;
  std::uint32_t next_base = 0;

  // The base for the next use, in which no count will exceed `most`.
  std::uint32_t renew(std::size_t most) {
    if (next_base > UINT32_MAX - 2 * most) {
      std::fill(of.begin(), of.end(), 0);
      next_base = 0;
    }
    const std::uint32_t base = next_base;
    next_base += static_cast<std::uint32_t>(most);
    return base;
  }
};

// A sum for each entity, all set to zero at once, and the entities that have one.
class EpochSums {
 public:
  explicit EpochSums(std::size_t entities) : marks_(entities), sums_(entities) {}

  void renew() {
    marks_.renew();
    touched_.clear();
  }
  void add(Id entity, Count count) {
    if (marks_.insert(entity)) {
      touched_.push_back(entity);
      sums_[entity] = 0;
    }
    sums_[entity] += count;
  }
  Count of(Id entity) const { return marks_.has(entity) ? sums_[entity] : 0; }
  Ids touched() const { return touched_; }

 private:
  Stamps marks_;
  std::vector<Count> sums_;
  std::vector<Id> touched_;
};

// What one query at a time needs; it leaves nothing there that the next could use.
struct Workspace {
  explicit Workspace(std::size_t entities)
      : candidates(entities),
        stamps(entities),
        answers(entities),
        is_full(entities),
        has_asker(entities),
        counts{std::vector<std::uint32_t>(entities)},
        likeness(entities) {}

  // Whether a node of the trie was walked in the query at hand, and where that led.
  struct Visit {
    std::uint32_t epoch = 0;
    std::int32_t frontier = -1;  // in `frontiers`; -1 if nowhere
  };

  Candidates candidates;
  Stamps stamps;
  Stamps answers;  // the known answers of the query at hand
  Bits is_full;    // candidates that have room for no more pieces of a kind; empty between queries
  Bits has_asker;  // entities that are an answer; empty between queries, likewise
  EpochCounts counts;
  EpochSums likeness;
  std::vector<Count> walks;  // by entity
  std::vector<Visit> visits;
  std::uint32_t epoch = 0;  // of the query at hand
  std::deque<Frontier> frontiers;
};

// The workspaces of one graph that wait for the next queries: as many as ever worked at once.
class Workspaces {
 public:
  std::unique_ptr<Workspace> take(std::size_t entities);
  void give_back(std::unique_ptr<Workspace> used);

  // How alike entities of the graph are; the same for all queries.
  //
  // living  how many entities have facts
  const FactSimilarity& similarity(std::size_t entities, Count living);

 private:
  // Paths that a waiting workspace may hold: 16 megabytes. Few queries need more.
  static constexpr std::size_t most_held = 1 << 20;

  std::mutex guard_;
  std::vector<std::unique_ptr<Workspace>> waiting_;  // all for the same number of entities
  std::unique_ptr<const FactSimilarity> similarity_;
};

}  // namespace casegraph
