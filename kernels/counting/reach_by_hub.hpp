// Reached and right of short path types of one query relation: starts that share a hub share a look
// at its edges.
//
// Problem: in a very large graph, most walks of two steps lead over a few hubs, entities with
// thousands of edges. The ends of a start are a union of rows: for each entity between, its edges
// of the last relation. Counting from one start after the other looks at the row of a hub again for
// every start that has an edge to it.
//
// Idea: the entity between whose row is the widest is the hub of a start. Starts are sorted by
// their hubs. The row of a hub is put into a bitset once. Each start adds what its other rows have
// besides, and takes it out again. So of each start all rows are looked at but the widest. In a
// graph of power-law hubs, nine walks of ten are not walked.
//
// Where the other rows are wide, they are put into the bitset without asking what is new, and its
// bits are counted at the end. Bitsets are those of tail_bitsets.hpp: ends are numbered densely, so
// that a bitset stays in the cache.
//
// Invariant: all sums are those of `reach`, to the last integer. A path of two steps is loop-free
// if its three entities differ. So a row counts without the entity that it belongs to, and the
// start is no end.
//
// Cost: the edges of the first step from all starts, and those of the last step except for one row
// of each start; numbering the tails of each last relation, which looks at all of its edges.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

constexpr int longest_by_hub = 2;  // steps of a path type

// Which pairs are better counted by hub: those of up to two steps and without limits, if there is
// only one query relation, and enough is counted to number the tails of their last relations.
//
// widest  as in `reach`
std::vector<char> better_by_hub(const Graph& graph, Ids entities,
                                std::span<const RelationPathType> pairs,
                                std::span<const Count> widest, int max_length);

// The sums of path types for one query relation, over those of `entities` that have it, as `reach`
// has them.
//
// types     path types of at most `longest_by_hub` steps
// reported  how many entities to report as done, when all are
std::vector<PairSums> reach_by_hub(const Graph& graph, Ids entities, Id relation,
                                   std::span<const PathType> types, int max_length, Count reported,
                                   int threads, Progress& progress);

}  // namespace casegraph
