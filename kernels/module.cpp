// The kernels as Python sees them: arrays in, arrays out, the interpreter free to do other things meanwhile.
//
// Here, and only here, arrays are checked against each other and against the graph, and a Ctrl-C is heard.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "asking.hpp"
#include "checks.hpp"
#include "closed_paths.hpp"
#include "crossing.hpp"
#include "cycles.hpp"
#include "graph.hpp"
#include "grinch.hpp"
#include "limits.hpp"
#include "linkage.hpp"
#include "reach.hpp"
#include "reach_cost.hpp"
#include "walks.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace casegraph;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Counters = nb::ndarray<std::int64_t, nb::shape<2>, nb::c_contig, nb::device::cpu>;

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

// While it lives, this thread does not hold the interpreter.
class Released {
 public:
  Released() : thread_(PyEval_SaveThread()) {}
  ~Released() { PyEval_RestoreThread(thread_); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  // Let Python run its signal handlers, if this is the thread that does; whether one of them raised an exception.
  bool is_interrupted() {
    PyEval_RestoreThread(thread_);
    const bool has_raised = PyErr_CheckSignals() != 0;
    thread_ = PyEval_SaveThread();
    return has_raised;
  }

 private:
  PyThreadState* thread_;
};

// Run a kernel with the interpreter released. A signal handler that raises ends it with what it raised.
template <class Kernel>
auto run(std::int64_t* counters, const Kernel& kernel) {
  try {
    Released released;
    Progress progress(counters, [&released] { return released.is_interrupted(); });
    return kernel(progress);
  } catch (const Stopped&) {
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    throw std::runtime_error("interrupted");  // by whoever wrote to the counters
  }
}

std::shared_ptr<const Edges> edges_of(In<Id> heads, In<Id> offsets, In<Id> tails) {
  const Survey survey = checks::edges(span(heads), span(offsets), span(tails));
  auto owner = std::make_shared<std::tuple<In<Id>, In<Id>, In<Id>>>(heads, offsets, tails);
  return std::make_shared<const Edges>(span(heads), span(offsets), span(tails), survey, owner);
}

using Relations = std::vector<std::shared_ptr<const Edges>>;

void make_graph(Graph* into, Id entities, const Relations& relations) {
  checks::graph(entities, relations);
  new (into) Graph(entities, relations);
}

std::size_t index_bytes(const Graph& graph) {
  std::size_t bytes = 0;
  for (const auto& edges : graph.relations) bytes += edges->index_bytes();
  return bytes;
}

nb::tuple profiles_(const Graph& graph, In<Id> entities) {
  checks::entities("entities", span(entities), graph);
  Profiles found = run(nullptr, [&](Progress& progress) { return profiles(graph, span(entities), progress); });
  return nb::make_tuple(array(std::move(found.offsets)), array(std::move(found.relations)));
}

Out<Count> walks_from_each_(const Graph& graph, int steps) {
  checks::in_range("steps", steps, 0, checks::longest_path);
  return array(run(nullptr, [&](Progress& progress) { return walks_from_each(graph, steps, progress); }));
}

nb::tuple closed_paths_(const Graph& graph, In<Id> entities, In<Id> clusters, In<bool> wanted, int max_length,
                        int longest, int threads, Counters progress) {
  checks::entities("entities", span(entities), graph);
  checks::lengths("clusters", clusters.shape(0), "the entities", static_cast<std::size_t>(graph.entities));
  checks::ids("clusters", span(clusters), -1);
  if (wanted.shape(0) != 0) checks::lengths("wanted", wanted.shape(0), "the relations", graph.relations.size());
  checks::max_length(max_length, graph);
  checks::in_range("longest", longest, 0, max_length);
  threads = checks::threads(threads);
  const std::vector<bool> chosen(wanted.data(), wanted.data() + wanted.shape(0));
  const std::vector<Hits> rows = run(progress.data(), [&](Progress& told) {
    return closed_paths(graph, span(entities), span(clusters), chosen, max_length, longest, threads, told);
  });
  return nb::make_tuple(column<Id>(rows, &Hits::cluster), column<Id>(rows, &Hits::relation),
                        column<PathType>(rows, &Hits::type), column<Count>(rows, &Hits::hits));
}

nb::tuple cycles_(const Graph& graph, In<Id> tops, In<Id> rank, int max_length, std::tuple<Count, Count> limit,
                  int threads, Counters progress) {
  checks::entities("tops", span(tops), graph);
  checks::lengths("rank", rank.shape(0), "the entities", static_cast<std::size_t>(graph.entities));
  checks::max_length(max_length, graph);
  checks::in_range("the limit of work", std::get<0>(limit), 0, INT64_MAX);
  checks::in_range("the limit of kinds", std::get<1>(limit), 0, INT64_MAX);
  threads = checks::threads(threads);
  const Limit most{std::get<0>(limit), std::get<1>(limit)};
  Counted counted = run(progress.data(), [&](Progress& told) {
    return cycles(graph, span(tops), span(rank), max_length, most, threads, told);
  });
  const std::vector<Hits>& rows = counted.rows;
  return nb::make_tuple(column<Id>(rows, &Hits::relation), column<PathType>(rows, &Hits::type),
                        column<Count>(rows, &Hits::hits), array(std::move(counted.work)));
}

nb::tuple cycles_through_(const Graph& graph, Id head, Id relation, Id tail, int max_length, int longest) {
  checks::in_range("head", head, 0, graph.entities - 1);
  checks::in_range("tail", tail, 0, graph.entities - 1);
  checks::relation("relation", relation, graph);
  checks::max_length(max_length, graph);
  checks::in_range("longest", longest, 0, max_length);
  Cycles found = run(nullptr, [&](Progress& progress) {
    return cycles_through(graph, {head, relation, tail}, max_length, longest, progress);
  });
  const std::vector<Hits>& rows = found.rows;
  return nb::make_tuple(column<Id>(rows, &Hits::relation), column<PathType>(rows, &Hits::type),
                        column<Count>(rows, &Hits::hits), array(std::move(found.entities)), found.cycles);
}

Out<Count> walks_(const Graph& graph, In<Id> question_clusters, In<Id> relations, In<PathType> types,
                  In<Id> clusters, int max_length, int threads, Counters progress) {
  checks::path_types(span(types), max_length, graph);
  checks::lengths("question_clusters", question_clusters.shape(0), "types", types.shape(0));
  checks::ids("question_clusters", span(question_clusters), -1);
  checks::lengths("relations", relations.shape(0), "types", types.shape(0));
  checks::relations("relations", span(relations), graph);
  checks::lengths("clusters", clusters.shape(0), "the entities", static_cast<std::size_t>(graph.entities));
  checks::ids("clusters", span(clusters), -1);
  threads = checks::threads(threads);
  return array(run(progress.data(), [&](Progress& told) {
    std::vector<Question> questions(types.shape(0));
    for (std::size_t at = 0; at < questions.size(); ++at)
      questions[at] = {question_clusters.data()[at], relations.data()[at], types.data()[at]};
    return walks(graph, questions, span(clusters), max_length, threads, told);
  }));
}

std::vector<Use> uses_of(const Graph& graph, const In<Id>& relations, const In<PathType>& types, int max_length) {
  checks::path_types(span(types), max_length, graph);
  checks::lengths("relations", relations.shape(0), "types", types.shape(0));
  checks::relations("relations", span(relations), graph);
  std::vector<Use> uses(types.shape(0));
  for (std::size_t at = 0; at < uses.size(); ++at) uses[at] = {relations.data()[at], types.data()[at]};
  return uses;
}

using Places = std::tuple<In<std::int64_t>, In<std::int32_t>>;  // offsets, and places of path types

Only only_of(const Places& given, std::size_t entities, std::size_t types) {
  const Only only{span(std::get<0>(given)), span(std::get<1>(given))};
  checks::only(only, entities, types);
  return only;
}

// An entity that came after this state of the graph reaches nothing, and may be asked about.
nb::tuple reach_(const Graph& graph, In<Id> entities, In<Id> relations, In<PathType> types, const Places& only,
                 In<Count> widest, int max_length, int threads, Counters progress) {
  const std::vector<Use> uses = uses_of(graph, relations, types, max_length);
  checks::ids("entities", span(entities), 0);
  const Only chosen = only_of(only, entities.shape(0), types.shape(0));
  if (widest.shape(0) != 0) checks::lengths("widest", widest.shape(0), "types", types.shape(0));
  for (Count most : span(widest)) checks::in_range("widest", most, 0, INT64_MAX);
  threads = checks::threads(threads);
  Reach sums = run(progress.data(), [&](Progress& told) {
    return reach(graph, span(entities), uses, chosen, span(widest), max_length, threads, told);
  });
  return nb::make_tuple(array(std::move(sums.reached)), array(std::move(sums.right)), array(std::move(sums.left_out)));
}

nb::tuple reach_back_(const Graph& graph, In<Id> ends, Id relation, In<PathType> types, const Places& only,
                      const std::tuple<In<Id>, In<std::int32_t>>& but, int max_length, int threads, Counters progress) {
  checks::path_types(span(types), max_length, graph);
  checks::relation("relation", relation, graph);
  checks::ids("ends", span(ends), 0);
  const Only chosen = only_of(only, ends.shape(0), types.shape(0));
  checks::require(ends.shape(0) == 0 || !chosen.offsets.empty(), "ends have no places of path types");
  const auto& [starts, places] = but;
  checks::ids("starts", span(starts), 0);
  checks::lengths("places of starts", places.shape(0), "starts", starts.shape(0));
  checks::ids("places of starts", span(places), 0, static_cast<std::int64_t>(types.shape(0)));
  threads = checks::threads(threads);
  std::vector<Pair> pairs(starts.shape(0));
  for (std::size_t at = 0; at < pairs.size(); ++at) pairs[at] = {starts.data()[at], places.data()[at]};
  checks::require(std::is_sorted(pairs.begin(), pairs.end()), "starts are not sorted");
  Reach sums = run(progress.data(), [&](Progress& told) {
    return reach_back(graph, span(ends), relation, span(types), chosen, pairs, max_length, threads, told);
  });
  return nb::make_tuple(array(std::move(sums.reached)), array(std::move(sums.right)));
}

nb::tuple reach_cost_(const Graph& graph, Id relation, In<PathType> types, int max_length, Count most, int threads) {
  checks::path_types(span(types), max_length, graph);
  checks::relation("relation", relation, graph);
  checks::in_range("most", most, 0, INT64_MAX);
  threads = checks::threads(threads);
  ReachCost cost = run(nullptr, [&](Progress& progress) {
    return reach_cost(graph, relation, span(types), max_length, most, threads, progress);
  });
  return nb::make_tuple(array(std::move(cost.of_step)), array(std::move(cost.visits)), array(std::move(cost.dearest)),
                        array(std::move(cost.visits_of_type)));
}

Count bare_reach_(const Graph& graph, In<Id> entities, In<Id> relations, In<PathType> types, int max_length,
                  int threads) {
  const std::vector<Use> uses = uses_of(graph, relations, types, max_length);
  checks::entities("entities", span(entities), graph);
  threads = checks::threads(threads);
  return run(nullptr, [&](Progress& progress) {
    return bare_reach(graph, span(entities), uses, max_length, threads, progress);
  });
}

Count bare_cycles_(const Graph& graph, In<Id> rank, int max_length, Count additions, Count kinds, int threads) {
  checks::lengths("rank", rank.shape(0), "the entities", static_cast<std::size_t>(graph.entities));
  checks::max_length(max_length, graph);
  checks::in_range("additions", additions, 0, INT64_MAX / 2);
  checks::in_range("kinds", kinds, 1, 1 << 26);  // each thread has an array of them
  threads = checks::threads(threads);
  return run(nullptr, [&](Progress& progress) {
    return bare_cycles(graph, span(rank), max_length, additions, kinds, threads, progress);
  });
}

nb::tuple crossing_(const Graph& graph, In<Id> heads, In<Id> relations, In<Id> tails, Id relation,
                    In<PathType> types, int max_length) {
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
  const Crossing found = run(nullptr, [&](Progress& progress) {
    return crossing(graph, edges, relation, span(types), max_length, progress);
  });
  return nb::make_tuple(column<Id>(found.starts, &Pair::entity), column<Id>(found.starts, &Pair::place),
                        column<Id>(found.ends, &Pair::entity), column<Id>(found.ends, &Pair::place));
}

nb::tuple average_linkage_(In<std::int64_t> offsets, In<Id> relations, In<Count> members) {
  checks::sets(span(offsets), span(relations), span(members));
  Tree tree = run(nullptr, [&](Progress& progress) {
    return average_linkage(span(offsets), span(relations), span(members), progress);
  });
  return nb::make_tuple(array(std::move(tree.left)), array(std::move(tree.right)));
}

ClusterTree copy_of(const ClusterTree& tree) {
  checks::finished(tree);
  return tree;
}

nb::tuple node_of(const ClusterTree& tree, Id node) {
  checks::node(tree, node);
  const ClusterTree::Node& at = tree.at(node);
  return nb::make_tuple(at.left, at.right, at.profile, at.size, at.linkage);
}

nb::tuple sum_of(const ClusterTree& tree, Id node) {
  checks::node(tree, node);
  const Sum& sum = *tree.at(node).sum;
  return nb::make_tuple(array(sum.relations), array(sum.values));
}

Out<Id> shape_of(const ClusterTree& tree) {
  checks::finished(tree);
  return array(tree.shape());
}

nb::tuple cut(const ClusterTree& tree, double threshold) {
  checks::finished(tree);
  auto [profiles, clusters] = tree.cut(threshold);
  return nb::make_tuple(array(std::move(profiles)), array(std::move(clusters)));
}

Id leaf(ClusterTree& tree, Id profile, In<Id> relations, Count members) {
  checks::leaf(tree, profile, span(relations), members);
  return tree.leaf(profile, span(relations), members);
}

Id attach(ClusterTree& tree, Id node, Id beside) {
  checks::attachment(tree, node, beside);
  return tree.attach(node, beside);
}

void remove_profile(ClusterTree& tree, Id profile) {
  checks::profile(tree, profile);
  checks::require(tree.is_in_place(profile), "profile " + std::to_string(profile) + " is in no place");
  tree.remove(profile);
}

void resize(ClusterTree& tree, Id profile, Count members) {
  checks::profile(tree, profile);
  checks::require(members >= 1, "a profile has no members");
  tree.resize(profile, members);
}

void insert_profile(ClusterTree& tree, Id profile, In<Id> relations, Count members, In<Id> ranks) {
  checks::leaf(tree, profile, span(relations), members);
  checks::insertion(tree, span(relations), span(ranks));
  run(nullptr, [&](Progress& progress) {
    insert(tree, profile, span(relations), members, span(ranks), progress);
    return true;
  });
}

using WalkLists = std::tuple<In<PathType>, In<std::int64_t>, In<std::int32_t>, In<double>>;

Lists lists_of(const WalkLists& given) {
  const auto& [types, offsets, walked, weights] = given;
  return {span(types), span(offsets), span(walked), span(weights)};
}

// An `Asking` with the arrays it looks into; the graph is kept alive by Python.
struct OwnedAsking {
  OwnedAsking(const Graph& graph, Id relation, const WalkLists& walk_, const Manner& manner, const In<Id>& rank_,
              Progress& progress)
      : walk(walk_), rank(rank_), asking(graph, relation, lists_of(walk), manner, span(rank), progress) {}

  const WalkLists walk;
  const In<Id> rank;
  const Asking asking;
};

void make_asking(OwnedAsking* into, const Graph& graph, Id relation, const WalkLists& walk, const Manner& manner,
                 const In<Id>& rank) {
  checks::asking(graph, relation, lists_of(walk), manner, span(rank));
  run(nullptr, [&](Progress& progress) { return new (into) OwnedAsking(graph, relation, walk, manner, rank, progress); });
}

Queries queries_of(const OwnedAsking& with, const In<Id>& entities, const In<Id>& lists, const In<Id>& left_out) {
  const Queries queries{span(entities), span(lists), span(left_out)};
  checks::queries(queries, with.asking);
  return queries;
}

nb::tuple answers_(const OwnedAsking& with, In<Id> entities, In<Id> lists, In<Id> left_out, Workspaces& workspaces,
                   Count top, int threads) {
  const Queries queries = queries_of(with, entities, lists, left_out);
  threads = checks::threads(threads);
  Answers found = run(nullptr, [&](Progress& progress) {
    return answers(with.asking, queries, workspaces, top, threads, progress);
  });
  return nb::make_tuple(array(std::move(found.offsets)), array(std::move(found.entities)),
                        array(std::move(found.scores)), array(std::move(found.exact)), found.followed);
}

nb::tuple standings_(const OwnedAsking& with, In<Id> entities, In<Id> lists, In<Id> left_out, Workspaces& workspaces,
                     In<std::int64_t> target_offsets, In<Id> targets, In<std::int64_t> known_offsets, In<Id> known,
                     int threads) {
  const Queries queries = queries_of(with, entities, lists, left_out);
  const Targets ranked{span(target_offsets), span(targets), span(known_offsets), span(known)};
  checks::targets(ranked, queries.entities.size());
  threads = checks::threads(threads);
  Standing standing = run(nullptr, [&](Progress& progress) {
    return standings(with.asking, queries, workspaces, ranked, threads, progress);
  });
  return nb::make_tuple(array(std::move(standing.score)), array(std::move(standing.better)),
                        array(std::move(standing.equal)), array(std::move(standing.earlier)));
}

nb::tuple evidence_(const OwnedAsking& with, In<Id> entities, In<Id> lists, In<Id> left_out, Workspaces& workspaces,
                    Id answer) {
  const Queries queries = queries_of(with, entities, lists, left_out);
  checks::lengths("entities", queries.entities.size(), "one answer", 1);
  checks::in_range("answer", answer, 0, with.asking.graph.entities - 1);
  const std::vector<Evidence> pieces = run(nullptr, [&](Progress& progress) {
    return evidence(with.asking, queries, workspaces, answer, progress);
  });
  return nb::make_tuple(column<Id>(pieces, &Evidence::kind), column<Id>(pieces, &Evidence::relation),
                        column<Id>(pieces, &Evidence::tail), column<Id>(pieces, &Evidence::walked),
                        column<Count>(pieces, &Evidence::count), column<Count>(pieces, &Evidence::of),
                        column<double>(pieces, &Evidence::value));
}

NB_MODULE(kernels, m) {
  nb::set_leak_warnings(false);  // whoever holds a graph until the interpreter ends may do so
  m.doc() = "The loops of casegraph that a profile named, as functions of arrays.";

  nb::class_<Edges>(m, "Edges", "The edges of one relation, indexed by head.")
      .def_static("of", &edges_of, "heads"_a, "offsets"_a, "tails"_a);

  nb::class_<Graph>(m, "Graph", "All relations, each with its inverse after it.")
      .def("__init__", &make_graph, "entities"_a, "relations"_a)
      .def_ro("entities", &Graph::entities)
      .def("index_bytes", &index_bytes);

  m.def("profiles", &profiles_, "graph"_a, "entities"_a);
  m.def("walks_from_each", &walks_from_each_, "graph"_a, "steps"_a);
  m.def("closed_paths", &closed_paths_, "graph"_a, "entities"_a, "clusters"_a, "wanted"_a, "max_length"_a,
        "longest"_a, "threads"_a, "progress"_a);
  m.def("cycles", &cycles_, "graph"_a, "tops"_a, "rank"_a, "max_length"_a, "limit"_a, "threads"_a, "progress"_a);
  m.def("cycles_through", &cycles_through_, "graph"_a, "head"_a, "relation"_a, "tail"_a, "max_length"_a,
        "longest"_a);
  m.def("walks", &walks_, "graph"_a, "question_clusters"_a, "relations"_a, "types"_a, "clusters"_a, "max_length"_a,
        "threads"_a, "progress"_a);
  m.def("reach", &reach_, "graph"_a, "entities"_a, "relations"_a, "types"_a, "only"_a, "widest"_a, "max_length"_a,
        "threads"_a, "progress"_a);
  m.def("reach_cost", &reach_cost_, "graph"_a, "relation"_a, "types"_a, "max_length"_a, "most"_a, "threads"_a);
  m.def("reach_back", &reach_back_, "graph"_a, "ends"_a, "relation"_a, "types"_a, "only"_a, "but"_a, "max_length"_a,
        "threads"_a, "progress"_a);
  m.def("bare_reach", &bare_reach_, "graph"_a, "entities"_a, "relations"_a, "types"_a, "max_length"_a, "threads"_a);
  m.def("bare_cycles", &bare_cycles_, "graph"_a, "rank"_a, "max_length"_a, "additions"_a, "kinds"_a, "threads"_a);
  m.def("crossing", &crossing_, "graph"_a, "heads"_a, "relations"_a, "tails"_a, "relation"_a, "types"_a,
        "max_length"_a);
  m.def("average_linkage", &average_linkage_, "offsets"_a, "relations"_a, "members"_a);

  nb::class_<ClusterTree>(m, "ClusterTree", "A hierarchy of profiles.")
      .def(nb::init<>())
      .def("copy", &copy_of)
      .def("root", &ClusterTree::root)
      .def("node", &node_of, "node"_a)
      .def("sum", &sum_of, "node"_a)
      .def("members", &ClusterTree::members, "profile"_a)
      .def("shape", &shape_of)
      .def("cut", &cut, "threshold"_a)
      .def("leaf", &leaf, "profile"_a, "relations"_a, "members"_a)
      .def("attach", &attach, "node"_a, "beside"_a)
      .def("remove", &remove_profile, "profile"_a)
      .def("resize", &resize, "profile"_a, "members"_a)
      .def("insert", &insert_profile, "profile"_a, "relations"_a, "members"_a, "ranks"_a);

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

  nb::class_<Workspaces>(m, "Workspaces", "The arrays that queries of one graph work with, kept for the next.")
      .def(nb::init<>());

  nb::class_<OwnedAsking>(m, "Asking", "What all queries of one relation share.")
      .def("__init__", &make_asking, nb::keep_alive<1, 2>(), "graph"_a, "relation"_a, "walk"_a, "manner"_a, "rank"_a);

  m.def("answers", &answers_, "asking"_a, "entities"_a, "lists"_a, "left_out"_a, "workspaces"_a, "top"_a, "threads"_a);
  m.def("standings", &standings_, "asking"_a, "entities"_a, "lists"_a, "left_out"_a, "workspaces"_a,
        "target_offsets"_a, "targets"_a, "known_offsets"_a, "known"_a, "threads"_a);
  m.def("evidence", &evidence_, "asking"_a, "entities"_a, "lists"_a, "left_out"_a, "workspaces"_a, "answer"_a);
}
