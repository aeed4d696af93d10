// Average-linkage clustering of weighted relation sets by the nearest-neighbour chain (§2.2.2).
#pragma once

#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace casegraph {

// A binary tree: the leaves are the sets given, 0 .. sets - 1; node sets + i joins left[i] and
// right[i].
struct Tree {
  std::vector<Id> left, right;
};

// offsets, relations  the sets, set i being relations[offsets[i] .. offsets[i + 1]), sorted, none
// empty members             (sets)  how many entities have each set
//
// The similarity of two sets is their cosine. Sums of similarities between clusters are kept, so
// that joining two adds their rows. Equal similarities, to within 1e-12, fall to the set that was
// given first: the order given is the rule. Takes O(sets²) time and 8 · sets² / 2 bytes.
Tree average_linkage(std::span<const std::int64_t> offsets, Ids relations,
                     std::span<const Count> members, Progress& progress);

}  // namespace casegraph
