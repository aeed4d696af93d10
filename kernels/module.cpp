// The kernels as Python sees them: arrays in, arrays out, the interpreter free to do other things meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "asking.hpp"
#include "closed_paths.hpp"
#include "crossing.hpp"
#include "cycles.hpp"
#include "graph.hpp"
#include "limits.hpp"
#include "grinch.hpp"
#include "linkage.hpp"
#include "reach.hpp"
#include "walks.hpp"

namespace nb = nanobind;
using namespace casegraph;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
std::span<const T> span(const In<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
Out<T> array(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(kept->data(), {kept->size()}, owner);
}

template <class T, class Row, class Field>
Out<T> column(const std::vector<Row>& rows, Field Row::* field) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(static_cast<T>(row.*field));
  return array(std::move(values));
}

using Counters = nb::ndarray<std::int64_t, nb::shape<2>, nb::c_contig, nb::device::cpu>;

std::shared_ptr<const Edges> edges_of(In<Id> heads, In<Id> offsets, In<Id> tails) {
  if (offsets.shape(0) != heads.shape(0) + 1) throw nb::value_error("offsets must be one longer than heads");
  auto owner = std::make_shared<std::tuple<In<Id>, In<Id>, In<Id>>>(heads, offsets, tails);
  return std::make_shared<const Edges>(span(heads), span(offsets), span(tails), owner);
}

Queries queries_of(const In<Id>& entities, const In<Id>& lists, const In<Id>& left_out) {
  return {span(entities), span(lists), span(left_out)};
}

using WalkLists = std::tuple<In<PathType>, In<std::int64_t>, In<std::int32_t>, In<double>>;

Lists lists_of(const WalkLists& given) {
  return {span(std::get<0>(given)), span(std::get<1>(given)), span(std::get<2>(given)), span(std::get<3>(given))};
}

// An `Asking` with the arrays it looks into; the graph is kept alive by Python.
struct OwnedAsking {
  OwnedAsking(const Graph& graph, Id relation, const WalkLists& walk_, const Manner& manner, const In<Id>& rank_)
      : walk(walk_), rank(rank_), asking(graph, relation, lists_of(walk), manner, span(rank)) {}
  const WalkLists walk;
  const In<Id> rank;
  const Asking asking;
};

NB_MODULE(kernels, m) {
  nb::set_leak_warnings(false);  // whoever holds a graph until the interpreter ends may do so
  m.doc() = "The loops of casegraph that a profile named, as functions of arrays.";

  nb::class_<Edges>(m, "Edges", "The edges of one relation, indexed by head.")
      .def_static("of", &edges_of, nb::arg("heads"), nb::arg("offsets"), nb::arg("tails"));

  nb::class_<Graph>(m, "Graph", "All relations, each with its inverse after it.")
      .def(nb::init<Id, std::vector<std::shared_ptr<const Edges>>>(), nb::arg("entities"), nb::arg("relations"))
      .def("index_bytes", [](const Graph& graph) {
        std::size_t bytes = 0;
        for (const auto& edges : graph.relations) bytes += edges->index_bytes();
        return bytes;
      });

  m.def("profiles",
        [](const Graph& graph, In<Id> entities) {
          Profiles found = profiles(graph, span(entities));
          return nb::make_tuple(array(std::move(found.offsets)), array(std::move(found.relations)));
        },
        nb::arg("graph"), nb::arg("entities"));

  m.def("walks_from_each", [](const Graph& graph, int steps) { return array(walks_from_each(graph, steps)); }, nb::arg("graph"),
        nb::arg("steps"));

  m.def("closed_paths",
        [](const Graph& graph, In<Id> entities, In<Id> clusters, In<bool> wanted, int max_length, int longest, int threads, Counters progress) {
          std::vector<Hits> rows;
          {
            nb::gil_scoped_release free;
            const std::vector<bool> chosen(wanted.data(), wanted.data() + wanted.shape(0));
            rows = closed_paths(graph, span(entities), span(clusters), chosen, max_length, longest, threads, Progress(progress.data()));
          }
          return nb::make_tuple(column<Id>(rows, &Hits::cluster), column<Id>(rows, &Hits::relation),
                                column<PathType>(rows, &Hits::type), column<Count>(rows, &Hits::hits));
        },
        nb::arg("graph"), nb::arg("entities"), nb::arg("clusters"), nb::arg("wanted"), nb::arg("max_length"), nb::arg("longest"),
        nb::arg("threads"), nb::arg("progress"));

  m.def("cycles",
        [](const Graph& graph, In<Id> tops, In<Id> rank, int max_length, std::tuple<Count, Count> limit, int threads, Counters progress) {
          Counted counted;
          {
            nb::gil_scoped_release free;
            const Limit most{std::get<0>(limit), std::get<1>(limit)};
            counted = cycles(graph, span(tops), span(rank), max_length, most, threads, Progress(progress.data()));
          }
          return nb::make_tuple(column<Id>(counted.rows, &Hits::relation), column<PathType>(counted.rows, &Hits::type),
                                column<Count>(counted.rows, &Hits::hits), array(std::move(counted.work)));
        },
        nb::arg("graph"), nb::arg("tops"), nb::arg("rank"), nb::arg("max_length"), nb::arg("limit"), nb::arg("threads"), nb::arg("progress"));

  m.def("cycles_through",
        [](const Graph& graph, Id head, Id relation, Id tail, int max_length, int longest) {
          Cycles found;
          {
            nb::gil_scoped_release free;
            found = cycles_through(graph, {head, relation, tail}, max_length, longest);
          }
          const auto& rows = found.rows;
          return nb::make_tuple(column<Id>(rows, &Hits::relation), column<PathType>(rows, &Hits::type), column<Count>(rows, &Hits::hits),
                                array(std::move(found.entities)), found.cycles);
        },
        nb::arg("graph"), nb::arg("head"), nb::arg("relation"), nb::arg("tail"), nb::arg("max_length"), nb::arg("longest"));

  m.def("walks",
        [](const Graph& graph, In<Id> question_clusters, In<Id> relations, In<PathType> types, In<Id> clusters, int max_length,
           int threads, Counters progress) {
          std::vector<Count> tries;
          {
            nb::gil_scoped_release free;
            std::vector<Question> questions(types.shape(0));
            for (std::size_t at = 0; at < questions.size(); ++at)
              questions[at] = {question_clusters.data()[at], relations.data()[at], types.data()[at]};
            tries = walks(graph, questions, span(clusters), max_length, threads, Progress(progress.data()));
          }
          return array(std::move(tries));
        },
        nb::arg("graph"), nb::arg("question_clusters"), nb::arg("relations"), nb::arg("types"), nb::arg("clusters"),
        nb::arg("max_length"), nb::arg("threads"), nb::arg("progress"));

  m.def("reach",
        [](const Graph& graph, In<Id> entities, In<Id> relations, In<PathType> types, std::tuple<In<std::int64_t>, In<std::int32_t>> only,
           In<Count> widest, int max_length, int threads, Counters progress) {
          Reach sums;
          {
            nb::gil_scoped_release free;
            std::vector<Use> uses(types.shape(0));
            for (std::size_t at = 0; at < uses.size(); ++at) uses[at] = {relations.data()[at], types.data()[at]};
            const Only chosen{span(std::get<0>(only)), span(std::get<1>(only))};
            sums = reach(graph, span(entities), uses, chosen, span(widest), max_length, threads, Progress(progress.data()));
          }
          return nb::make_tuple(array(std::move(sums.reached)), array(std::move(sums.right)), array(std::move(sums.left_out)));
        },
        nb::arg("graph"), nb::arg("entities"), nb::arg("relations"), nb::arg("types"), nb::arg("only"), nb::arg("widest"),
        nb::arg("max_length"), nb::arg("threads"), nb::arg("progress"));

  m.def("bare_reach",
        [](const Graph& graph, In<Id> entities, In<Id> relations, In<PathType> types, int max_length, int threads) {
          nb::gil_scoped_release free;
          std::vector<Use> uses(types.shape(0));
          for (std::size_t at = 0; at < uses.size(); ++at) uses[at] = {relations.data()[at], types.data()[at]};
          return bare_reach(graph, span(entities), uses, max_length, threads);
        },
        nb::arg("graph"), nb::arg("entities"), nb::arg("relations"), nb::arg("types"), nb::arg("max_length"), nb::arg("threads"));

  m.def("bare_cycles",
        [](const Graph& graph, In<Id> rank, int max_length, Count additions, Count kinds, int threads) {
          nb::gil_scoped_release free;
          return bare_cycles(graph, span(rank), max_length, additions, kinds, threads);
        },
        nb::arg("graph"), nb::arg("rank"), nb::arg("max_length"), nb::arg("additions"), nb::arg("kinds"), nb::arg("threads"));

  m.def("crossing",
        [](const Graph& graph, In<Id> heads, In<Id> relations, In<Id> tails, Id relation, In<PathType> types, int max_length) {
          Crossing found;
          {
            nb::gil_scoped_release free;
            std::vector<Edge> edges(heads.shape(0));
            for (std::size_t at = 0; at < edges.size(); ++at) edges[at] = {heads.data()[at], relations.data()[at], tails.data()[at]};
            found = crossing(graph, edges, relation, span(types), max_length);
          }
          return nb::make_tuple(column<Id>(found.starts, &Pair::entity), column<Id>(found.starts, &Pair::place),
                                column<Id>(found.ends, &Pair::entity), column<Id>(found.ends, &Pair::place));
        },
        nb::arg("graph"), nb::arg("heads"), nb::arg("relations"), nb::arg("tails"), nb::arg("relation"), nb::arg("types"),
        nb::arg("max_length"));

  m.def("reach_back",
        [](const Graph& graph, In<Id> ends, Id relation, In<PathType> types, std::tuple<In<std::int64_t>, In<std::int32_t>> only,
           std::tuple<In<Id>, In<std::int32_t>> but, int max_length, int threads, Counters progress) {
          Reach sums;
          {
            nb::gil_scoped_release free;
            const Only chosen{span(std::get<0>(only)), span(std::get<1>(only))};
            std::vector<Pair> pairs(std::get<0>(but).shape(0));
            for (std::size_t at = 0; at < pairs.size(); ++at) pairs[at] = {std::get<0>(but).data()[at], std::get<1>(but).data()[at]};
            sums = reach_back(graph, span(ends), relation, span(types), chosen, pairs, max_length, threads, Progress(progress.data()));
          }
          return nb::make_tuple(array(std::move(sums.reached)), array(std::move(sums.right)));
        },
        nb::arg("graph"), nb::arg("ends"), nb::arg("relation"), nb::arg("types"), nb::arg("only"), nb::arg("but"), nb::arg("max_length"),
        nb::arg("threads"), nb::arg("progress"));

  m.def("average_linkage",
        [](In<std::int64_t> offsets, In<Id> relations, In<Count> members) {
          Tree tree;
          {
            nb::gil_scoped_release free;
            tree = average_linkage(span(offsets), span(relations), span(members));
          }
          return nb::make_tuple(array(std::move(tree.left)), array(std::move(tree.right)));
        },
        nb::arg("offsets"), nb::arg("relations"), nb::arg("members"));

  nb::class_<ClusterTree>(m, "ClusterTree", "A hierarchy of profiles.")
      .def(nb::init<>())
      .def("copy", [](const ClusterTree& tree) { return tree; })
      .def("root", &ClusterTree::root)
      .def("node",
           [](const ClusterTree& tree, Id node) {
             const ClusterTree::Node& at = tree.at(node);
             return nb::make_tuple(at.left, at.right, at.profile, at.size, at.linkage);
           },
           nb::arg("node"))
      .def("sum",
           [](const ClusterTree& tree, Id node) {
             const Sum& sum = *tree.at(node).sum;
             return nb::make_tuple(array(sum.relations), array(sum.values));
           },
           nb::arg("node"))
      .def("members", &ClusterTree::members, nb::arg("profile"))
      .def("shape", [](const ClusterTree& tree) { return array(tree.shape()); })
      .def("cut",
           [](const ClusterTree& tree, double threshold) {
             auto [profiles, clusters] = tree.cut(threshold);
             return nb::make_tuple(array(std::move(profiles)), array(std::move(clusters)));
           },
           nb::arg("threshold"))
      .def("leaf",
           [](ClusterTree& tree, Id profile, In<Id> relations, Count members) { return tree.leaf(profile, span(relations), members); },
           nb::arg("profile"), nb::arg("relations"), nb::arg("members"))
      .def("attach", &ClusterTree::attach, nb::arg("node"), nb::arg("beside"))
      .def("remove", &ClusterTree::remove, nb::arg("profile"))
      .def("resize", &ClusterTree::resize, nb::arg("profile"), nb::arg("members"))
      .def("insert",
           [](ClusterTree& tree, Id profile, In<Id> relations, Count members, In<Id> ranks) {
             nb::gil_scoped_release free;
             insert(tree, profile, span(relations), members, span(ranks));
           },
           nb::arg("profile"), nb::arg("relations"), nb::arg("members"), nb::arg("ranks"));

  nb::class_<Manner>(m, "Manner", "How evidence is gathered and combined.")
      .def(nb::init<>())
      .def_rw("max_length", &Manner::max_length)
      .def_rw("loop_free", &Manner::loop_free)
      .def_rw("walked", &Manner::walked)
      .def_rw("precedents", &Manner::precedents)
      .def_rw("doubt", &Manner::doubt)
      .def_rw("support", &Manner::support)
      .def_rw("habit", &Manner::habit)
      .def_rw("sum", &Manner::sum)
      .def_rw("discount", &Manner::discount)
      .def_rw("best", &Manner::best)
      .def_rw("budget", &Manner::budget);

  nb::class_<Workspaces>(m, "Workspaces", "The arrays that queries of one graph work with, kept for the next.").def(nb::init<>());

  nb::class_<OwnedAsking>(m, "Asking", "What all queries of one relation share.")
      .def(nb::init<const Graph&, Id, const WalkLists&, const Manner&, const In<Id>&>(), nb::keep_alive<1, 2>(), nb::arg("graph"),
           nb::arg("relation"), nb::arg("walk"), nb::arg("manner"), nb::arg("rank"));

  m.def("answers",
        [](const OwnedAsking& with, In<Id> entities, In<Id> lists, In<Id> left_out, Workspaces& workspaces, Count top, int threads) {
          Answers found;
          {
            nb::gil_scoped_release free;
            found = answers(with.asking, queries_of(entities, lists, left_out), workspaces, top, threads);
          }
          return nb::make_tuple(array(std::move(found.offsets)), array(std::move(found.entities)), array(std::move(found.scores)),
                                array(std::move(found.exact)), found.followed);
        },
        nb::arg("asking"), nb::arg("entities"), nb::arg("lists"), nb::arg("left_out"), nb::arg("workspaces"), nb::arg("top"),
        nb::arg("threads"));

  m.def("standings",
        [](const OwnedAsking& with, In<Id> entities, In<Id> lists, In<Id> left_out, Workspaces& workspaces,
           In<std::int64_t> target_offsets, In<Id> targets, In<std::int64_t> known_offsets, In<Id> known, int threads) {
          Standing standing;
          {
            nb::gil_scoped_release free;
            standing = standings(with.asking, queries_of(entities, lists, left_out), workspaces,
                                 {span(target_offsets), span(targets), span(known_offsets), span(known)}, threads);
          }
          return nb::make_tuple(array(std::move(standing.score)), array(std::move(standing.better)), array(std::move(standing.equal)),
                                array(std::move(standing.earlier)));
        },
        nb::arg("asking"), nb::arg("entities"), nb::arg("lists"), nb::arg("left_out"), nb::arg("workspaces"),
        nb::arg("target_offsets"), nb::arg("targets"), nb::arg("known_offsets"), nb::arg("known"), nb::arg("threads"));

  m.def("evidence",
        [](const OwnedAsking& with, In<Id> entities, In<Id> lists, In<Id> left_out, Workspaces& workspaces, Id answer) {
          std::vector<Evidence> pieces;
          {
            nb::gil_scoped_release free;
            pieces = evidence(with.asking, queries_of(entities, lists, left_out), workspaces, answer);
          }
          return nb::make_tuple(column<Id>(pieces, &Evidence::kind), column<Id>(pieces, &Evidence::relation),
                                column<Id>(pieces, &Evidence::tail), column<Id>(pieces, &Evidence::walked),
                                column<Count>(pieces, &Evidence::count), column<Count>(pieces, &Evidence::of),
                                column<double>(pieces, &Evidence::value));
        },
        nb::arg("asking"), nb::arg("entities"), nb::arg("lists"), nb::arg("left_out"), nb::arg("workspaces"), nb::arg("answer"));
}
