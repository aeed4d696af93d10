// What only benchmarks and tests use: a module of its own, which is no part of a wheel.
//
// It takes the graphs of `casegraph.kernels`: nanobind knows a type across modules.
#include "bench/bare_loops.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/checks.hpp"
#include "graph/text_hash.hpp"

namespace casegraph::bindings {
namespace {

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

std::vector<std::uint32_t> text_hashes(const std::vector<std::string>& texts) {
  const TextHash hash;
  std::vector<std::uint32_t> hashes;
  for (const std::string& text : texts)
    hashes.push_back(hash(text));
  return hashes;
}

}  // namespace
}  // namespace casegraph::bindings

NB_MODULE(kernels_bench, m) {
  using namespace casegraph::bindings;
  using namespace nb::literals;
  m.doc() = "Bare loops over the edges that counting must look at, to compare it with.";
  m.def("bare_halves", &bare_halves_, "graph"_a, "rank"_a, "max_length"_a, "threads"_a,
        "The edges that `cycles` must look at.");
  m.def("bare_cycles", &bare_cycles_, "graph"_a, "rank"_a, "max_length"_a, "cycles"_a, "kinds"_a,
        "threads"_a, "What listing so many cycles takes at least.");
  m.def("text_hashes", &text_hashes, "texts"_a,
        "The hashes of texts in one table; those of another differ.");
}
