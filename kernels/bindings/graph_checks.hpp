// Whether edges are in order, and relations are each other's inverses.
#pragma once

#include "bindings/checks.hpp"

namespace casegraph::checks {

// Heads rise, each has tails, and the tails of a head rise. Compiled like a kernel, for
// speed, since it looks at every edge; the bindings are compiled to be small.
void edges(Ids heads, Ids offsets, Ids tails);

inline void graph(Id entities, const std::vector<std::shared_ptr<const Edges>>& relations) {
  require(entities >= 0, "a graph has fewer than no entities");
  require(relations.size() % 2 == 0, "a relation has no inverse after it");
  for (const auto& some : relations) {
    require(some != nullptr, "a relation of the graph is None");
    in_range("an entity of the edges", some->largest, -1, std::int64_t{entities} - 1);
  }
  for (std::size_t relation = 0; relation < relations.size(); relation += 2) {
    const Edges& there = *relations[relation];
    const Edges& back = *relations[relation + 1];
    const bool are_inverses = there.tails.size() == back.tails.size() &&
                              there.digest.heads == back.digest.tails &&
                              there.digest.tails == back.digest.heads;
    require(are_inverses, "a relation is not the inverse of the one before it");
  }
}

}  // namespace casegraph::checks
