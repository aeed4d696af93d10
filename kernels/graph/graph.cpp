#include "graph/graph.hpp"

namespace casegraph {
namespace {

using Relations = std::vector<std::shared_ptr<const Edges>>;

// A counting sort of all edges by head. Relations come in their order, so the edges of each entity
// end up sorted by relation.
Adjacency all_edges(Id entities, const Relations& relations, Steps& steps) {
  Adjacency all;

  // Count the edges of each entity, then add up: where each begins.
  all.offsets.assign(static_cast<std::size_t>(entities) + 1, 0);
  for (const auto& edges : relations) {
    steps.take(static_cast<Count>(edges->heads.size()));
    for (std::size_t row = 0; row < edges->heads.size(); ++row) {
      const auto head = static_cast<std::size_t>(edges->heads[row]);
      all.offsets[head + 1] += edges->offsets[row + 1] - edges->offsets[row];
    }
  }
  for (std::size_t entity = 0; entity < static_cast<std::size_t>(entities); ++entity)
    all.offsets[entity + 1] += all.offsets[entity];

  // Put every edge in its place.
  all.relations.resize(static_cast<std::size_t>(all.offsets.back()));
  all.tails.resize(all.relations.size());
  std::vector<std::int64_t> next(all.offsets.begin(), all.offsets.end() - 1);
  for (std::size_t relation = 0; relation < relations.size(); ++relation) {
    const Edges& edges = *relations[relation];
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      steps.take(1 + edges.offsets[row + 1] - edges.offsets[row]);
      for (Id at = edges.offsets[row]; at < edges.offsets[row + 1]; ++at) {
        const auto place = static_cast<std::size_t>(next[edges.heads[row]]++);
        all.relations[place] = static_cast<Id>(relation);
        all.tails[place] = edges.tails[at];
      }
    }
  }
  return all;
}

Count sum_that_fits(Count a, Count b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

// Look the entity up in every relation.
void look_up_relations(const Graph& graph, Id entity, std::vector<Id>& found, Steps& steps) {
  steps.take(static_cast<Count>(graph.relations.size()));
  for (std::size_t relation = 0; relation < graph.relations.size(); ++relation) {
    const bool has_edges = !graph.relations[relation]->of(entity).empty();
    if (has_edges) found.push_back(static_cast<Id>(relation));
  }
}

// Read the relations from the edges of the entity, where equal ones stand together.
void read_relations(const Adjacency& all, Id entity, std::vector<Id>& found, Steps& steps) {
  const std::int64_t begin = all.offsets[entity], end = all.offsets[entity + 1];
  steps.take(end - begin);
  for (std::int64_t edge = begin; edge < end; ++edge) {
    const bool is_new = edge == begin || all.relations[edge] != all.relations[edge - 1];
    if (is_new) found.push_back(all.relations[edge]);
  }
}

}  // namespace

const Adjacency& Graph::adjacency(Steps& steps) const {
  if (is_made_.load(std::memory_order_acquire)) return adjacency_;
  std::unique_lock lock(guard_, std::defer_lock);
  while (!lock.try_lock_for(Progress::patience)) steps.check();
  if (!is_made_.load(std::memory_order_relaxed)) {
    adjacency_ = all_edges(entities, relations, steps);
    is_made_.store(true, std::memory_order_release);
  }
  return adjacency_;
}

const Adjacency* Graph::adjacency_if_it_pays(Steps& steps) const {
  if (is_made_.load(std::memory_order_acquire)) return &adjacency_;
  constexpr Count edges_per_lookup = 4;  // that are gathered in the time of a lookup
  const Count lookups = lookups_.fetch_add(std::ssize(relations), std::memory_order_relaxed);
  return lookups * edges_per_lookup < edges_ ? nullptr : &adjacency(steps);
}

Profiles profiles(const Graph& graph, Ids entities, Progress& progress) {
  constexpr std::size_t few = 64;  // for fewer, lookups are cheaper than gathering all edges once
  Steps steps(progress);
  Profiles found;
  found.offsets.push_back(0);
  for (Id entity : entities) {
    if (entities.size() < few)
      look_up_relations(graph, entity, found.relations, steps);
    else
      read_relations(graph.adjacency(steps), entity, found.relations, steps);
    found.offsets.push_back(static_cast<std::int64_t>(found.relations.size()));
  }
  return found;
}

std::vector<Count> walks_one_step_longer(const Graph& graph, std::span<const Count> walks,
                                         Progress& progress) {
  Steps steps(progress);
  std::vector<Count> longer(graph.entities, 0);
  // Relation by relation, since it would take longer to gather all edges of each entity first.
  for (const std::shared_ptr<const Edges>& of_relation : graph.relations) {
    const Edges& edges = *of_relation;
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      const Ids tails = edges.row(row);
      steps.take(1 + std::ssize(tails));
      Count& total = longer[edges.heads[row]];
      for (Id tail : tails) {
        const Count onward = sum_that_fits(walks[tail], 1);  // the edge alone is a walk
        total = sum_that_fits(total, onward);
      }
    }
  }
  return longer;
}

}  // namespace casegraph
