// The edges of one entity, looked up by where they lead: for one entity after the other.
//
// Problem: to find triangles, millions of entities are looked up among the neighbours of an entity,
// and few are found. An array with a place for every entity of the graph answers each lookup from
// main memory, and so it is written.
//
// Idea: a hash table that is as large as the edges at hand need (open addressing with linear
// probing, at most half full), with a filter before it: one bit for each remainder of ids, in 16
// kilobytes, which is half of a first-level cache. If the bit is not set, nothing leads there (a
// Bloom filter with one hash function, Bloom 1970). Where an entity has a few thousand edges, one
// lookup in twenty passes the filter by chance, and the table decides.
//
// Invariant: between two entities the table and the filter are empty.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "common/progress.hpp"
#include "graph/graph.hpp"

namespace casegraph {

class NeighbourTable {
 public:
  // Put in the edges of an entity; edges to itself lead to no neighbour.
  void fill(const Adjacency& all, Id entity, Steps& steps) {
    const std::int64_t begin = all.offsets[entity], end = all.offsets[entity + 1];
    const auto edges = static_cast<std::size_t>(end - begin);
    in_use_ = std::bit_ceil(2 * edges + 1);
    if (entries_.size() < in_use_)
      entries_.resize(in_use_);
    steps.take(2 * (end - begin));
    for (std::int64_t edge = begin; edge < end; ++edge)
      if (all.tails[edge] != entity)
        insert(all.tails[edge], all.relations[edge]);
  }

  // Whether edges may lead there; if not, none does.
  bool may_have(Id entity) const {
    const std::uint32_t bit = filter_bit(entity);
    return filter_[bit >> 6] >> (bit & 63) & 1;
  }

  // Call `use(relation)` for every edge that leads there.
  template <class Use>
  void each_relation(Id entity, const Use& use) const {
    for (std::size_t place = first_place(entity); entries_[place].tail >= 0; place = next(place))
      if (entries_[place].tail == entity)
        use(entries_[place].relation);
  }

  // Empty it, after `fill` with the same entity.
  void clear(const Adjacency& all, Id entity) {
    std::fill_n(entries_.begin(), in_use_, Entry{});
    for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge)
      filter_[filter_bit(all.tails[edge]) >> 6] = 0;
  }

 private:
  static constexpr std::uint32_t filter_bits = 1 << 17;

  struct Entry {
    Id tail = -1;  // the entry is free
    Id relation = -1;
  };

  static std::uint32_t filter_bit(Id entity) {
    return static_cast<std::uint32_t>(entity) & (filter_bits - 1);
  }

  // Fibonacci hashing, as in common/tally.hpp.
  std::size_t first_place(Id entity) const {
    const std::uint64_t product = static_cast<std::uint64_t>(entity) * 0x9E3779B97F4A7C15u;
    return (product >> 20) & (in_use_ - 1);
  }
  std::size_t next(std::size_t place) const { return (place + 1) & (in_use_ - 1); }

  void insert(Id tail, Id relation) {
    std::size_t place = first_place(tail);
    while (entries_[place].tail >= 0)
      place = next(place);
    entries_[place] = {tail, relation};
    const std::uint32_t bit = filter_bit(tail);
    filter_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
  }

  std::vector<Entry> entries_;  // free beyond those in use
  std::size_t in_use_ = 1;      // a power of two
  std::array<std::uint64_t, filter_bits / 64> filter_{};
};

}  // namespace casegraph
