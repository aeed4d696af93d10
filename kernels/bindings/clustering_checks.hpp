// Whether relation sets are sets, and a tree has what is asked of it.
#pragma once

#include "bindings/checks.hpp"
#include "clustering/cluster_tree.hpp"

namespace casegraph::checks {

constexpr Id most_relations = 1 << 24;  // a tree keeps a list for each of them
constexpr Id most_profiles = 1 << 28;   // the same

inline void sets(std::span<const std::int64_t> offsets_, Ids relations,
                 std::span<const Count> members) {
  offsets("offsets", offsets_, members.size(), relations.size());
  const bool has_empty_set = std::adjacent_find(offsets_.begin(), offsets_.end()) != offsets_.end();
  require(!has_empty_set, "a set has no relations");
  ids("relations", relations, 0, most_relations);
  for (Count count : members)
    require(count >= 1, "a set has no members");
}

inline void finished(const ClusterTree& tree) {
  require(tree.is_finished, "the tree was left unfinished by an interrupt; make another");
}
inline void node(const ClusterTree& tree, Id node) {
  finished(tree);
  if (!tree.has_node(node))
    throw std::invalid_argument("the tree has no node " + std::to_string(node));
}
inline void profile(const ClusterTree& tree, Id profile) {
  finished(tree);
  if (!tree.has_profile(profile))
    throw std::invalid_argument("the tree has no profile " + std::to_string(profile));
}

inline void profile_in_place(const ClusterTree& tree, Id profile_) {
  profile(tree, profile_);
  if (!tree.is_in_place(profile_))
    throw std::invalid_argument("profile " + std::to_string(profile_) + " is in no place");
}

inline void leaf(const ClusterTree& tree, Id profile, Ids relations, Count members) {
  finished(tree);
  in_range("profile", profile, 0, most_profiles - 1);
  if (tree.has_profile(profile))
    throw std::invalid_argument("the tree has profile " + std::to_string(profile) + " already");
  require(!relations.empty(), "a profile has no relations");
  ids("relations", relations, 0, most_relations);
  const bool relations_rise = std::adjacent_find(relations.begin(), relations.end(),
                                                 std::greater_equal<>()) == relations.end();
  require(relations_rise, "the relations of a profile do not rise");
  require(members >= 1, "a profile has no members");
}

// ranks  one for each relation and its inverse, for all relations of the tree and of the new leaf
inline void insertion(const ClusterTree& tree, Ids relations, Ids ranks) {
  require(tree.is_one_piece(), "the tree is not in one piece");
  const auto largest = static_cast<std::size_t>(relations.back());
  const std::size_t known = std::max(tree.known_relations(), largest + 1);
  require(2 * ranks.size() >= known, "ranks has no entry for some relation");
}

inline void attachment(const ClusterTree& tree, Id node_, Id beside) {
  node(tree, node_);
  node(tree, beside);
  const bool is_in_place = tree.parent(node_) != ClusterTree::nothing;
  if (is_in_place)
    throw std::invalid_argument("node " + std::to_string(node_) + " is in a place already");
  require(!tree.is_above(node_, beside), "a node cannot be attached to what is below it");
}

}  // namespace casegraph::checks
