// The edges of one relation, grouped by head (compressed sparse rows), with an index of the heads.
//
// Row i holds the tails of heads[i], sorted: tails[offsets[i] .. offsets[i + 1]). Only entities
// with edges have a row.
//
// Problem: from an entity to its row in constant time, without an array of all entities for each of
// maybe thousands of relations. Two indexes, of at most about eight bytes a row:
//
//   common relation   one bit for each entity, with the number of bits before each word of 64. The
//                     row of an entity is the number of bits before its own: a population count
//                     (a rank structure on a bitset, Jacobson 1989).
//   rare relation     the ids are cut into stretches, up to two for each row, and each knows where
//                     its rows begin. The row is looked for in one stretch.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "common/fetch.hpp"
#include "common/ids.hpp"

namespace casegraph {

// A sum of hashes over the heads of all edges, and another over their tails. A relation and its
// inverse have them the other way round: so both give every entity equally many edges.
struct EdgeDigest {
  std::uint64_t heads = 0;
  std::uint64_t tails = 0;
};

class Edges {
 public:
  // owner  keeps the arrays alive
  Edges(Ids heads, Ids offsets, Ids tails, std::shared_ptr<const void> owner);

  // The tails of an entity; empty if it has none.
  Ids of(Id entity) const {
    const std::size_t row = row_of(entity);
    return row == heads.size() ? Ids{} : this->row(row);
  }

  // The row of an entity, or `heads.size()` if it has none.
  std::size_t row_of(Id entity) const {
    if (index_.empty())
      return row_in_stretch(entity);
    const auto word = static_cast<std::size_t>(entity) >> 6;
    if (word >= index_.size())
      return heads.size();
    const auto bit = std::uint64_t{1} << (entity & 63);
    if (!(index_[word].bits & bit))
      return heads.size();
    const int before_in_word = std::popcount(index_[word].bits & (bit - 1));
    return index_[word].before + static_cast<std::size_t>(before_in_word);
  }

  // Ask for the memory that tells the row of an entity, ahead of its use.
  CASEGRAPH_INLINE void fetch_row_of(Id entity) const {
    const auto word = static_cast<std::size_t>(entity) >> 6;
    const auto stretch = static_cast<std::size_t>(entity) >> shift_;
    if (word < index_.size())
      fetch(&index_[word]);
    else if (stretch < stretches_.size())
      fetch(&stretches_[stretch]);
  }

  // Whether an entity has edges.
  bool has(Id entity) const {
    if (index_.empty())
      return row_in_stretch(entity) != heads.size();
    const auto word = static_cast<std::size_t>(entity) >> 6;
    return word < index_.size() && (index_[word].bits >> (entity & 63) & 1);
  }

  Ids row(std::size_t at) const {
    const auto length = static_cast<std::size_t>(offsets[at + 1] - offsets[at]);
    return {tails.data() + offsets[at], length};
  }

  bool holds(Id head, Id tail) const;

  std::size_t index_bytes() const {
    return index_.size() * sizeof(Word) + stretches_.size() * sizeof(Id);
  }

  const Ids heads, offsets, tails;
  const Id largest;  // id of a head or tail; -1 if there are no edges
  const EdgeDigest digest;
  const std::uint64_t serial;  // no other edges of this process have it

 private:
  static constexpr std::size_t few_rows = 4;

  struct Word {
    std::uint64_t bits = 0;
    std::uint64_t before = 0;  // bits of all words before this one
  };

  // Bisection down to a few rows, then one after the other: most stretches have none or one.
  std::size_t row_in_stretch(Id entity) const {
    const auto stretch = static_cast<std::size_t>(entity) >> shift_;
    if (stretch + 1 >= stretches_.size())
      return heads.size();
    auto first = static_cast<std::size_t>(stretches_[stretch]);
    auto last = static_cast<std::size_t>(stretches_[stretch + 1]);
    while (last - first > few_rows) {
      const std::size_t middle = first + (last - first) / 2;
      (heads[middle] <= entity ? first : last) = middle;
    }
    for (; first < last; ++first)
      if (heads[first] == entity)
        return first;
    return heads.size();
  }

  void index_bits();
  void index_stretches();

  std::vector<Word> index_;  // of a common relation
  // Of a rare relation: the first row of each 2^shift_ ids, and the end.
  std::vector<Id> stretches_;
  int shift_ = 0;
  std::shared_ptr<const void> owner_;
};

}  // namespace casegraph
