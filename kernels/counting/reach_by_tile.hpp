// Reached and right of path types of two steps whose last relation is dense: the same sums as
// `reach`, 2,048 ends at a time.
//
// Problem: where a few hundred entities have tens of thousands of tails each, as anatomies have
// genes, the ends of one start are the union of long rows. Joined one start after the other, each
// row comes from memory again for every start.
//
// Idea: the edges of the last relation as tiles of bits (tail_tiles.hpp). A block of starts takes
// its last step to the tails of one tile, then to those of the next. All sums are linear in the
// ends, so what each tile gives is added up.
//
// Invariant: all sums are those of `reach`, to the last integer. A path of two steps is loop-free
// if its three entities differ. So a first step does not lead to the start, tiles have no edge
// from an entity to itself, and the start is taken out of its own ends.
//
// Cost: for each block of starts and each tile, the rows that their first steps lead to, of 256
// bytes each.
#pragma once

#include "counting/reach.hpp"
#include "counting/tail_tiles.hpp"

namespace casegraph {

constexpr int length_by_tile = 2;  // steps of a path type

// Whether a tile of a relation fits into the cache, and all of them into memory.
bool tiles_fit(const Graph& graph, Id relation);

// The sums for all pairs, over those of `entities` that have the relation, as `reach` has them.
//
// pairs     relations and path types of `length_by_tile` steps, whose last relation's tiles fit
// entities  if pairs are counted both ways, all that have any relation
// reported  how many entities to report as done, when all are
ReachBothWays reach_by_tile(const Graph& graph, Ids entities,
                            std::span<const RelationPathType> pairs, int max_length, Count reported,
                            int threads, Progress& progress);

}  // namespace casegraph
