// Average-linkage clustering (HAC) of weighted relation sets (§2.2.2).
//
// Problem: always joining the two most similar clusters takes a search over all pairs for each
// join. Idea: the nearest-neighbour chain (Benzécri 1982, Murtagh 1983). Follow nearest neighbours
// from any cluster until two are each other's nearest, and join them. Average linkage is reducible,
// so joins elsewhere do not change that, and the tree is the same.
//
// Sums of similarities between clusters are kept, so that joining two clusters adds their rows
// (Lance and Williams 1967).
#pragma once

#include <span>
#include <vector>

#include "common/ids.hpp"
#include "common/progress.hpp"

namespace casegraph {

// A binary tree. Its leaves are the sets given, 0 .. sets - 1; node sets + i joins left[i] and
// right[i].
struct Tree {
  std::vector<Id> left;
  std::vector<Id> right;
};

// offsets, relations  set i is relations[offsets[i] .. offsets[i + 1]), sorted, not empty
// members             (sets)  how many entities have each set
//
// The similarity of two sets is their cosine. Of equal similarities the set that was given first
// wins. Similarities within 1e-12 count as equal: beyond that, sums depend on the order of
// addition. Takes O(sets²) time and 8 · sets² / 2 bytes.
Tree average_linkage(std::span<const std::int64_t> offsets, Ids relations,
                     std::span<const Count> members, Progress& progress);

}  // namespace casegraph
