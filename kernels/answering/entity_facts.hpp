// The facts of one entity, in both directions.
#pragma once

#include "graph/graph.hpp"

namespace casegraph {

// Call `use(relation, tail)` for each, in the order of ids.
template <class Use>
void each_fact(const Graph& graph, Id entity, Steps& steps, const Use& use) {
  if (const Adjacency* all = graph.adjacency_if_it_pays(steps)) {
    const std::int64_t end = all->offsets[entity + 1];
    steps.take(1 + end - all->offsets[entity]);
    for (std::int64_t at = all->offsets[entity]; at < end; ++at)
      use(all->relations[at], all->tails[at]);
    return;
  }
  steps.take(std::ssize(graph.relations) / 4);
  for (Id relation = 0; relation < std::ssize(graph.relations); ++relation) {
    for (Id tail : graph.tails(entity, relation)) {
      steps.take();
      use(relation, tail);
    }
  }
}

}  // namespace casegraph
