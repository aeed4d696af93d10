// The arrays that queries work with, kept from one query to the next.
//
// Making arrays as long as there are entities would take longer than most queries.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "answering/candidates.hpp"
#include "answering/ridge.hpp"
#include "common/parallel.hpp"
#include "counting/frontier.hpp"

namespace casegraph {

// A sum for each entity, and the entities that have one.
class Sums {
 public:
  explicit Sums(std::size_t entities) : sums_(entities), touched_(entities + 1) {}

  std::size_t entities() const { return sums_.size(); }

  // Make all sums zero.
  void renew() {
    for (Id entity : touched())
      sums_[entity] = 0;
    touched_count_ = 0;
  }

  // Add a number that is not negative to the sums of some entities.
  //
  // Whether an entity is new is hard to guess, and so no branch depends on it: every entity is
  // written behind those that have a sum, and stays there if it is new.
  void add(Ids entities, Count count) {
    if (count == 0)
      return;
    Count* const sums = sums_.data();
    Id* const touched = touched_.data();
    std::size_t end = touched_count_;
    for (Id entity : entities) {
      touched[end] = entity;
      end += sums[entity] == 0;
      sums[entity] += count;
    }
    touched_count_ = end;
  }

  // No more than its sum. Nothing may be added afterwards.
  void subtract(Id entity, Count count) { sums_[entity] -= count; }

  Count of(Id entity) const { return sums_[entity]; }

  // All whose sum is not zero, and those whose sum was subtracted from.
  Ids touched() const { return Ids(touched_).first(touched_count_); }

 private:
  std::vector<Count> sums_;
  std::vector<Id> touched_;  // and room for one more
  std::size_t touched_count_ = 0;
};

// Remembers what pieces of evidence are worth, since a logarithm takes longer than a lookup.
class KnownWorths {
 public:
  const Worth& of(double worth) {
    constexpr int bits = 10;
    const auto hash = std::bit_cast<std::uint64_t>(worth) * 0x9E3779B97F4A7C15u >> (64 - bits);
    static_assert(1 << bits == size);
    Worth& known = worths_[hash];
    if (known.value != worth)
      known = Worth(worth);
    return known;
  }

 private:
  static constexpr std::size_t size = 1024;
  std::vector<Worth> worths_ = std::vector<Worth>(size);
};

// What one query at a time needs; it leaves nothing there that would change the next one.
struct alignas(own_lines) Workspace {
  explicit Workspace(std::size_t entities)
      : candidates(entities),
        stamps(entities),
        answers(entities),
        linked(entities),
        nearness(entities) {}

  // Whether a node of the trie was walked in the query at hand, and where that led.
  struct Visit {
    std::uint32_t epoch = 0;
    std::int32_t frontier = -1;  // in `frontiers`; -1 if nowhere
  };

  Candidates candidates;
  Stamps stamps;
  Marks answers;  // the known answers of the query at hand
  Marks linked;   // the entities that a fact links to its entity, if they may not be answers
  Sums nearness;
  Ridge ridge;
  KnownWorths worths;
  std::vector<Count> walks;  // by entity
  std::vector<Visit> visits;
  std::uint32_t epoch = 0;  // of the query at hand
  std::deque<Frontier> frontiers;
};

// The workspaces that wait for the next queries: as many as ever worked at once.
class Workspaces {
 public:
  Workspaces() : pool_(std::make_shared<Pool>()) {}

  // For another state of the graph: the same workspaces, since making them takes longer than most
  // queries.
  std::unique_ptr<Workspaces> of_another_state() const;

  std::unique_ptr<Workspace> take(std::size_t entities);
  void give_back(std::unique_ptr<Workspace> used);

 private:
  struct Pool {
    std::mutex guard;
    std::vector<std::unique_ptr<Workspace>> waiting;  // all for the same number of entities
  };

  // Paths that a waiting workspace may hold: 16 megabytes. Few queries need more.
  static constexpr std::size_t most_held = 1 << 20;

  const std::shared_ptr<Pool> pool_;

  explicit Workspaces(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
};

}  // namespace casegraph
