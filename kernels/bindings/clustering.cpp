// Python's view of kernels/clustering.
//
// Methods of a tree that take microseconds do not release the interpreter: getting it back could
// take longer. A tree is changed by one thread at a time; its owner in Python sees to that.
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/clustering_checks.hpp"
#include "clustering/average_linkage.hpp"
#include "clustering/grinch.hpp"

namespace casegraph::bindings {
namespace {

using namespace nb::literals;

nb::tuple average_linkage_(In<std::int64_t> offsets, In<Id> relations, In<Count> members) {
  Tree tree = run(nullptr, [&](Progress& running) {
    checks::sets(span(offsets), span(relations), span(members));
    return average_linkage(span(offsets), span(relations), span(members), running);
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
  checks::profile_in_place(tree, profile);
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
  run(nullptr, [&](Progress& running) {
    insert(tree, profile, span(relations), members, span(ranks), running);
    return true;
  });
}

}  // namespace

void bind_clustering(nb::module_& m) {
  m.def("average_linkage", &average_linkage_, "offsets"_a, "relations"_a, "members"_a,
        "The tree of average-linkage clustering: the left and right child of each inner node.");

  nb::class_<ClusterTree>(m, "ClusterTree", "A hierarchy of profiles.")
      .def(nb::init<>())
      .def("copy", &copy_of, "A copy, which shares all sums.")
      .def("root", &ClusterTree::root, "The root, or -1.")
      .def("node", &node_of, "node"_a, "Left, right, profile, size and linkage of a node.")
      .def("sum", &sum_of, "node"_a, "The sum of all vectors of a node: relations and values.")
      .def("members", &ClusterTree::members, "profile"_a, "How many members a profile has, or 0.")
      .def("shape", &shape_of, "The tree in postorder: profiles, and -1 for each join.")
      .def("cut", &cut, "threshold"_a, "Each profile, and the node that is its cluster.")
      .def("leaf", &leaf, "profile"_a, "relations"_a, "members"_a, "A new leaf, in no place yet.")
      .def("attach", &attach, "node"_a, "beside"_a, "Join a node with another, in its place.")
      .def("remove", &remove_profile, "profile"_a, "Remove a leaf.")
      .def("resize", &resize, "profile"_a, "members"_a, "Change how many members a profile has.")
      .def("insert", &insert_profile, "profile"_a, "relations"_a, "members"_a, "ranks"_a,
           "Insert a profile as GRINCH does.");
}

}  // namespace casegraph::bindings
