#include "clustering/cluster_tree.hpp"

#include <algorithm>
#include <cmath>

namespace casegraph {
namespace {

std::shared_ptr<const Sum> sum_of(std::vector<Id> relations, Count members, double unit) {
  std::vector<double> values(relations.size(), static_cast<double>(members) * unit);
  return std::make_shared<const Sum>(Sum{std::move(relations), std::move(values)});
}

std::shared_ptr<const Sum> added(const Sum& one, const Sum& two) {
  Sum sum;
  sum.relations.reserve(one.relations.size() + two.relations.size());
  sum.values.reserve(one.relations.size() + two.relations.size());
  std::size_t a = 0, b = 0;
  while (a < one.relations.size() || b < two.relations.size()) {
    const bool first = b == two.relations.size() ||
                       (a < one.relations.size() && one.relations[a] <= two.relations[b]);
    const bool second = a == one.relations.size() ||
                        (b < two.relations.size() && two.relations[b] <= one.relations[a]);
    sum.relations.push_back(first ? one.relations[a] : two.relations[b]);
    sum.values.push_back((first ? one.values[a] : 0.0) + (second ? two.values[b] : 0.0));
    a += first;
    b += second;
  }
  return std::make_shared<const Sum>(std::move(sum));
}

double product(const Sum& one, const Sum& two) {
  double total = 0;
  std::size_t a = 0, b = 0;
  while (a < one.relations.size() && b < two.relations.size()) {
    const Id left = one.relations[a], right = two.relations[b];
    if (left == right)
      total += one.values[a] * two.values[b];
    a += left <= right;
    b += right <= left;
  }
  return total;
}

}  // namespace

Count ClusterTree::members(Id profile) const {
  return has_profile(profile) ? nodes_[leaf_[profile]].size : 0;
}

Id ClusterTree::sibling(Id node) const {
  const Node& above = nodes_[nodes_[node].parent];
  return above.left == node ? above.right : above.left;
}

double ClusterTree::linkage(Id one, Id two) const {
  const Node &a = nodes_[one], &b = nodes_[two];
  const double pairs = static_cast<double>(a.size) * static_cast<double>(b.size);
  return std::round(product(*a.sum, *b.sum) / pairs * 1e12) / 1e12;
}

bool ClusterTree::is_above(Id node, Id other) const {
  while (other != nothing && other != node)
    other = nodes_[other].parent;
  return other == node;
}

std::vector<Id> ClusterTree::leaves(Id node) const {
  std::vector<Id> found, stack{node};
  while (!stack.empty()) {
    const Id next = stack.back();
    stack.pop_back();
    if (nodes_[next].profile != nothing) {
      found.push_back(next);
    } else {
      stack.push_back(nodes_[next].right);
      stack.push_back(nodes_[next].left);
    }
  }
  return found;
}

std::vector<Id> ClusterTree::shape() const {
  std::vector<Id> reversed, stack;
  if (root_ != nothing)
    stack.push_back(root_);
  while (!stack.empty()) {
    const Node& node = nodes_[stack.back()];
    stack.pop_back();
    reversed.push_back(node.profile);
    if (node.profile == nothing) {
      stack.push_back(node.left);
      stack.push_back(node.right);
    }
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

std::pair<std::vector<Id>, std::vector<Id>> ClusterTree::cut(double threshold) const {
  std::vector<Id> profiles, clusters, frontier;
  if (root_ != nothing)
    frontier.push_back(root_);
  while (!frontier.empty()) {
    const Id node = frontier.back();
    frontier.pop_back();
    if (nodes_[node].profile != nothing || nodes_[node].linkage > threshold) {
      for (Id leaf : leaves(node))
        profiles.push_back(nodes_[leaf].profile);
      clusters.resize(profiles.size(), node);
    } else {
      frontier.push_back(nodes_[node].left);
      frontier.push_back(nodes_[node].right);
    }
  }
  return {std::move(profiles), std::move(clusters)};
}

Id ClusterTree::leaf(Id profile, Ids relations, Count members) {
  const double unit = 1 / std::sqrt(static_cast<double>(relations.size()));
  const auto sum = sum_of({relations.begin(), relations.end()}, members, unit);
  const Id node = made({nothing, nothing, nothing, profile, members, 1, unit, sum});
  ++leaves_;
  if (profile >= std::ssize(leaf_))
    leaf_.resize(profile + 1, nothing);
  leaf_[profile] = node;
  for (Id relation : relations) {
    if (relation >= std::ssize(having_))
      having_.resize(relation + 1, std::make_shared<const std::vector<Id>>());
    auto leaves = std::make_shared<std::vector<Id>>(*having_[relation]);
    leaves->push_back(node);
    having_[relation] = std::move(leaves);
  }
  if (root_ == nothing)
    root_ = node;
  return node;
}

Id ClusterTree::attach(Id node, Id beside) {
  const Id above = nodes_[beside].parent;
  const Id joined = made({nothing, beside, node, nothing});
  put(joined, beside, above);
  nodes_[beside].parent = nodes_[node].parent = joined;
  refresh(joined);
  while (nodes_[root_].parent != nothing)
    root_ = nodes_[root_].parent;  // the root itself may have been attached
  return joined;
}

void ClusterTree::detach(Id node) {
  const Id joined = nodes_[node].parent, other = sibling(node);
  put(other, joined, nodes_[joined].parent);
  nodes_[node].parent = nothing;
  free(joined);
  refresh(nodes_[other].parent);
}

void ClusterTree::swap(Id node, Id higher) {
  const Id above = nodes_[node].parent, far_above = nodes_[higher].parent;
  put(node, higher, far_above);
  put(higher, node, above);
  refresh(above);
}

void ClusterTree::remove(Id profile) {
  const Id node = leaf_[profile];
  for (Id relation : nodes_[node].sum->relations) {
    auto leaves = std::make_shared<std::vector<Id>>(*having_[relation]);
    leaves->erase(std::find(leaves->begin(), leaves->end(), node));
    having_[relation] = std::move(leaves);
  }
  leaf_[profile] = nothing;
  --leaves_;
  if (node == root_) {
    root_ = nothing;
  } else {
    detach(node);
  }
  free(node);
}

void ClusterTree::resize(Id profile, Count members) {
  Node& leaf = nodes_[leaf_[profile]];
  leaf.size = members;
  leaf.sum = sum_of(leaf.sum->relations, members, leaf.unit);
  refresh(leaf.parent);
}

Id ClusterTree::made(Node node) {
  if (free_.empty()) {
    nodes_.push_back(std::move(node));
    return static_cast<Id>(nodes_.size() - 1);
  }
  const Id place = free_.back();
  free_.pop_back();
  nodes_[place] = std::move(node);
  return place;
}

void ClusterTree::free(Id node) {
  nodes_[node] = {};
  free_.push_back(node);
}

void ClusterTree::put(Id node, Id replaced, Id parent) {
  nodes_[node].parent = parent;
  if (parent == nothing) {
    root_ = node;
  } else {
    (nodes_[parent].left == replaced ? nodes_[parent].left : nodes_[parent].right) = node;
  }
}

void ClusterTree::refresh(Id node) {
  for (; node != nothing; node = nodes_[node].parent) {
    Node& joined = nodes_[node];
    const Node &one = nodes_[joined.left], &two = nodes_[joined.right];
    joined.size = one.size + two.size;
    joined.sum = added(*one.sum, *two.sum);
    joined.linkage = linkage(joined.left, joined.right);
  }
}

}  // namespace casegraph
