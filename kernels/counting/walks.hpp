// Tries: walks of a path type from the entities that have a relation, wherever they end (equation
// 3, denominator).
#pragma once

#include "common/parallel.hpp"
#include "common/path_type.hpp"

namespace casegraph {

// A question to count: walks of `type` from the entities of `cluster` that have `relation`.
struct Question {
  Id cluster, relation;
  PathType type;
};

constexpr Count too_many = INT64_MAX;  // a count that does not fit; never reached by counting

// The number of walks for every question; `too_many` where 64 bits do not hold it.
//
// questions  in any order; those with a common last part of the path type share its product
// clusters   (graph.entities)  the cluster of each entity; a question of cluster -1 is about all
// entities
//
// Linear: the walks of (r1, r2, r3) from every entity are A_r1 · (A_r2 · (A_r3 · 1)); a suffix is
// multiplied once. Takes the edges of r1 for every distinct suffix, plus the heads of the relation
// for every question.
std::vector<Count> walks(const Graph& graph, std::span<const Question> questions, Ids clusters,
                         int max_length, int threads, Progress& progress);

}  // namespace casegraph
