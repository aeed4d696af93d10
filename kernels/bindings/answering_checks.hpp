// Whether options are in their ranges, and queries fit what they are asked with.
#pragma once

#include <cmath>

#include "answering/relation_query.hpp"
#include "bindings/checks.hpp"

namespace casegraph::checks {

constexpr int most_nearest = 4096;
constexpr int most_pieces = 8;  // what scores are compared to must not depend on rounding

inline void options(const QueryOptions& options, const Graph& graph) {
  max_length(options.max_length, graph);
  in_range("best", options.best, 1, most_pieces);
  require(options.walked >= 0, "walked is negative");
  require(options.budget >= 0, "budget is negative");
  require(std::isfinite(options.doubt) && options.doubt > 0, "doubt is not above 0");
  require(options.habit >= 0 && options.habit <= 1, "habit is not from 0 to 1");
  require(options.discount >= 0 && options.discount <= 1, "discount is not from 0 to 1");
  require(options.decisive >= 0 && options.decisive <= 1, "decisive is not from 0 to 1");
  require(std::isfinite(options.ridge) && options.ridge > 0, "ridge is not above 0");
  require(std::isfinite(options.precedent_weight) && options.precedent_weight >= 0,
          "precedent_weight is negative");
  in_range("nearest", options.nearest, 1, most_nearest);
}

// Weights if one right end fewer had been counted.
inline void no_larger(std::span<const double> fewer, std::span<const double> weights) {
  lengths("fewer", fewer.size(), "walked", weights.size());
  for (std::size_t at = 0; at < weights.size(); ++at)
    require(fewer[at] >= 0 && fewer[at] <= weights[at], "a weight is larger with fewer right ends");
}

inline void walk_lists(const WalkLists& lists, int max_length, const Graph& graph) {
  path_types(lists.types, max_length, graph);
  require(!lists.offsets.empty(), "offsets of lists has no entries; expected at least one");
  offsets("offsets of lists", lists.offsets, lists.offsets.size() - 1, lists.walked.size());
  ids("walked", lists.walked, 0, std::ssize(lists.types));
  lengths("weights", lists.weights.size(), "walked", lists.walked.size());
  lengths("taken_weights", lists.taken_weights.size(), "walked", lists.walked.size());
  for (const auto weights : {lists.weights, lists.taken_weights})
    for (double weight : weights)
      require(weight >= 0 && weight <= 1, "a weight is not from 0 to 1");
  for (const auto& fewer : lists.fewer) {
    if (fewer.weights.empty() && fewer.taken_weights.empty())
      continue;
    no_larger(fewer.weights, lists.weights);
    no_larger(fewer.taken_weights, lists.taken_weights);
  }
}

inline void relation_query(const Graph& graph, Id asked, const WalkLists& lists,
                           const QueryOptions& options_, Ids rank) {
  options(options_, graph);
  relation("relation", asked, graph);
  walk_lists(lists, options_.max_length, graph);
  one_for_each_entity("rank", rank.size(), graph);
}

inline void queries(const Queries& queries, const RelationQuery& query) {
  const std::size_t count = queries.entities.size();
  entities("entities", queries.entities, query.graph, -1);
  lengths("lists", queries.lists.size(), "entities", count);
  ids("lists", queries.lists, 0, std::ssize(query.lists.offsets) - 1);
  lengths("hidden", queries.hidden.size(), "entities", count);
  entities("hidden", queries.hidden, query.graph, -1);
}

// Entities that the graph does not have may be asked for: nothing leads to them.
inline void entity_sets(const std::string& name, const EntitySets& sets, std::size_t queries) {
  offsets("offsets of " + name, sets.offsets, queries, sets.entities.size());
  ids(name, sets.entities, -1);
}

}  // namespace casegraph::checks
