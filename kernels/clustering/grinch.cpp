#include "clustering/grinch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace casegraph {
namespace {

// The greatest product of two parallel values; in four parts, as each comparison waits for the one
// before.
double greatest(std::span<const double> values, std::span<const double> others) {
  std::array<double, 4> most;
  most.fill(-std::numeric_limits<double>::infinity());
  std::size_t at = 0;
  for (; at + 4 <= values.size(); at += 4)
    for (std::size_t part = 0; part < 4; ++part)
      most[part] = std::max(most[part], values[at + part] * others[at + part]);
  for (; at < values.size(); ++at)
    most[0] = std::max(most[0], values[at] * others[at]);
  return *std::max_element(most.begin(), most.end());
}

class Insertion {
 public:
  Insertion(ClusterTree& tree, Ids ranks, Progress& progress)
      : tree_(tree), ranks_(ranks), steps_(progress) {
    for (const ClusterTree::Node& node : tree.nodes()) {
      products_.push_back(node.profile == ClusterTree::nothing ? held : 0);
      units_.push_back(node.unit);
    }
  }

  void place(Id leaf) {
    hold(leaf);
    Id beside = nearest(leaf);
    while (tree_.parent(beside) != ClusterTree::nothing &&
           linkage(beside, leaf) < tree_.at(tree_.parent(beside)).linkage)
      beside = tree_.parent(beside);
    Id node = tree_.attach(leaf, beside);
    hold(beside);
    while (node != tree_.root())
      node = grafted(node);
  }

 private:
  static constexpr double held = -std::numeric_limits<double>::infinity();
  static constexpr std::size_t block = 64;

  double linkage(Id one, Id two) {
    steps_.take(std::ssize(tree_.at(one).sum->relations) +
                std::ssize(tree_.at(two).sum->relations));
    return tree_.linkage(one, two);
  }

  // Let what is held grow by a node.
  void hold(Id node) {
    const Sum& sum = *tree_.at(node).sum;
    for (std::size_t place = 0; place < sum.relations.size(); ++place) {
      const std::vector<Id>& leaves = tree_.having(sum.relations[place]);
      steps_.take(std::ssize(leaves));
      for (Id leaf : leaves)
        products_[leaf] += sum.values[place];
    }
    for (Id leaf : tree_.leaves(node)) {
      steps_.take();
      products_[leaf] = held;
    }
  }

  // The leaf that is nearest to a node, which is what is held. Only blocks that reach the greatest
  // product are looked at twice.
  Id nearest(Id node) {
    greatest_.clear();
    steps_.take(std::ssize(products_));
    for (std::size_t start = 0; start < products_.size(); start += block) {
      const std::size_t length = std::min(block, products_.size() - start);
      greatest_.push_back(
          greatest({products_.data() + start, length}, {units_.data() + start, length}));
    }
    const auto size = static_cast<double>(tree_.at(node).size);
    const double most = *std::max_element(greatest_.begin(), greatest_.end());
    const double almost = most - 2e-12 * size;  // below this, a product surely rounds to less
    const auto rounded = [&](double product) { return std::llround(product / size * 1e12); };
    Id best = ClusterTree::nothing;
    for (std::size_t part = 0; part < greatest_.size(); ++part) {
      if (greatest_[part] < almost)
        continue;
      const std::size_t end = std::min((part + 1) * block, products_.size());
      for (std::size_t at = part * block; at < end; ++at) {
        const double product = products_[at] * units_[at];
        if (product < almost || rounded(product) != rounded(most))
          continue;
        const auto leaf = static_cast<Id>(at);
        if (best == ClusterTree::nothing || comes_before(leaf, best))
          best = leaf;
      }
    }
    return best;
  }

  bool comes_before(Id leaf, Id other) const { return by_name(leaf) < by_name(other); }

  std::vector<Id> by_name(Id leaf) const {
    std::vector<Id> places;
    for (Id relation : tree_.at(leaf).sum->relations)
      places.push_back(2 * ranks_[relation >> 1] + (relation & 1));
    std::sort(places.begin(), places.end());
    return places;
  }

  // Graft a node, which is what is held, or a node above it. Returns the next node to try.
  Id grafted(Id node) {
    Id moving = node;
    Id other = nearest(node);
    const Id top = common_ancestor(node, other);
    while (moving != top && other != top && tree_.sibling(moving) != other) {
      const double found = linkage(moving, other);
      const double own = tree_.at(tree_.parent(moving)).linkage;
      const double others = tree_.at(tree_.parent(other)).linkage;
      if (found > own && found > others) {
        const Id left_behind = tree_.sibling(moving);
        tree_.detach(moving);
        tree_.attach(moving, other);
        restructure(left_behind, common_ancestor(left_behind, moving));
        break;
      }
      if (found <= others)
        other = tree_.parent(other);
      if (found <= own)
        moving = tree_.parent(moving);
    }
    const Id next = moving == node ? tree_.parent(node) : moving;
    for (; node != next; node = tree_.parent(node))
      hold(tree_.sibling(node));
    return next;
  }

  // After a graft: the node that was left behind, and every node from there to the top, takes the
  // most similar of the siblings of its ancestors as its own sibling.
  void restructure(Id node, Id top) {
    for (; node != top; node = tree_.parent(node)) {
      const Id sibling = tree_.sibling(node);
      Id best = sibling;
      double most = tree_.at(tree_.parent(node)).linkage;
      for (Id above = tree_.parent(node); above != top; above = tree_.parent(above)) {
        const double found = linkage(node, tree_.sibling(above));
        if (found > most) {
          most = found;
          best = tree_.sibling(above);
        }
      }
      if (best != sibling)
        tree_.swap(sibling, best);
    }
  }

  // The lowest node that is or has above it both.
  Id common_ancestor(Id one, Id two) {
    std::vector<Id> path;
    for (; one != ClusterTree::nothing; one = tree_.parent(one))
      path.push_back(one);
    while (std::find(path.begin(), path.end(), two) == path.end()) {
      steps_.take(std::ssize(path));
      two = tree_.parent(two);
    }
    return two;
  }

  ClusterTree& tree_;
  Ids ranks_;
  Steps steps_;
  std::vector<double> products_,
      units_;  // of each node, if it is a leaf: with the sum of what is held; -inf once it is held
  std::vector<double> greatest_;  // product times unit in each block of them
};

}  // namespace

void insert(ClusterTree& tree, Id profile, Ids relations, Count members, Ids ranks,
            Progress& progress) {
  tree.is_finished = false;
  const Id leaf = tree.leaf(profile, relations, members);
  if (leaf != tree.root())
    Insertion(tree, ranks, progress).place(leaf);
  tree.is_finished = true;
}

}  // namespace casegraph
