// The bare loops as benchmarks see them: a module of its own, which is no part of a wheel.
//
// It takes the graphs of `casegraph.kernels`: nanobind knows a type across modules.
#include "bench/bare_loops.hpp"
#include "bindings/arrays.hpp"
#include "bindings/pairs.hpp"

namespace casegraph::bindings {
namespace {

Count bare_reach_(const Graph& graph, In<Id> entities, In<Id> relations, In<PathType> types,
                  int max_length, int threads) {
  return run(nullptr, [&](Progress& running) {
    const std::vector<RelationPathType> pairs = pairs_of(graph, relations, types, max_length);
    checks::entities("entities", span(entities), graph);
    return bare_reach(graph, span(entities), pairs, max_length, checks::threads(threads), running);
  });
}

Count bare_halves_(const Graph& graph, In<Id> rank, int max_length, int threads) {
  return run(nullptr, [&](Progress& running) {
    checks::one_for_each_entity("rank", rank.shape(0), graph);
    checks::max_length(max_length, graph);
    return bare_halves(graph, span(rank), max_length, checks::threads(threads), running);
  });
}

Count bare_cycles_(const Graph& graph, In<Id> rank, int max_length, Count cycles, Count kinds,
                   int threads) {
  return run(nullptr, [&](Progress& running) {
    checks::one_for_each_entity("rank", rank.shape(0), graph);
    checks::max_length(max_length, graph);
    checks::in_range("cycles", cycles, 0, INT64_MAX / 2);
    checks::in_range("kinds", kinds, 1, 1 << 26);  // each thread has an array of them
    return bare_cycles(graph, span(rank), max_length, cycles, kinds, checks::threads(threads),
                       running);
  });
}

}  // namespace
}  // namespace casegraph::bindings

NB_MODULE(kernels_bench, m) {
  using namespace casegraph::bindings;
  using namespace nb::literals;
  m.doc() = "Bare loops over the edges that counting must look at, to compare it with.";
  m.def("bare_reach", &bare_reach_, "graph"_a, "entities"_a, "relations"_a, "types"_a,
        "max_length"_a, "threads"_a, "The edges that `reach` must look at.");
  m.def("bare_halves", &bare_halves_, "graph"_a, "rank"_a, "max_length"_a, "threads"_a,
        "The edges that `cycles` must look at.");
  m.def("bare_cycles", &bare_cycles_, "graph"_a, "rank"_a, "max_length"_a, "cycles"_a, "kinds"_a,
        "threads"_a, "What listing so many cycles takes at least.");
}
