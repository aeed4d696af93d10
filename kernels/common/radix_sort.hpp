// Sorting many rows by an integer: a radix sort, which takes a few passes however they are ordered.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "common/progress.hpp"

namespace casegraph {

// For fewer rows than this, comparing them takes less than adding up the counts of the digits.
constexpr std::size_t few_rows = 1 << 8;

// Give a buffer this size. The first use of so much memory takes as long as a pass over it, so it
// can be stopped in the middle.
template <class Row>
void make_room(std::vector<Row>& buffer, std::size_t size, Steps& steps) {
  constexpr std::size_t part = Steps::between_checks;
  buffer.reserve(size);
  while (buffer.size() < size) {
    buffer.resize(std::min(size, buffer.size() + part));
    steps.take(part);
  }
  buffer.resize(size);
}

// Call `visit(row)` for all rows. It can be stopped in the middle, after so many rows that counting
// them does not slow it down.
template <class Row, class Visit>
void each_row(const std::vector<Row>& rows, Steps& steps, const Visit& visit) {
  constexpr std::size_t part = Steps::between_checks;
  for (std::size_t begin = 0; begin < rows.size(); begin += part) {
    const std::size_t end = std::min(rows.size(), begin + part);
    steps.take(static_cast<std::int64_t>(end - begin));
    for (std::size_t at = begin; at < end; ++at)
      visit(rows[at]);
  }
}

// Sort by a key, rows with equal keys staying in order (least significant digit first).
//
// A digit has up to 11 bits: its counts take 16 kilobytes, which is half of a first-level cache.
// Bits that are the same in all rows are skipped.
//
// buffer  for the rows, to be used again
template <class Row, class Key>
void sort_by(std::vector<Row>& rows, std::vector<Row>& buffer, Steps& steps, const Key& key) {
  constexpr int most_bits = 11;
  constexpr std::uint64_t widest_mask = (1 << most_bits) - 1;
  if (rows.size() < few_rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const Row& a, const Row& b) { return key(a) < key(b); });
    return;
  }

  std::uint64_t in_some = 0, in_all = ~std::uint64_t{0};
  each_row(rows, steps, [&](const Row& row) {
    in_some |= key(row);
    in_all &= key(row);
  });
  make_room(buffer, rows.size(), steps);
  for (std::uint64_t differing = in_some & ~in_all; differing != 0;) {
    const int low = std::countr_zero(differing);
    const int bits = static_cast<int>(std::bit_width(differing >> low & widest_mask));
    const std::uint64_t digit_mask = (std::uint64_t{1} << bits) - 1;
    const auto digit = [&](const Row& row) { return key(row) >> low & digit_mask; };
    std::array<std::size_t, (1 << most_bits) + 1> next;
    std::fill_n(next.begin(), digit_mask + 2, 0);
    each_row(rows, steps, [&](const Row& row) { ++next[digit(row) + 1]; });
    for (std::size_t value = 1; value <= digit_mask; ++value)
      next[value] += next[value - 1];
    each_row(rows, steps, [&](const Row& row) { buffer[next[digit(row)]++] = row; });
    rows.swap(buffer);
    differing &= ~(digit_mask << low);
  }
}

}  // namespace casegraph
