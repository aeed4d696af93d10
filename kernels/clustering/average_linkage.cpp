#include "clustering/average_linkage.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace casegraph {
namespace {

// Sums of similarities between all pairs of clusters, one triangle of a symmetric matrix.
class Sums {
 public:
  explicit Sums(std::size_t clusters) : sums_(clusters * (clusters - 1) / 2) {}
  double& operator()(std::size_t a, std::size_t b) {
    if (a < b)
      std::swap(a, b);
    return sums_[a * (a - 1) / 2 + b];
  }

 private:
  std::vector<double> sums_;
};

Sums similarities(std::span<const std::int64_t> offsets, Ids relations,
                  std::span<const Count> members, Steps& steps) {
  const std::size_t sets = members.size();
  const auto size = [&](std::size_t set) {
    return static_cast<double>(offsets[set + 1] - offsets[set]);
  };

  // Each set as a bitset.
  const Id largest = relations.empty() ? 0 : *std::max_element(relations.begin(), relations.end());
  const std::size_t words = (static_cast<std::size_t>(largest) >> 6) + 1;
  std::vector<std::uint64_t> bits(sets * words);
  for (std::size_t set = 0; set < sets; ++set) {
    for (std::int64_t at = offsets[set]; at < offsets[set + 1]; ++at) {
      const auto relation = static_cast<std::size_t>(relations[at]);
      bits[set * words + (relation >> 6)] |= std::uint64_t{1} << (relation & 63);
    }
  }

  Sums sums(sets);
  for (std::size_t a = 1; a < sets; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      int common = 0;
      steps.take(static_cast<Count>(words));
      for (std::size_t word = 0; word < words; ++word)
        common += std::popcount(bits[a * words + word] & bits[b * words + word]);
      const double cosine = common / std::sqrt(size(a) * size(b));
      sums(a, b) = cosine * static_cast<double>(members[a]) * static_cast<double>(members[b]);
    }
  }
  return sums;
}

// Joins clusters along a chain of nearest neighbours.
class Chain {
 public:
  Chain(Sums sums, std::span<const Count> members, Steps& steps)
      : sums_(std::move(sums)), size_(members.begin(), members.end()), steps_(steps) {
    for (std::size_t set = 0; set < size_.size(); ++set) {
      active_.push_back(set);
      node_.push_back(static_cast<Id>(set));
    }
  }

  Tree grow() {
    const std::size_t leaves = size_.size();
    while (active_.size() > 1) {
      if (chain_.empty())
        chain_.push_back(active_.front());
      steps_.take(2 * std::ssize(active_));
      const std::size_t nearest = nearest_to(chain_.back());
      const bool are_mutual = chain_.size() > 1 && nearest == chain_[chain_.size() - 2];
      if (are_mutual) {
        const std::size_t top = chain_.back();
        chain_.resize(chain_.size() - 2);
        join(std::min(top, nearest), std::max(top, nearest),
             static_cast<Id>(leaves + tree_.left.size()));
      } else {
        chain_.push_back(nearest);
      }
    }
    return std::move(tree_);
  }

 private:
  double linkage(std::size_t a, std::size_t b) { return sums_(a, b) / (size_[a] * size_[b]); }
  std::int64_t rounded(std::size_t a, std::size_t b) { return std::llround(linkage(a, b) * 1e12); }

  // The most similar cluster; where several are, the one before in the chain, else the one given
  // first.
  std::size_t nearest_to(std::size_t cluster) {
    std::size_t best = chain_.size() > 1 ? chain_[chain_.size() - 2] : cluster;
    std::int64_t most = best == cluster ? -1 : rounded(cluster, best);
    for (std::size_t other : active_) {
      if (other == cluster)
        continue;
      const std::int64_t similarity = rounded(cluster, other);
      if (similarity > most) {
        most = similarity;
        best = other;
      }
    }
    return best;
  }

  void join(std::size_t kept, std::size_t gone, Id node) {
    tree_.left.push_back(node_[kept]);
    tree_.right.push_back(node_[gone]);
    active_.erase(std::lower_bound(active_.begin(), active_.end(), gone));
    for (std::size_t other : active_)
      if (other != kept)
        sums_(kept, other) += sums_(gone, other);
    size_[kept] += size_[gone];
    node_[kept] = node;
  }

  Sums sums_;
  std::vector<double> size_;
  Steps& steps_;
  std::vector<std::size_t> active_, chain_;  // active_ is sorted
  std::vector<Id> node_;                     // the node of the tree that an active cluster is
  Tree tree_;
};

}  // namespace

Tree average_linkage(std::span<const std::int64_t> offsets, Ids relations,
                     std::span<const Count> members, Progress& progress) {
  if (members.size() < 2)
    return {};
  Steps steps(progress);
  return Chain(similarities(offsets, relations, members, steps), members, steps).grow();
}

}  // namespace casegraph
