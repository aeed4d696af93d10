// The edges of a relation as a matrix of bits, cut into tiles that stay in the cache.
//
// Problem: where a step leads from a few entities is the union of a few rows of tails. Long rows
// are joined 64 tails at a time, as bitsets. But those of all rows together do not fit into the
// cache, so joining them waits for memory.
//
// Idea: a blocked matrix product. The tails are cut into stretches of 2,048. A row of a tile has
// 256 bytes, and the rows of a few thousand entities fit into the cache. So many starts take the
// step to the tails of one tile before any of them goes on to the next.
#pragma once

#include <array>

#include "common/large_vector.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// Some of the 2,048 tails of a tile.
struct alignas(64) TileRow {
  static constexpr std::size_t words = 32;
  static constexpr std::size_t size = 64 * words;

  std::array<std::uint64_t, words> bits{};

  bool has(std::size_t place) const { return bits[place >> 6] >> (place & 63) & 1; }
  void insert(std::size_t place) { bits[place >> 6] |= std::uint64_t{1} << (place & 63); }
  void erase(std::size_t place) { bits[place >> 6] &= ~(std::uint64_t{1} << (place & 63)); }
};

// Join some rows of a tile, and count what is joined.
//
// rows    places in the tile
// barred  a tail that does not belong to it; `TileRow::size` for none
// masks   other sets of tails of the tile
// counts  (1 + masks)  to which the size of the union is added, then what it has of each mask
TileRow join_rows(std::span<const TileRow> tile, Ids rows, std::size_t barred,
                  std::span<const TileRow> masks, std::span<std::int32_t> counts);

// Tails are numbered by their rows among the edges of the inverse relation, as in
// tail_bitsets.hpp: tile k has those from k · 2,048 on. Edges from an entity to itself are left
// out.
class TailTiles {
 public:
  TailTiles(const Edges& edges, const Edges& back, Steps& steps);

  // How many there are, and what they take in memory.
  static std::size_t tiles_of(const Edges& back) {
    return (back.heads.size() + TileRow::size - 1) / TileRow::size;
  }
  static std::size_t bytes_of(const Edges& edges, const Edges& back) {
    return tiles_of(back) * edges.heads.size() * sizeof(TileRow);
  }

  std::size_t tiles() const { return tiles_of(back_); }

  // A row for each head of the relation.
  std::span<const TileRow> tile(std::size_t at) const {
    return std::span(rows_).subspan(at * heads_, heads_);
  }

  // The place of a tail in a tile, or `TileRow::size` if it is not there.
  static std::size_t place(std::size_t number, std::size_t at) {
    const std::size_t first = at * TileRow::size;
    const bool is_there = number >= first && number < first + TileRow::size;
    return is_there ? number - first : TileRow::size;
  }

 private:
  const Edges& back_;
  const std::size_t heads_;
  LargeVector<TileRow> rows_;  // by tile, then by row of the relation
};

}  // namespace casegraph
