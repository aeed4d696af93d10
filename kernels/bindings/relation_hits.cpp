// Python's view of kernels/counting/relation_hits.hpp.
#include "counting/relation_hits.hpp"

#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/counting_checks.hpp"

namespace casegraph::bindings {
namespace {

using namespace nb::literals;

nb::tuple relation_hits_(const Graph& graph, Id relation, In<Count> weights, int max_length,
                         int longest, std::tuple<Count, Count> most, int threads,
                         Counters progress) {
  const RelationHits counted = run(progress.data(), [&](Progress& running) {
    checks::relation("relation", relation, graph);
    checks::one_for_each_entity("weights", weights.shape(0), graph);
    checks::max_length(max_length, graph);
    checks::in_range("longest", longest, 0, max_length);
    const PathLimit limit{std::get<0>(most), std::get<1>(most)};
    checks::in_range("the limit of paths", limit.paths, 0, INT64_MAX);
    checks::in_range("the limit of kinds", limit.kinds, 0, INT64_MAX);
    return relation_hits(graph, relation, span(weights), max_length, longest, limit,
                         checks::threads(threads), running);
  });
  const std::vector<Hits>& rows = counted.rows;
  return nb::make_tuple(column<PathType>(rows, &Hits::type), column<Count>(rows, &Hits::hits),
                        counted.is_exceeded);
}

}  // namespace

void bind_relation_hits(nb::module_& m) {
  m.def("relation_hits", &relation_hits_, "graph"_a, "relation"_a, "weights"_a, "max_length"_a,
        "longest"_a, "most"_a, "threads"_a, "progress"_a,
        "Path types and hits of one relation, and whether there are too many.");
}

}  // namespace casegraph::bindings
