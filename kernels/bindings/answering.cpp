// Python's view of kernels/answering.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include "answering/relation_query.hpp"
#include "answering/workspace.hpp"
#include "bindings/answering_checks.hpp"
#include "bindings/arrays.hpp"

namespace casegraph::bindings {
namespace {

using namespace nb::literals;

// Path types, offsets, places of path types, weights of open and of taken slots: the parts of
// `WalkLists`.
using WalkArrays =
    std::tuple<In<PathType>, In<std::int64_t>, In<std::int32_t>, In<double>, In<double>>;

// The weights of open and of taken slots if one right end fewer had been counted, whose slot was
// open; and the same if it was taken.
using FewerArrays = std::array<std::tuple<In<double>, In<double>>, 2>;

WalkLists lists_of(const WalkArrays& given, const std::optional<FewerArrays>& fewer) {
  const auto& [types, offsets, walked, weights, taken_weights] = given;
  WalkLists lists{span(types), span(offsets), span(walked), span(weights), span(taken_weights)};
  if (!fewer)
    return lists;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const auto& [open, taken] = (*fewer)[slot];
    lists.fewer[slot] = {span(open), span(taken)};
  }
  return lists;
}

// A `RelationQuery` with the arrays it looks into; Python keeps the graph alive.
struct OwnedRelationQuery {
  OwnedRelationQuery(const Graph& graph, Id relation, const WalkArrays& walk_,
                     const QueryOptions& options, const In<Id>& rank_,
                     const std::optional<FewerArrays>& fewer_, Progress& progress)
      : walk(walk_),
        rank(rank_),
        fewer(fewer_),
        query(graph, relation, lists_of(walk, fewer), options, span(rank), progress) {}

  const WalkArrays walk;
  const In<Id> rank;
  const std::optional<FewerArrays> fewer;
  const RelationQuery query;
};

void make_relation_query(OwnedRelationQuery* into, const Graph& graph, Id relation,
                         const WalkArrays& walk, const QueryOptions& options, const In<Id>& rank,
                         const std::optional<FewerArrays>& fewer) {
  run(nullptr, [&](Progress& running) {
    checks::relation_query(graph, relation, lists_of(walk, fewer), options, span(rank));
    return new (into) OwnedRelationQuery(graph, relation, walk, options, rank, fewer, running);
  });
}

Queries queries_of(const OwnedRelationQuery& with, const In<Id>& entities, const In<Id>& lists,
                   const In<Id>& hidden) {
  const Queries queries{span(entities), span(lists), span(hidden)};
  checks::queries(queries, with.query);
  return queries;
}

nb::tuple answers_(const OwnedRelationQuery& with, In<Id> entities, In<Id> lists, In<Id> hidden,
                   Workspaces& workspaces, Count top, bool new_only, int threads) {
  Answers found = run(nullptr, [&](Progress& running) {
    const Queries queries = queries_of(with, entities, lists, hidden);
    return answers(with.query, queries, workspaces, top, new_only, checks::threads(threads),
                   running);
  });
  return nb::make_tuple(array(std::move(found.offsets)), array(std::move(found.entities)),
                        array(std::move(found.scores)), array(std::move(found.exact)),
                        found.followed);
}

using StrengthsOfTargets = std::vector<double>(const RelationQuery&, const Queries&, Workspaces&,
                                               const EntitySets&, int, Progress&);

template <StrengthsOfTargets* strengths>
Out<double> strengths_(const OwnedRelationQuery& with, In<Id> entities, In<Id> lists, In<Id> hidden,
                       Workspaces& workspaces, In<std::int64_t> target_offsets, In<Id> targets,
                       int threads) {
  return array(run(nullptr, [&](Progress& running) {
    const Queries queries = queries_of(with, entities, lists, hidden);
    const EntitySets wanted{span(target_offsets), span(targets)};
    checks::require(with.query.options.loop_free && !with.query.options.sum,
                    "expected options with loop_free and without sum");
    checks::entity_sets("targets", wanted, queries.entities.size());
    return strengths(with.query, queries, workspaces, wanted, checks::threads(threads), running);
  }));
}

nb::tuple standings_(const OwnedRelationQuery& with, In<Id> entities, In<Id> lists, In<Id> hidden,
                     Workspaces& workspaces, In<std::int64_t> target_offsets, In<Id> targets,
                     In<std::int64_t> known_offsets, In<Id> known, int threads) {
  Standing standing = run(nullptr, [&](Progress& running) {
    const Queries queries = queries_of(with, entities, lists, hidden);
    const EntitySets ranked{span(target_offsets), span(targets)};
    const EntitySets not_competing{span(known_offsets), span(known)};
    checks::entity_sets("targets", ranked, queries.entities.size());
    checks::entity_sets("known", not_competing, queries.entities.size());
    return standings(with.query, queries, workspaces, ranked, not_competing,
                     checks::threads(threads), running);
  });
  return nb::make_tuple(array(std::move(standing.score)), array(std::move(standing.better)),
                        array(std::move(standing.equal)), array(std::move(standing.earlier)));
}

nb::tuple columns_of(const std::vector<Weighted>& found) {
  return nb::make_tuple(column<Id>(found, &Weighted::entity),
                        column<double>(found, &Weighted::weight));
}

nb::tuple nearest_entities_(const OwnedRelationQuery& with, Id entity, Id hidden,
                            Workspaces& workspaces) {
  return columns_of(run(nullptr, [&](Progress& running) {
    checks::entity("entity", entity, with.query.graph);
    checks::in_range("hidden", hidden, -1, with.query.graph.entities - 1);
    return nearest_entities(with.query, entity, hidden, workspaces, running);
  }));
}

// `precedents_of` or `similar_answers`.
template <auto weighted>
nb::tuple weighted_(const OwnedRelationQuery& with, Id entity, Id hidden, Id answer,
                    Workspaces& workspaces) {
  return columns_of(run(nullptr, [&](Progress& running) {
    checks::entity("entity", entity, with.query.graph);
    checks::in_range("hidden", hidden, -1, with.query.graph.entities - 1);
    checks::entity("answer", answer, with.query.graph);
    return weighted(with.query, entity, hidden, answer, workspaces, running);
  }));
}

nb::tuple columns_of(const std::vector<Piece>& pieces) {
  std::vector<Worth> worths;
  for (const Piece& piece : pieces)
    worths.push_back(piece.worth);
  return nb::make_tuple(column<Id>(pieces, &Piece::kind), column<Id>(pieces, &Piece::relation),
                        column<Id>(pieces, &Piece::tail), column<Id>(pieces, &Piece::place),
                        column<Count>(pieces, &Piece::count), column<Count>(pieces, &Piece::of),
                        column<double>(worths, &Worth::value),
                        column<double>(worths, &Worth::strength));
}

nb::tuple evidence_(const OwnedRelationQuery& with, In<Id> entities, In<Id> lists, In<Id> hidden,
                    Workspaces& workspaces, In<Id> answers) {
  EvidenceOfEach found = run(nullptr, [&](Progress& running) {
    const Queries queries = queries_of(with, entities, lists, hidden);
    checks::lengths("entities", queries.entities.size(), "one query", 1);
    checks::entities("answers", span(answers), with.query.graph);
    return evidence_of_each(with.query, queries, workspaces, span(answers), running);
  });
  return nb::make_tuple(array(std::move(found.offsets)), columns_of(found.pieces));
}

}  // namespace

void bind_answering(nb::module_& m) {
  m.attr("DECISIVE_FACTOR") = decisive_factor;

  nb::class_<QueryOptions>(m, "QueryOptions", "How evidence is gathered and combined.")
      .def(nb::init<>())
      .def_rw("max_length", &QueryOptions::max_length)
      .def_rw("loop_free", &QueryOptions::loop_free)
      .def_rw("walked", &QueryOptions::walked)
      .def_rw("precedents", &QueryOptions::precedents)
      .def_rw("slots", &QueryOptions::slots)
      .def_rw("backwards", &QueryOptions::backwards)
      .def_rw("linked", &QueryOptions::linked)
      .def_rw("doubt", &QueryOptions::doubt)
      .def_rw("habit", &QueryOptions::habit)
      .def_rw("sum", &QueryOptions::sum)
      .def_rw("discount", &QueryOptions::discount)
      .def_rw("decisive", &QueryOptions::decisive)
      .def_rw("ridge", &QueryOptions::ridge)
      .def_rw("precedent_weight", &QueryOptions::precedent_weight)
      .def_rw("best", &QueryOptions::best)
      .def_rw("nearest", &QueryOptions::nearest)
      .def_rw("budget", &QueryOptions::budget);

  nb::class_<Workspaces>(m, "Workspaces",
                         "The arrays that queries of one graph work with, kept for the next.")
      .def(nb::init<>())
      .def("of_another_state", &Workspaces::of_another_state,
           "The same arrays, for queries of another state of the graph.");

  nb::class_<OwnedRelationQuery>(m, "RelationQuery", "What all queries of one relation share.")
      .def("__init__", &make_relation_query, nb::keep_alive<1, 2>(), "graph"_a, "relation"_a,
           "walk"_a, "options"_a, "rank"_a, "fewer"_a = nb::none());

  m.def("answers", &answers_, "query"_a, "entities"_a, "lists"_a, "hidden"_a, "workspaces"_a,
        "top"_a, "new_only"_a, "threads"_a,
        "The best answers of each query, without those that are known if `new_only`: offsets, "
        "entities, scores, whether exact; and the edges looked at.");
  m.def("path_strengths", &strengths_<path_strengths>, "query"_a, "entities"_a, "lists"_a,
        "hidden"_a, "workspaces"_a, "target_offsets"_a, "targets"_a, "threads"_a,
        "The strength of the paths to each target.");
  m.def("precedent_strengths", &strengths_<precedent_strengths>, "query"_a, "entities"_a, "lists"_a,
        "hidden"_a, "workspaces"_a, "target_offsets"_a, "targets"_a, "threads"_a,
        "The strength with which entities that resemble the query entity support each target.");
  m.def("standings", &standings_, "query"_a, "entities"_a, "lists"_a, "hidden"_a, "workspaces"_a,
        "target_offsets"_a, "targets"_a, "known_offsets"_a, "known"_a, "threads"_a,
        "Of each target its score, and how many candidates are better, equal, and equal but "
        "earlier.");
  m.def("nearest_entities", &nearest_entities_, "query"_a, "entity"_a, "hidden"_a, "workspaces"_a,
        "The entities that have the relation and resemble the query entity: entities and weights, "
        "largest weight first.");
  m.def("precedents", &weighted_<precedents_of>, "query"_a, "entity"_a, "hidden"_a, "answer"_a,
        "workspaces"_a, "Those of the nearest entities that have an answer: entities and weights.");
  m.def("similar_answers", &weighted_<similar_answers>, "query"_a, "entity"_a, "hidden"_a,
        "answer"_a, "workspaces"_a,
        "How much each known answer speaks for another: entities and weights.");
  m.def("evidence", &evidence_, "query"_a, "entities"_a, "lists"_a, "hidden"_a, "workspaces"_a,
        "answers"_a,
        "All evidence for some answers of one query, gathered in one pass: offsets by answer, and "
        "columns.");
}

}  // namespace casegraph::bindings
