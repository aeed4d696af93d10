#include "counting/hit_rows.hpp"

#include <array>
#include <tuple>

namespace casegraph {
namespace {

// Sort by a key, rows with equal keys staying in order: from its lowest bits to its highest, by as
// many at once as can be counted in a small array. Bits that are the same in all rows are passed
// over.
template <class Key>
void sort_by(std::vector<Hits>& rows, std::vector<Hits>& room, Steps& steps, const Key& key) {
  constexpr int width = 11;
  std::uint64_t some = 0, all = ~std::uint64_t{0};
  for (const Hits& row : rows) {
    steps.take();
    some |= key(row);
    all &= key(row);
  }
  room.resize(rows.size());
  for (std::uint64_t differing = some & ~all; differing != 0;) {
    const int low = std::countr_zero(differing);
    const auto digit = [&](const Hits& row) { return key(row) >> low & ((1 << width) - 1); };
    std::array<std::size_t, (1 << width) + 1> next{};
    for (const Hits& row : rows) ++next[digit(row) + 1];
    for (std::size_t value = 1; value < next.size(); ++value) next[value] += next[value - 1];
    for (const Hits& row : rows) {
      steps.take();
      room[next[digit(row)]++] = row;
    }
    rows.swap(room);
    differing &= ~(std::uint64_t{(1 << width) - 1} << low);
  }
}

auto key(const Hits& row) { return std::tie(row.cluster, row.relation, row.type); }

void sort(std::vector<Hits>& rows, Steps& steps) {
  if (rows.size() < 1 << 10)
    return std::sort(rows.begin(), rows.end(),
                     [](const Hits& a, const Hits& b) { return key(a) < key(b); });
  std::vector<Hits> room;
  sort_by(rows, room, steps, [](const Hits& row) { return static_cast<std::uint64_t>(row.type); });
  sort_by(rows, room, steps,
          [](const Hits& row) { return static_cast<std::uint64_t>(row.relation); });
  sort_by(rows, room, steps, [](const Hits& row) {
    return static_cast<std::uint64_t>(row.cluster + 1);
  });  // from -1 on
}

}  // namespace

std::vector<Hits> merged(std::vector<Hits> rows, Steps& steps) {
  sort(rows, steps);
  std::size_t kept = 0;
  for (const Hits& row : rows)
    if (kept > 0 && key(rows[kept - 1]) == key(row))
      rows[kept - 1].hits += row.hits;
    else
      rows[kept++] = row;
  rows.resize(kept);
  return rows;
}

}  // namespace casegraph
