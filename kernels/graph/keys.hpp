// Sorting keys. A key is an edge as one number: its head in the upper 32 bits, its tail in the
// lower 32.
//
// Reading a large file sorts every edge twice, once for each direction. Ids are small numbers, so
// most bits of all keys are the same, and a radix sort takes a quarter of the time of comparisons.
#pragma once

#include <span>
#include <vector>

#include "common/ids.hpp"
#include "common/progress.hpp"

namespace casegraph {

// The distinct keys, sorted.
std::vector<Count> distinct_keys(std::span<const Count> keys, Progress& progress);

// The keys sorted by head only: those with the same head stay in order.
std::vector<Count> keys_by_head(std::span<const Count> keys, Progress& progress);

}  // namespace casegraph
