// Whether arrays from outside fit each other and the graph. Kernels trust what they are given, so the bindings ask here first;
// what does not fit is an `std::invalid_argument` with one sentence.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "asking.hpp"
#include "reach.hpp"
#include "tree.hpp"

namespace casegraph::checks {

constexpr int longest_path = 5;             // a path type of five steps leaves twelve bits for a relation
constexpr Id most_relations = 1 << 24;      // in a tree, which keeps a list for each of them
constexpr Id most_profiles = 1 << 28;       // the same
constexpr int threads_for_a_processor = 4;  // with more, threads only wait, and each takes memory

inline void require(bool holds, const std::string& sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

template <class Number>
void in_range(const std::string& name, Number number, std::int64_t least, std::int64_t most) {
  if (number >= least && number <= most) return;
  throw std::invalid_argument(name + " is " + std::to_string(number) + "; expected from " + std::to_string(least) +
                              " to " + std::to_string(most));
}

// Every one of `ids` is at least `least`, and less than `end`.
inline void ids(const std::string& name, Ids ids, Id least, std::int64_t end = std::int64_t{INT32_MAX} + 1) {
  for (Id id : ids)
    if (id < least || id >= end) in_range(name, id, least, end - 1);
}

inline void lengths(const std::string& name, std::size_t length, const std::string& other, std::size_t expected) {
  if (length == expected) return;
  throw std::invalid_argument(name + " has " + std::to_string(length) + " entries; expected " +
                              std::to_string(expected) + ", to go with " + other);
}

// Offsets that cut `all` entries into so many parts, one after the other.
template <class Offset>
void offsets(const std::string& name, std::span<const Offset> offsets, std::size_t parts, std::size_t all) {
  lengths(name, offsets.size(), "what they cut", parts + 1);
  require(offsets.front() == 0, name + " do not begin with 0");
  require(std::is_sorted(offsets.begin(), offsets.end()), name + " fall somewhere");
  in_range("the last of " + name, offsets.back(), static_cast<std::int64_t>(all), static_cast<std::int64_t>(all));
}

inline Survey edges(Ids heads, Ids offsets_, Ids tails) {
  require(tails.size() <= INT32_MAX, "a relation has more edges than offsets can count");
  offsets("offsets", offsets_, heads.size(), tails.size());
  ids("heads", heads, 0);
  const auto rises = [](Ids some) {
    return std::adjacent_find(some.begin(), some.end(), std::greater_equal<>()) == some.end();
  };
  require(rises(heads), "heads do not rise");
  require(rises(offsets_), "a head has no tails");
  const Survey survey(heads, offsets_, tails);
  require(survey.rises, "the tails of a head fall somewhere, or are negative");
  return survey;
}

inline void graph(Id entities, const std::vector<std::shared_ptr<const Edges>>& relations) {
  require(entities >= 0, "a graph has fewer than no entities");
  require(relations.size() % 2 == 0, "a relation has no inverse after it");
  for (const auto& some : relations) {
    require(some != nullptr, "a relation of the graph is None");
    in_range("an entity of the edges", some->survey.largest, -1, std::int64_t{entities} - 1);
  }
  for (std::size_t relation = 0; relation < relations.size(); relation += 2) {
    const Survey &there = relations[relation]->survey, &back = relations[relation + 1]->survey;
    require(relations[relation]->tails.size() == relations[relation + 1]->tails.size() && there.digest == back.digest_of_inverse &&
                there.digest_of_inverse == back.digest,
            "relation " + std::to_string(relation + 1) + " is not the inverse of the one before it");
  }
}

inline void entities(const std::string& name, Ids some, const Graph& graph, Id least = 0) {
  ids(name, some, least, graph.entities);
}
inline void relation(const std::string& name, Id relation, const Graph& graph) {
  in_range(name, relation, 0, std::ssize(graph.relations) - 1);
}
inline void relations(const std::string& name, Ids some, const Graph& graph) {
  ids(name, some, 0, std::ssize(graph.relations));
}

// The length of the longest path, which must leave room for the relations of the graph in a path type.
inline void max_length(int max_length, const Graph& graph) {
  in_range("max_length", max_length, 1, longest_path);
  const Packing packing(max_length);
  require(packing.has_room(graph.relations.size()),
          "path types of " + std::to_string(max_length) + " steps have no room for so many relations");
}

inline void path_types(std::span<const PathType> types, int longest, const Graph& graph) {
  max_length(longest, graph);
  const Packing packing(longest);
  for (PathType type : types)
    if (!packing.is_path_type(type, longest, graph.relations.size()))
      throw std::invalid_argument(std::to_string(type) + " is no path type of these relations");
}

// As many threads as were asked for, or as make sense here.
inline int threads(int asked) {
  require(asked >= 1, "threads is " + std::to_string(asked) + "; expected at least 1");
  static const auto processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));  // takes long to ask
  return std::min(asked, threads_for_a_processor * processors);
}

// For each of `parts`, some places below `end`; nothing stands for all of them.
inline void only(const Only& only, std::size_t parts, std::size_t end) {
  if (only.offsets.empty()) return lengths("places", only.places.size(), "no offsets", 0);
  offsets("offsets of places", only.offsets, parts, only.places.size());
  ids("places", only.places, 0, static_cast<std::int64_t>(end));
}

inline void manner(const Manner& manner, const Graph& graph) {
  max_length(manner.max_length, graph);
  in_range("best", manner.best, 1, 8);
  require(manner.walked >= 0, "walked is negative");
  require(manner.support >= 1, "support is less than 1");
  require(manner.budget >= 0, "budget is negative");
  require(std::isfinite(manner.doubt) && manner.doubt > 0, "doubt is not above 0");
  require(manner.habit >= 0 && manner.habit <= 1, "habit is not from 0 to 1");
  require(manner.discount >= 0 && manner.discount <= 1, "discount is not from 0 to 1");
}

inline void asking(const Graph& graph, Id asked, const Lists& lists, const Manner& manner_, Ids rank) {
  manner(manner_, graph);
  relation("relation", asked, graph);
  path_types(lists.types, manner_.max_length, graph);
  require(!lists.offsets.empty(), "offsets of lists has no entries; expected at least one");
  offsets("offsets of lists", lists.offsets, lists.offsets.size() - 1, lists.walked.size());
  ids("walked", lists.walked, 0, std::ssize(lists.types));
  lengths("weights", lists.weights.size(), "walked", lists.walked.size());
  for (double weight : lists.weights) require(weight >= 0 && weight <= 1, "a weight is not from 0 to 1");
  lengths("rank", rank.size(), "the entities", static_cast<std::size_t>(graph.entities));
}

inline void queries(const Queries& queries, const Asking& asking) {
  entities("entities", queries.entities, asking.graph, -1);
  lengths("lists", queries.lists.size(), "entities", queries.entities.size());
  ids("lists", queries.lists, 0, std::ssize(asking.lists.offsets) - 1);
  lengths("left_out", queries.left_out.size(), "entities", queries.entities.size());
  entities("left_out", queries.left_out, asking.graph, -1);
}

// Entities that the graph does not have may be asked for: nothing leads to them.
inline void targets(const Targets& targets, std::size_t queries) {
  offsets("target_offsets", targets.offsets, queries, targets.entities.size());
  ids("targets", targets.entities, -1);
  offsets("known_offsets", targets.known_offsets, queries, targets.known.size());
  ids("known", targets.known, -1);
}

inline void sets(std::span<const std::int64_t> offsets_, Ids relations, std::span<const Count> members) {
  offsets("offsets", offsets_, members.size(), relations.size());
  require(std::adjacent_find(offsets_.begin(), offsets_.end()) == offsets_.end(), "a set has no relations");
  ids("relations", relations, 0, most_relations);
  for (Count many : members) require(many >= 1, "a set has no members");
}

inline void finished(const ClusterTree& tree) {
  require(tree.is_finished, "the tree was left unfinished by an interrupt; make another");
}
inline void node(const ClusterTree& tree, Id node) {
  finished(tree);
  require(tree.has_node(node), "the tree has no node " + std::to_string(node));
}
inline void profile(const ClusterTree& tree, Id profile) {
  finished(tree);
  require(tree.has_profile(profile), "the tree has no profile " + std::to_string(profile));
}

inline void leaf(const ClusterTree& tree, Id profile, Ids relations, Count members) {
  finished(tree);
  in_range("profile", profile, 0, most_profiles - 1);
  require(!tree.has_profile(profile), "the tree has profile " + std::to_string(profile) + " already");
  require(!relations.empty(), "a profile has no relations");
  ids("relations", relations, 0, most_relations);
  require(std::adjacent_find(relations.begin(), relations.end(), std::greater_equal<>()) == relations.end(),
          "the relations of a profile do not rise");
  require(members >= 1, "a profile has no members");
}

inline void insertion(const ClusterTree& tree, Ids relations, Ids ranks) {
  require(tree.is_one_piece(), "the tree is not in one piece");
  const auto known = std::max(tree.known_relations(), static_cast<std::size_t>(relations.back()) + 1);
  require(2 * ranks.size() >= known, "ranks has no entry for some relation");
}

inline void attachment(const ClusterTree& tree, Id node_, Id beside) {
  node(tree, node_);
  node(tree, beside);
  require(tree.parent(node_) == ClusterTree::nothing, "node " + std::to_string(node_) + " is in a place already");
  require(!tree.is_above(node_, beside), "a node cannot be attached to what is below it");
}

}  // namespace casegraph::checks
