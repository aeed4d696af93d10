// The graph as the kernels see it: for every relation its edges, grouped by head, and all edges of an entity in one piece.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "progress.hpp"

namespace casegraph {

using Id = std::int32_t;
using Count = std::int64_t;
using Ids = std::span<const Id>;

// What one look at the edges of a relation tells, so that nobody needs to look at them again.
//
// digest             the sum of f(head) g(tail) over all edges, for two functions that take different values for different entities
// digest_of_inverse  the sum of f(tail) g(head): what the digest of the inverse relation must be
struct Survey {
  Survey(Ids heads, Ids offsets, Ids tails);

  bool rises = true;  // whether no tails of a head fall, and none is negative
  Id largest = -1;    // id of a head or tail; -1 if there is none
  std::uint64_t digest = 0, digest_of_inverse = 0;
};

// The edges of one relation: row i holds the tails of heads[i], sorted, at tails[offsets[i]..offsets[i + 1]).
//
// `of` finds the row of an entity in constant time where the relation is common: one bit an entity, with the number of
// bits before each word, so that the row is a population count. The ids of a rare relation's heads are cut into about as
// many stretches as there are rows, and bisection is left with one of them. Neither index takes more than eight bytes a row.
class Edges {
 public:
  Edges(Ids heads, Ids offsets, Ids tails, const Survey& survey, std::shared_ptr<const void> owner);

  Ids of(Id entity) const {
    const std::size_t row = row_of(entity);
    return row == heads.size() ? Ids{} : this->row(row);
  }
  // The row of an entity, or `heads.size()` if it has none.
  std::size_t row_of(Id entity) const {
    if (index_.empty()) return bisect(entity);
    const auto word = static_cast<std::size_t>(entity) >> 6;
    if (word >= index_.size()) return heads.size();
    const auto bit = std::uint64_t{1} << (entity & 63);
    if (!(index_[word].bits & bit)) return heads.size();
    return index_[word].before + static_cast<std::size_t>(std::popcount(index_[word].bits & (bit - 1)));
  }
  Ids row(std::size_t at) const {
    return {tails.data() + offsets[at], static_cast<std::size_t>(offsets[at + 1] - offsets[at])};
  }
  bool holds(Id head, Id tail) const;

  std::size_t index_bytes() const { return index_.size() * sizeof(Word) + stretches_.size() * sizeof(Id); }

  const Ids heads, offsets, tails;
  const Survey survey;

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint64_t before = 0;
  };
  std::size_t bisect(Id entity) const {
    auto first = heads.begin(), last = heads.end();
    if (!stretches_.empty()) {
      const auto stretch = static_cast<std::size_t>(entity >> shift_);
      if (stretch + 1 >= stretches_.size()) return heads.size();
      last = first + stretches_[stretch + 1];
      first += stretches_[stretch];
    }
    const auto at = std::lower_bound(first, last, entity);
    return at != last && *at == entity ? static_cast<std::size_t>(at - heads.begin()) : heads.size();
  }

  std::vector<Word> index_;
  std::vector<Id> stretches_;  // of a rare relation: the row where each stretch of 2^shift ids begins, and the end
  int shift_ = 0;
  std::shared_ptr<const void> owner_;
};

// A relation `r` and its inverse are neighbours: 2k and 2k + 1.
inline Id inverse(Id relation) { return relation ^ 1; }

struct Edge {
  Id head, relation, tail;
};

// All edges of every entity in one piece, sorted by (relation, tail): what path counting walks over.
struct Adjacency {
  std::vector<std::int64_t> offsets;  // (entities + 1)
  std::vector<Id> relations, tails;   // (edges)
};

class Graph {
 public:
  Graph(Id entities_, std::vector<std::shared_ptr<const Edges>> relations_)
      : entities(entities_), relations(std::move(relations_)) {}

  Ids tails(Id entity, Id relation) const { return relations[relation]->of(entity); }
  const Edges& edges(Id relation) const { return *relations[relation]; }
  // Made when first asked for; if that is interrupted, by whoever asks next.
  const Adjacency& adjacency(Steps& steps) const;

  const Id entities;
  const std::vector<std::shared_ptr<const Edges>> relations;

 private:
  mutable std::timed_mutex guard_;
  mutable std::atomic<bool> is_made_{false};
  mutable Adjacency adjacency_;
};

// The relations of each of `entities`, sorted: those of the i-th are relations[offsets[i] .. offsets[i + 1]).
struct Profiles {
  std::vector<std::int64_t> offsets;
  std::vector<Id> relations;
};
Profiles profiles(const Graph& graph, Ids entities, Progress& progress);

// How many walks of up to `length` edges leave each entity; as many as fit, if there are more.
std::vector<Count> walks_from_each(const Graph& graph, int length, Progress& progress);

}  // namespace casegraph
