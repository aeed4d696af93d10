#include "graph/keys.hpp"

#include <algorithm>

#include "common/radix_sort.hpp"

namespace casegraph {
namespace {

// As a number without a sign, in the same order.
std::uint64_t unsigned_key(Count key) {
  return static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63;
}

template <class Digits>
std::vector<Count> sorted(std::span<const Count> keys, Progress& progress, const Digits& digits) {
  Steps steps(progress);
  std::vector<Count> in_order(keys.begin(), keys.end());
  std::vector<Count> buffer;
  sort_by(in_order, buffer, steps, digits);
  return in_order;
}

}  // namespace

std::vector<Count> distinct_keys(std::span<const Count> keys, Progress& progress) {
  // Not the function itself: a pointer to it would be called for every key.
  const auto digits = [](Count key) { return unsigned_key(key); };
  std::vector<Count> found = sorted(keys, progress, digits);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<Count> keys_by_head(std::span<const Count> keys, Progress& progress) {
  return sorted(keys, progress, [](Count key) { return unsigned_key(key) >> 32; });
}

}  // namespace casegraph
