#include "counting/hit_rows.hpp"

#include <tuple>

#include "common/radix_sort.hpp"

namespace casegraph {
namespace {

auto key_of(const Hits& row) {
  return std::tie(row.cluster, row.relation, row.type);
}

void sort(std::vector<Hits>& rows, Steps& steps) {
  if (rows.size() < few_rows) {
    const auto comes_before = [](const Hits& a, const Hits& b) { return key_of(a) < key_of(b); };
    std::sort(rows.begin(), rows.end(), comes_before);
    return;
  }
  const auto cluster_and_relation = [](const Hits& row) {
    const auto cluster = static_cast<std::uint64_t>(row.cluster + 1);  // clusters begin at -1
    return cluster << 32 | static_cast<std::uint64_t>(row.relation);
  };
  std::vector<Hits> buffer;
  sort_by(rows, buffer, steps, cluster_and_relation);

  // The types of one cluster and relation at a time: most such parts fit into the cache.
  const auto type = [](const Hits& row) { return static_cast<std::uint64_t>(row.type); };
  std::vector<Hits> part;
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto is_of_part = [&](const Hits& row) {
      return row.cluster == begin->cluster && row.relation == begin->relation;
    };
    const auto end = std::find_if_not(begin, rows.end(), is_of_part);
    steps.take(end - begin);
    if (end - begin < std::ptrdiff_t{few_rows}) {
      std::sort(begin, end, [](const Hits& a, const Hits& b) { return a.type < b.type; });
    } else {
      part.assign(begin, end);
      sort_by(part, buffer, steps, type);
      std::copy(part.begin(), part.end(), begin);
    }
    begin = end;
  }
}

}  // namespace

std::vector<Hits> merged(std::vector<Hits> rows, Steps& steps) {
  sort(rows, steps);
  std::size_t kept = 0;
  for (const Hits& row : rows) {
    steps.take();
    if (kept > 0 && key_of(rows[kept - 1]) == key_of(row))
      rows[kept - 1].hits += row.hits;
    else
      rows[kept++] = row;
  }
  rows.resize(kept);
  return rows;
}

}  // namespace casegraph
