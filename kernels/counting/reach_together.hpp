// Reached and right of many starts at once: the same sums as `reach`, for short path types of dense
// graphs.
//
// Idea: bit-parallel search (start_sets.hpp). The entities that have the first relation of a path
// type are cut into batches of 256. A step joins, for each entity, the sets of starts of those
// that lead to it. It looks at its edges either from where the paths stand or from where they could
// lead, whichever are fewer (direction-optimizing search, Beamer 2012); in the second case a row is
// left as soon as all starts are found. Path types with a common beginning share its steps.
//
// Sets are looked at where they are close together: those of the heads of a relation are copied
// side by side before a step looks at all its edges, and the ends of a last step are counted a
// thousand at a time, while their sets are in the cache.
//
// Loop-freeness, for paths s, a, b, t of up to three steps: no step takes an edge from an entity to
// itself, and after every step a start is taken out of its own set. That leaves t = a, which only
// happens where b leads back to a. Which starts reach b by some entity (`second_`), and which by at
// least two (`twice_`), is enough to decide it exactly. Along an edge from b to t come
//
//     all starts that reach b                          if the second relation does not lead t to b
//     those that t is no first step of, and all that
//     reach b by two entities: one of them is not t    if it does
//
// Invariant: a start is in the set of an end exactly if a loop-free path leads there. So all sums
// are those of `reach`, to the last integer.
//
// Cost: for each batch and each step at most the edges of its relation, 256 starts an operation.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

constexpr int longest_together = 3;  // steps of a path type

// The sums for all pairs, over those of `entities` that have the relation, as `reach` has them.
//
// pairs     relations and path types of at most `longest_together` steps
// entities  if pairs are counted both ways, all that have any relation
// reported  how many entities to report as done, when all are
std::vector<PairSums> reach_together(const Graph& graph, Ids entities,
                                     std::span<const RelationPathType> pairs, int max_length,
                                     Count reported, int threads, Progress& progress);

}  // namespace casegraph
