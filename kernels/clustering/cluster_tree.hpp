// The hierarchy of profiles (§2.2.2), which one call of HAC or many of GRINCH have grown, and its
// cut (Algorithm 1).
//
// For unit vectors the mean similarity over all pairs of an entity of A and an entity of B factors
// into the sums of the two clusters, (ΣA · ΣB) / |A||B|, so a node needs its sum and its size,
// never its members. They are its children's added up, made again on the way to the root whenever
// something below changes and never subtracted from, so they depend on the shape of the tree alone.
// Sums are sparse, as a small cluster knows few relations and a graph may have many; they are
// replaced and never written into, so that copies of a tree share them.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace casegraph {

struct Sum {
  std::vector<Id> relations;  // sorted
  std::vector<double> values;
};

class ClusterTree {
 public:
  static constexpr Id nothing = -1;  // in the place of a node or of a profile

  struct Node {
    Id parent = nothing, left = nothing, right = nothing;
    Id profile = nothing;  // of a leaf; nothing for a node that joins two
    Count size = 0;
    double linkage =
        1;  // of its children, to twelve digits: beyond them it depends on the order of addition
    double unit = 1;  // the value of each relation in the vector of a leaf
    std::shared_ptr<const Sum> sum = {};
  };

  Id root() const { return root_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& at(Id node) const { return nodes_[node]; }
  Id parent(Id node) const { return nodes_[node].parent; }
  Id sibling(Id node) const;
  Count members(Id profile) const;  // 0 if it is not in the tree
  const std::vector<Id>& having(Id relation) const { return *having_[relation]; }  // leaves
  double linkage(Id one, Id two) const;

  std::vector<Id> leaves(Id node) const;
  std::vector<Id> shape()
      const;  // the profile of each leaf, and nothing where the two before are joined

  // Each profile, and the node that is its cluster: from the root down, the first with a linkage
  // above the threshold.
  std::pair<std::vector<Id>, std::vector<Id>> cut(double threshold) const;

  Id leaf(Id profile, Ids relations, Count members);  // in no place yet, unless it is the first
  Id attach(Id node,
            Id beside);  // join a node that is in no place with another, in that one's place
  void detach(Id node);  // its sibling goes where its parent was
  void swap(Id node, Id higher);  // two that change places, `higher` beside a node above the other
  void remove(Id profile);
  void resize(Id profile, Count members);

  // What is true of ids that are asked for: a caller that cannot be trusted asks first.
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
  bool is_one_piece() const {
    return std::ssize(nodes_) - std::ssize(free_) == std::max<std::ptrdiff_t>(0, 2 * leaves_ - 1);
  }
  std::size_t known_relations() const { return having_.size(); }

  bool is_finished = true;  // whether nothing was interrupted that had begun to change the tree

 private:
  Id made(Node node);
  void free(Id node);
  void put(Id node, Id replaced, Id parent);
  void refresh(Id node);

  Id root_ = nothing;
  std::ptrdiff_t leaves_ = 0;
  std::vector<Node> nodes_;
  std::vector<Id> free_, leaf_;
  std::vector<std::shared_ptr<const std::vector<Id>>> having_;
};

}  // namespace casegraph
