// The bare loops as benchmarks see them: a module of its own, which is no part of a wheel.
//
// It takes the graphs of `casegraph.kernels`: nanobind knows the type across modules.
#include "bench/bare_loops.hpp"
#include "bindings/arrays.hpp"

using namespace casegraph;
using namespace casegraph::bindings;
using namespace nb::literals;

Count bare_reach_(const Graph& graph, In<Id> entities, In<Id> relations, In<PathType> types,
                  int max_length, int threads) {
  const std::vector<Use> uses = uses_of(graph, relations, types, max_length);
  checks::entities("entities", span(entities), graph);
  threads = checks::threads(threads);
  return run(nullptr, [&](Progress& progress) {
    return bare_reach(graph, span(entities), uses, max_length, threads, progress);
  });
}

Count bare_cycles_(const Graph& graph, In<Id> rank, int max_length, Count additions, Count kinds,
                   int threads) {
  checks::lengths("rank", rank.shape(0), "the entities", static_cast<std::size_t>(graph.entities));
  checks::max_length(max_length, graph);
  checks::in_range("additions", additions, 0, INT64_MAX / 2);
  checks::in_range("kinds", kinds, 1, 1 << 26);  // each thread has an array of them
  threads = checks::threads(threads);
  return run(nullptr, [&](Progress& progress) {
    return bare_cycles(graph, span(rank), max_length, additions, kinds, threads, progress);
  });
}

NB_MODULE(kernels_bench, m) {
  m.doc() = "Bare loops over the edges that counting must look at, to compare it with.";
  m.def("bare_reach", &bare_reach_, "graph"_a, "entities"_a, "relations"_a, "types"_a,
        "max_length"_a, "threads"_a);
  m.def("bare_cycles", &bare_cycles_, "graph"_a, "rank"_a, "max_length"_a, "additions"_a, "kinds"_a,
        "threads"_a);
}
