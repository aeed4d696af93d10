#include "answering/relation_query.hpp"

namespace casegraph {
namespace {

Trie trie_of(std::span<const PathType> types, const QueryOptions& options) {
  if (!options.backwards)
    return Trie(types, options.max_length);
  const Packing packing(options.max_length);
  std::vector<PathType> turned;
  for (PathType type : types)
    turned.push_back(backwards(type, packing));
  return Trie(turned, options.max_length);
}

}  // namespace

RelationQuery::RelationQuery(const Graph& graph_, Id relation_, const WalkLists& lists_,
                             const QueryOptions& options_, Ids rank_, Progress& progress)
    : graph(graph_),
      relation(relation_),
      lists(lists_),
      options(options_),
      rank(rank_),
      trie(trie_of(lists.types, options)),
      habit(graph, relation, options, rank, progress),
      may_stop_early(options.loop_free && !options.sum) {
  for (std::int32_t type : lists.walked) {
    const std::int32_t node = trie.node_of_type[type];
    ends.push_back({node, trie.nodes[node]});
  }
  worths = worths_of(lists.weights, lists.taken_weights);
  for (std::size_t slot = 0; slot < 2; ++slot)
    worths_if_fewer[slot] = worths_of(lists.fewer[slot].weights, lists.fewer[slot].taken_weights);
  for (const auto& [open, taken] : worths)
    strengths.push_back(std::max(open.strength, taken.strength));
  if (may_stop_early)
    find_costs(progress);
}

PathWorths RelationQuery::worths_of(std::span<const double> open,
                                    std::span<const double> taken) const {
  PathWorths both;
  for (std::size_t at = 0; at < open.size(); ++at)
    both.push_back(
        {worth_of_path(open[at], options.decisive), worth_of_path(taken[at], options.decisive)});
  return both;
}

// From the last path type of each list to the first: the edges of all relations on the way to it
// that no later path type has taken. A step looks at each edge of its relation at most once.
void RelationQuery::find_costs(Progress& progress) {
  Steps steps(progress);
  cost_from.resize(lists.walked.size());
  const std::size_t never = lists.offsets.size();
  std::vector<std::size_t> counted_for(trie.nodes.size(), never);  // the last list, by node
  for (std::size_t list = 0; list + 1 < lists.offsets.size(); ++list) {
    Count cost = 0;
    for (std::int64_t at = lists.offsets[list + 1] - 1; at >= lists.offsets[list]; --at) {
      steps.take();
      std::int32_t node = ends[at].node;
      for (; node > 0 && counted_for[node] != list; node = trie.nodes[node].parent) {
        counted_for[node] = list;
        cost += static_cast<Count>(graph.edges(trie.nodes[node].relation).tails.size());
      }
      cost_from[at] = cost;
    }
  }
}

}  // namespace casegraph
