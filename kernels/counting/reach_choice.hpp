// Which path types are counted from many entities at once, and which from one after the other.
//
// Problem: where relations are dense, `reach_together` looks at each edge once for 256 starts.
// Where they are sparse, it looks at edges that no path comes near, and following the few paths
// from each entity takes less.
//
// Idea: estimate both from numbers of walks, which are cheap to count (a sparse vector times an
// adjacency matrix, as in reach_cost.hpp), and take the cheaper for each path type. The sums are
// the same either way, so nothing but the time depends on how good the estimate is.
#pragma once

#include "counting/reach.hpp"

namespace casegraph {

// What a last step takes from an entity whose paths all stand at one entity before it.
enum class SingleRow : char {
  walked,        // its edges are looked at, one after the other
  known_length,  // its length is all that is needed, and what else is asked of it is remembered
};

// For each pair, the method that takes least. `by_hub` is not among them.
//
// widest  as in `reach`: a pair that allows only so many edges for a step is counted alone
std::vector<Method> best_methods(const Graph& graph, Ids entities,
                                 std::span<const RelationPathType> pairs,
                                 std::span<const Count> widest, int max_length, int threads,
                                 Progress& progress, SingleRow single_row = SingleRow::walked);

// What counting each path type takes, by itself, in the steps of reach_cost.hpp.
struct ReachEstimates {
  std::vector<double> alone;     // from one entity after the other
  std::vector<double> together;  // from many at once; infinite where that cannot be
};
ReachEstimates reach_estimates(const Graph& graph, Ids entities, std::span<const PathType> types,
                               int max_length, int threads, Progress& progress,
                               SingleRow single_row = SingleRow::walked);

// What counting all path types of a relation together takes: an upper bound that depends on nothing
// but the graph. INT64_MAX if that cannot be.
Count cost_together(const Graph& graph, Id relation, std::span<const PathType> types,
                    int max_length);

}  // namespace casegraph
