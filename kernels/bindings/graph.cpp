// Python's view of kernels/graph.
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/graph_checks.hpp"
#include "graph/interning.hpp"
#include "graph/keys.hpp"

namespace casegraph::bindings {
namespace {

using namespace nb::literals;
using Relations = std::vector<std::shared_ptr<const Edges>>;

// Do something with edges. Most updates touch few of them: getting the interpreter back could take
// longer than that.
template <class Kernel>
auto run_on_edges(std::size_t count, const Kernel& kernel) {
  constexpr std::size_t few = 1 << 15;
  if (count >= few)
    return run(nullptr, kernel);
  Progress progress;
  return kernel(progress);
}

std::shared_ptr<const Edges> edges_of(In<Id> heads, In<Id> offsets, In<Id> tails) {
  const auto owner = std::make_shared<std::tuple<In<Id>, In<Id>, In<Id>>>(heads, offsets, tails);
  return run_on_edges(tails.shape(0), [&](Progress&) {
    checks::edges(span(heads), span(offsets), span(tails));
    return std::make_shared<const Edges>(span(heads), span(offsets), span(tails), owner);
  });
}

Out<Count> distinct_keys_(In<Count> keys) {
  return array(run_on_edges(
      keys.shape(0), [&](Progress& progress) { return distinct_keys(span(keys), progress); }));
}

Out<Count> keys_by_head_(In<Count> keys) {
  return array(run_on_edges(
      keys.shape(0), [&](Progress& progress) { return keys_by_head(span(keys), progress); }));
}

void make_graph(Graph* into, Id entities, const Relations& relations, const Graph* earlier) {
  checks::graph(entities, relations);
  new (into) Graph(entities, relations, earlier);
}

std::size_t index_bytes(const Graph& graph) {
  std::size_t bytes = 0;
  for (const auto& edges : graph.relations)
    bytes += edges->index_bytes();
  return bytes;
}

nb::tuple profiles_(const Graph& graph, In<Id> entities) {
  Profiles found = run(nullptr, [&](Progress& progress) {
    checks::entities("entities", span(entities), graph);
    return profiles(graph, span(entities), progress);
  });
  return nb::make_tuple(array(std::move(found.offsets)), array(std::move(found.relations)));
}

void check_walks(const Graph& graph, const In<Count>& walks) {
  checks::lengths("walks", walks.size(), "entities", static_cast<std::size_t>(graph.entities));
  for (Count count : span(walks))
    checks::require(count >= 0, "walks has a negative number");
}

void gather_edges_(const Graph& graph, int threads) {
  run(nullptr, [&](Progress& progress) {
    Steps steps(progress);
    graph.adjacency(steps, checks::threads(threads));
  });
}

Out<Count> degrees_(const Graph& graph, int threads) {
  return array(run(nullptr, [&](Progress& progress) {
    return degrees(graph, checks::threads(threads), progress);
  }));
}

Out<Count> walks_one_step_longer_(const Graph& graph, In<Count> walks, int threads) {
  return array(run(nullptr, [&](Progress& progress) {
    check_walks(graph, walks);
    return walks_one_step_longer(graph, span(walks), checks::threads(threads), progress);
  }));
}

std::string_view view(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

nb::bytes texts_from(const Interner& interner, Id first) {
  checks::in_range("first", first, 0, interner.size());
  const std::string texts = interner.texts_from(first);
  return nb::bytes(texts.data(), texts.size());
}

nb::tuple interned_lines_(const nb::bytes& block, const nb::bytes& separator,
                          const nb::bytes& brackets, const nb::bytes& end, int width,
                          std::array<int, 3> places, Interner& entities, Interner& relations) {
  checks::lengths("separator", separator.size(), "one byte", 1);
  checks::require(brackets.size() == 0 || brackets.size() == 2, "brackets are none or a pair");
  constexpr int widest = 1 << 16;
  checks::in_range("width", width, 3, widest);
  for (int place : places)
    checks::in_range("places", place, 0, width - 1);
  const bool are_different =
      places[0] != places[1] && places[1] != places[2] && places[0] != places[2];
  checks::require(are_different, "two places are the same");
  checks::require(&entities != &relations, "entities and relations have one table");

  const LineShape shape{view(separator)[0], view(brackets), view(end), width, places};
  InternedLines found = run(nullptr, [&](Progress& progress) {
    return interned_lines(view(block), shape, entities, relations, progress);
  });
  return nb::make_tuple(array(std::move(found.rows)), array(std::move(found.starts)),
                        array(std::move(found.others)));
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<Edges>(m, "Edges", "The edges of one relation, indexed by head.")
      .def_static("of", &edges_of, "heads"_a, "offsets"_a, "tails"_a,
                  "Edges from sorted heads, where the tails of each begin, and the tails.");

  nb::class_<Graph>(m, "Graph", "All relations, each with its inverse after it.")
      .def("__init__", &make_graph, "entities"_a, "relations"_a, "earlier"_a.none() = nb::none())
      .def_ro("entities", &Graph::entities, "How many entities there are.")
      .def("index_bytes", &index_bytes, "The memory of all indexes of heads.");

  nb::class_<Interner>(m, "Interner", "Distinct texts, numbered in the order of first sight.")
      .def(nb::init<>())
      .def_prop_ro("size", &Interner::size, "How many texts there are.")
      .def("texts_from", &texts_from, "first"_a,
           "The texts from this number on, with a line end between each two.");

  m.def("distinct_keys", &distinct_keys_, "keys"_a, "The distinct keys of edges, sorted.");
  m.def("keys_by_head", &keys_by_head_, "keys"_a,
        "The keys of edges sorted by head only: those with the same head stay in order.");
  m.def("interned_lines", &interned_lines_, "block"_a, "separator"_a, "brackets"_a, "end"_a,
        "width"_a, "places"_a, "entities"_a, "relations"_a,
        "The plain lines of a block as rows, where each begins, and where other lines begin.");
  m.def("profiles", &profiles_, "graph"_a, "entities"_a,
        "The relations of each entity: offsets, and relations.");
  m.def("gather_edges", &gather_edges_, "graph"_a, "threads"_a,
        "Gather the edges of each entity in one place, on several threads; others who need them "
        "would do so on one.");
  m.def("degrees", &degrees_, "graph"_a, "threads"_a, "How many edges each entity has.");
  m.def("walks_one_step_longer", &walks_one_step_longer_, "graph"_a, "walks"_a, "threads"_a,
        "How many walks leave each entity, from how many walks that are one step shorter do.");
}

}  // namespace casegraph::bindings
