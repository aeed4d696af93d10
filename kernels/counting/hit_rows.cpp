#include "counting/hit_rows.hpp"

#include <array>
#include <bit>
#include <tuple>

namespace casegraph {
namespace {

// Sort by a key, rows with equal keys staying in order (least significant digit first).
//
// A digit has 11 bits: its counts take 16 kilobytes, which is half of a first-level cache. Bits
// that are the same in all rows are skipped.
template <class Key>
void sort_by(std::vector<Hits>& rows, std::vector<Hits>& buffer, Steps& steps, const Key& key) {
  constexpr int width = 11;
  constexpr std::uint64_t digit_mask = (1 << width) - 1;

  std::uint64_t in_some = 0, in_all = ~std::uint64_t{0};
  for (const Hits& row : rows) {
    steps.take();
    in_some |= key(row);
    in_all &= key(row);
  }
  buffer.resize(rows.size());
  for (std::uint64_t differing = in_some & ~in_all; differing != 0;) {
    const int low = std::countr_zero(differing);
    const auto digit = [&](const Hits& row) { return key(row) >> low & digit_mask; };
    std::array<std::size_t, (1 << width) + 1> next{};
    for (const Hits& row : rows) ++next[digit(row) + 1];
    for (std::size_t value = 1; value < next.size(); ++value) next[value] += next[value - 1];
    for (const Hits& row : rows) {
      steps.take();
      buffer[next[digit(row)]++] = row;
    }
    rows.swap(buffer);
    differing &= ~(digit_mask << low);
  }
}

auto key_of(const Hits& row) { return std::tie(row.cluster, row.relation, row.type); }

void sort(std::vector<Hits>& rows, Steps& steps) {
  constexpr std::size_t few = 1 << 10;  // fewer rows than half the counts of a digit
  if (rows.size() < few) {
    const auto comes_before = [](const Hits& a, const Hits& b) { return key_of(a) < key_of(b); };
    std::sort(rows.begin(), rows.end(), comes_before);
    return;
  }
  const auto type = [](const Hits& row) { return static_cast<std::uint64_t>(row.type); };
  const auto relation = [](const Hits& row) { return static_cast<std::uint64_t>(row.relation); };
  const auto cluster = [](const Hits& row) {
    return static_cast<std::uint64_t>(row.cluster + 1);  // clusters begin at -1
  };
  std::vector<Hits> buffer;
  sort_by(rows, buffer, steps, type);
  sort_by(rows, buffer, steps, relation);
  sort_by(rows, buffer, steps, cluster);
}

}  // namespace

std::vector<Hits> merged(std::vector<Hits> rows, Steps& steps) {
  sort(rows, steps);
  std::size_t kept = 0;
  for (const Hits& row : rows) {
    if (kept > 0 && key_of(rows[kept - 1]) == key_of(row))
      rows[kept - 1].hits += row.hits;
    else
      rows[kept++] = row;
  }
  rows.resize(kept);
  return rows;
}

}  // namespace casegraph
