// Python's view of kernels/counting.
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/counting_checks.hpp"
#include "bindings/pairs.hpp"
#include "counting/affected_endpoints.hpp"
#include "counting/closed_paths.hpp"
#include "counting/cycles.hpp"
#include "counting/reach.hpp"
#include "counting/reach_choice.hpp"
#include "counting/reach_cost.hpp"
#include "counting/reach_inverses.hpp"
#include "counting/walks.hpp"

namespace casegraph::bindings {
namespace {

using namespace nb::literals;

nb::tuple closed_paths_(const Graph& graph, In<Id> entities, In<Id> clusters, In<bool> wanted,
                        int max_length, int longest, int threads, Counters progress) {
  const std::vector<Hits> rows = run(progress.data(), [&](Progress& running) {
    checks::entities("entities", span(entities), graph);
    checks::clusters(span(clusters), graph);
    if (wanted.shape(0) != 0)
      checks::lengths("wanted", wanted.shape(0), "the relations", graph.relations.size());
    checks::max_length(max_length, graph);
    checks::in_range("longest", longest, 0, max_length);
    const std::vector<bool> chosen(wanted.data(), wanted.data() + wanted.shape(0));
    return closed_paths(graph, span(entities), span(clusters), chosen, max_length, longest,
                        checks::threads(threads), running);
  });
  return nb::make_tuple(column<Id>(rows, &Hits::cluster), column<Id>(rows, &Hits::relation),
                        column<PathType>(rows, &Hits::type), column<Count>(rows, &Hits::hits));
}

nb::tuple cycles_(const Graph& graph, In<Id> tops, In<Id> rank, int max_length,
                  std::tuple<Count, Count> limit, int threads, Counters progress) {
  CountedCycles counted = run(progress.data(), [&](Progress& running) {
    checks::entities("tops", span(tops), graph);
    checks::one_for_each_entity("rank", rank.shape(0), graph);
    checks::max_length(max_length, graph);
    const Limit most{std::get<0>(limit), std::get<1>(limit)};
    checks::in_range("the limit of work", most.work, 0, INT64_MAX);
    checks::in_range("the limit of kinds", most.kinds, 0, INT64_MAX);
    return cycles(graph, span(tops), span(rank), max_length, most, checks::threads(threads),
                  running);
  });
  return nb::make_tuple(array(std::move(counted.relations)), array(std::move(counted.types)),
                        array(std::move(counted.hits)), array(std::move(counted.work)));
}

nb::tuple cycles_through_(const Graph& graph, Id head, Id relation, Id tail, int max_length,
                          int longest, Count most_halves) {
  CyclesThrough found = run(nullptr, [&](Progress& running) {
    checks::entity("head", head, graph);
    checks::entity("tail", tail, graph);
    checks::relation("relation", relation, graph);
    checks::max_length(max_length, graph);
    checks::in_range("longest", longest, 0, max_length);
    checks::in_range("most_halves", most_halves, 0, UINT32_MAX);
    return cycles_through(graph, {head, relation, tail}, max_length, longest,
                          static_cast<std::size_t>(most_halves), running);
  });
  const std::vector<Hits>& rows = found.rows;
  return nb::make_tuple(column<Id>(rows, &Hits::relation), column<PathType>(rows, &Hits::type),
                        column<Count>(rows, &Hits::hits), array(std::move(found.entities)),
                        found.cycles, found.looked_at);
}

Out<Count> walks_(const Graph& graph, In<Id> question_clusters, In<Id> relations,
                  In<PathType> types, In<Id> clusters, int max_length, int threads,
                  Counters progress) {
  return array(run(progress.data(), [&](Progress& running) {
    checks::relation_path_types(graph, span(relations), span(types), max_length);
    checks::lengths("question_clusters", question_clusters.shape(0), "types", types.shape(0));
    checks::ids("question_clusters", span(question_clusters), -1);
    checks::clusters(span(clusters), graph);
    std::vector<WalkQuestion> questions(types.shape(0));
    for (std::size_t at = 0; at < questions.size(); ++at)
      questions[at] = {question_clusters.data()[at], relations.data()[at], types.data()[at]};
    return walks(graph, questions, span(clusters), max_length, checks::threads(threads), running);
  }));
}

nb::tuple columns_of(const std::vector<Sums>& sums, std::vector<Count> skipped) {
  return nb::make_tuple(column<Count>(sums, &Sums::reached), column<Count>(sums, &Sums::right),
                        column<Count>(sums, &Sums::reached_open),
                        column<Count>(sums, &Sums::right_open), array(std::move(skipped)));
}

Out<Count> ways_to_walk_(const Graph& graph, In<Id> relations, In<PathType> types, In<Count> widest,
                         In<Id> rank, In<Id> relation_rank, int max_length, int threads) {
  return array(run(nullptr, [&](Progress& running) {
    const std::vector<RelationPathType> pairs = pairs_of(graph, relations, types, max_length);
    checks::widest(span(widest), pairs.size());
    checks::one_for_each_entity("rank", rank.shape(0), graph);
    checks::ids("rank", span(rank), 0);
    checks::lengths("relation_rank", relation_rank.shape(0), "relations", graph.relations.size());
    checks::ids("relation_rank", span(relation_rank), 0);
    const std::vector<Way> ways =
        ways_to_walk(graph, pairs, span(widest), span(rank), span(relation_rank), max_length,
                     checks::threads(threads), running);
    std::vector<Count> numbers;
    for (Way way : ways)
      numbers.push_back(static_cast<Count>(way));
    return numbers;
  }));
}

std::vector<Way> ways_of(std::span<const Count> given, std::size_t pairs) {
  if (!given.empty())
    checks::lengths("ways", given.size(), "types", pairs);
  std::vector<Way> ways;
  for (Count way : given) {
    checks::in_range("ways", way, 0, static_cast<Count>(Way::by_inverse));
    ways.push_back(static_cast<Way>(way));
  }
  return ways;
}

// The method with this number, from 1 on; none for 0.
std::optional<Method> method_of(int number) {
  checks::in_range("method", number, 0, static_cast<int>(Method::by_hub) + 1);
  return number == 0 ? std::nullopt : std::optional(static_cast<Method>(number - 1));
}

nb::tuple reach_(const Graph& graph, In<Id> entities, In<Id> relations, In<PathType> types,
                 In<Count> ways, In<Count> widest, int max_length, int threads, Counters progress,
                 int method) {
  Reach found = run(progress.data(), [&](Progress& running) {
    const std::vector<RelationPathType> pairs = pairs_of(graph, relations, types, max_length);
    checks::ids("entities", span(entities), 0);  // one that came after this graph reaches nothing
    checks::widest(span(widest), pairs.size());
    const std::vector<Way> walked = ways_of(span(ways), pairs.size());
    const std::optional<Method> chosen = method_of(method);
    const bool can_be = !chosen || can_count(*chosen, pairs, walked, span(widest), max_length);
    checks::require(can_be, "the method does not count such path types in such ways");
    return reach(graph, span(entities), pairs, walked, span(widest), chosen, max_length,
                 checks::threads(threads), running);
  });
  return columns_of(found.sums, std::move(found.skipped));
}

Count cost_together_(const Graph& graph, Id relation, In<PathType> types, int max_length) {
  checks::path_types(span(types), max_length, graph);
  checks::relation("relation", relation, graph);
  return cost_together(graph, relation, span(types), max_length);
}

nb::tuple reach_estimates_(const Graph& graph, In<Id> entities, In<PathType> types, int max_length,
                           int threads) {
  ReachEstimates found = run(nullptr, [&](Progress& running) {
    checks::path_types(span(types), max_length, graph);
    checks::ids("entities", span(entities), 0);
    return reach_estimates(graph, span(entities), span(types), max_length, checks::threads(threads),
                           running);
  });
  return nb::make_tuple(array(std::move(found.alone)), array(std::move(found.together)));
}

using Endpoints = std::tuple<In<Id>, In<std::int32_t>>;  // entities, and places of path types

std::vector<Endpoint> endpoints_of(const Endpoints& given, std::size_t types) {
  const auto& [entities, places] = given;
  checks::ids("entities of endpoints", span(entities), 0);
  checks::lengths("places of endpoints", places.shape(0), "entities", entities.shape(0));
  checks::ids("places of endpoints", span(places), 0, static_cast<std::int64_t>(types));
  std::vector<Endpoint> endpoints(entities.shape(0));
  for (std::size_t at = 0; at < endpoints.size(); ++at)
    endpoints[at] = {entities.data()[at], places.data()[at]};
  const auto repeated = std::adjacent_find(endpoints.begin(), endpoints.end(),
                                           [](const auto& a, const auto& b) { return a >= b; });
  checks::require(repeated == endpoints.end(), "endpoints are not sorted, or one is repeated");
  return endpoints;
}

nb::tuple reach_around_(const Graph& graph, Id relation, In<PathType> types,
                        const Endpoints& starts, const Endpoints& ends, int max_length, int threads,
                        Counters progress) {
  const std::vector<Sums> sums = run(progress.data(), [&](Progress& running) {
    checks::path_types(span(types), max_length, graph);
    checks::relation("relation", relation, graph);
    return reach_around(graph, relation, span(types), endpoints_of(starts, types.shape(0)),
                        endpoints_of(ends, types.shape(0)), max_length, checks::threads(threads),
                        running);
  });
  return columns_of(sums, std::vector<Count>(sums.size()));
}

nb::tuple reach_cost_(const Graph& graph, Id relation, In<PathType> types, int max_length,
                      Count most, int threads) {
  ReachCost cost = run(nullptr, [&](Progress& running) {
    checks::path_types(span(types), max_length, graph);
    checks::relation("relation", relation, graph);
    checks::in_range("most", most, 0, INT64_MAX);
    return reach_cost(graph, relation, span(types), max_length, most, checks::threads(threads),
                      running);
  });
  return nb::make_tuple(array(std::move(cost.of_step)), array(std::move(cost.visits)),
                        array(std::move(cost.dearest)), array(std::move(cost.visits_of_type)));
}

nb::tuple affected_endpoints_(const Graph& graph, In<Id> heads, In<Id> relations, In<Id> tails,
                              Id relation, In<PathType> types, int max_length) {
  const AffectedEndpoints found = run(nullptr, [&](Progress& running) {
    checks::path_types(span(types), max_length, graph);
    checks::relation("relation", relation, graph);
    checks::entities("heads", span(heads), graph);
    checks::lengths("relations", relations.shape(0), "heads", heads.shape(0));
    checks::relations("relations", span(relations), graph);
    checks::lengths("tails", tails.shape(0), "heads", heads.shape(0));
    checks::entities("tails", span(tails), graph);
    std::vector<Edge> edges(heads.shape(0));
    for (std::size_t at = 0; at < edges.size(); ++at)
      edges[at] = {heads.data()[at], relations.data()[at], tails.data()[at]};
    return affected_endpoints(graph, edges, relation, span(types), max_length, running);
  });
  return nb::make_tuple(
      column<Id>(found.starts, &Endpoint::entity), column<Id>(found.starts, &Endpoint::place),
      column<Id>(found.ends, &Endpoint::entity), column<Id>(found.ends, &Endpoint::place));
}

}  // namespace

void bind_counting(nb::module_& m) {
  m.def("closed_paths", &closed_paths_, "graph"_a, "entities"_a, "clusters"_a, "wanted"_a,
        "max_length"_a, "longest"_a, "threads"_a, "progress"_a,
        "Hits of clusters: cluster, relation, path type and hits of each row.");
  m.def("cycles", &cycles_, "graph"_a, "tops"_a, "rank"_a, "max_length"_a, "limit"_a, "threads"_a,
        "progress"_a,
        "Hits of all entities: relation, path type and hits of each row; and the work up to each "
        "length.");
  m.def("cycles_through", &cycles_through_, "graph"_a, "head"_a, "relation"_a, "tail"_a,
        "max_length"_a, "longest"_a, "most_halves"_a,
        "Hits that an edge contributes: relation, path type and hits of each row; the entities on "
        "its cycles; how many cycles, or more than any number if it takes too much memory; and how "
        "many edges and relations were looked at.");
  m.def("walks", &walks_, "graph"_a, "question_clusters"_a, "relations"_a, "types"_a, "clusters"_a,
        "max_length"_a, "threads"_a, "progress"_a,
        "Tries: walks of each path type from the entities of a cluster that have a relation.");
  m.def("ways_to_walk", &ways_to_walk_, "graph"_a, "relations"_a, "types"_a, "widest"_a, "rank"_a,
        "relation_rank"_a, "max_length"_a, "threads"_a,
        "How the sums of each relation and path type are found: 0 by walking it, 1 by walking it "
        "for its inverse, too, 2 by walking its inverse.");
  m.def("reach", &reach_, "graph"_a, "entities"_a, "relations"_a, "types"_a, "ways"_a, "widest"_a,
        "max_length"_a, "threads"_a, "progress"_a, "method"_a = 0,
        "Reached, right, both of open slots, and skipped, of each relation and path type, summed "
        "over the entities: counted by the method that takes least (0), from one entity after the "
        "other (1), from many at once (2), or by hub (3).");
  m.def("cost_together", &cost_together_, "graph"_a, "relation"_a, "types"_a, "max_length"_a,
        "What `reach` from many entities at once would cost at most, or more than anything if it "
        "cannot.");
  m.def("reach_estimates", &reach_estimates_, "graph"_a, "entities"_a, "types"_a, "max_length"_a,
        "threads"_a, "What counting each path type is estimated to cost: alone, and together.");
  m.def("reach_around", &reach_around_, "graph"_a, "relation"_a, "types"_a, "starts"_a, "ends"_a,
        "max_length"_a, "threads"_a, "progress"_a,
        "The same of each path type, for paths that begin or end at some entities.");
  m.def("reach_cost", &reach_cost_, "graph"_a, "relation"_a, "types"_a, "max_length"_a, "most"_a,
        "threads"_a,
        "What `reach` would cost: of each step its cost and visits, of each path type its dearest "
        "step and visits.");
  m.def("affected_endpoints", &affected_endpoints_, "graph"_a, "heads"_a, "relations"_a, "tails"_a,
        "relation"_a, "types"_a, "max_length"_a,
        "Where paths that use some edges begin or end: entities and path types of starts, and of "
        "ends.");
}

}  // namespace casegraph::bindings
