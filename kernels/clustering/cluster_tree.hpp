// The hierarchy of profiles (§2.2.2), grown by one call of HAC or many of GRINCH, and its cut
// (Algorithm 1).
//
// For unit vectors the mean similarity over all pairs of an entity of A and an entity of B factors
// into the sums of the two clusters:
//
//     1/|A||B| Σ_x Σ_y x·y  =  (ΣA · ΣB) / |A||B|
//
// So a node needs the sum and the number of its members, never the members.
//
// Invariants: the sum of a node is the sum of its children, added when something below changes and
// never subtracted from, so that it depends on the shape of the tree alone. Sums are sparse, since
// a small cluster has few of maybe many relations. They are replaced and never written into, so
// that copies of a tree share them.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/ids.hpp"

namespace casegraph {

// A sparse vector over relations.
struct Sum {
  std::vector<Id> relations;  // sorted
  std::vector<double> values;
};

class ClusterTree {
 public:
  static constexpr Id nothing = -1;  // in the place of a node or of a profile

  struct Node {
    Id parent = nothing;
    Id left = nothing;
    Id right = nothing;
    Id profile = nothing;  // of a leaf; nothing for a node that joins two
    Count size = 0;        // members of all leaves below
    double linkage =
        1;            // of its children, to twelve digits: beyond, it depends on the order of sums
    double unit = 1;  // the value of each relation in the vector of a leaf
    std::shared_ptr<const Sum> sum = {};
  };

  Id root() const { return root_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& at(Id node) const { return nodes_[node]; }
  Id parent(Id node) const { return nodes_[node].parent; }
  Id sibling(Id node) const;
  double linkage(Id one, Id two) const;

  // How many members a profile has; 0 if it is not in the tree.
  Count members(Id profile) const;

  // The leaves that have a relation.
  const std::vector<Id>& having(Id relation) const { return *having_[relation]; }

  // The leaves below a node.
  std::vector<Id> leaves(Id node) const;

  // The tree in postorder: the profile of each leaf, and `nothing` where the two before are joined.
  std::vector<Id> shape() const;

  // Each profile, and the node that is its cluster: the first from the root down that has a linkage
  // above the threshold.
  std::pair<std::vector<Id>, std::vector<Id>> cut(double threshold) const;

  // Make a leaf. It is in no place yet, unless it is the first.
  Id leaf(Id profile, Ids relations, Count members);

  // Join a node that is in no place with another, where that one was. Returns the joining node.
  Id attach(Id node, Id beside);

  // Take a node out of its place. Its sibling goes where its parent was.
  void detach(Id node);

  // Let two nodes change places; the parent of `higher` is above `node`.
  void swap(Id node, Id higher);

  void remove(Id profile);
  void resize(Id profile, Count members);

  // For checking ids from outside.
  bool has_node(Id node) const {
    return node >= 0 && node < std::ssize(nodes_) && nodes_[node].sum != nullptr;
  }
  bool has_profile(Id profile) const {
    return profile >= 0 && profile < std::ssize(leaf_) && leaf_[profile] != nothing;
  }
  bool is_in_place(Id profile) const {
    return leaf_[profile] == root_ || parent(leaf_[profile]) != nothing;
  }
  bool is_above(Id node, Id other) const;
  // A binary tree with k leaves has 2k - 1 nodes; with more, some are in no place.
  bool is_one_piece() const {
    const std::ptrdiff_t nodes = std::ssize(nodes_) - std::ssize(free_);
    return nodes == std::max<std::ptrdiff_t>(0, 2 * leaves_ - 1);
  }
  std::size_t known_relations() const { return having_.size(); }

  bool is_finished = true;  // false once a change was interrupted

 private:
  Id made(Node node);
  void free(Id node);
  void put(Id node, Id replaced, Id parent);
  void refresh(Id node);

  Id root_ = nothing;
  std::ptrdiff_t leaves_ = 0;
  std::vector<Node> nodes_;
  std::vector<Id> free_;                                        // places of nodes that are no more
  std::vector<Id> leaf_;                                        // by profile
  std::vector<std::shared_ptr<const std::vector<Id>>> having_;  // by relation: leaves
};

}  // namespace casegraph
