#include "graph/graph.hpp"

#include <utility>

#include "common/parallel.hpp"

namespace casegraph {
namespace {

using Relations = std::vector<std::shared_ptr<const Edges>>;

// Call `use(relation, head, tails)` for the entities in [begin, end) and all relations. The
// relations of an entity come in order, but not one after the other.
//
// Entities come in blocks, and the relations of a block one after the other: what is written for
// the entities of a block stays in the cache until the next one.
template <class Use>
void each_row_between(Id begin, Id end, const Relations& relations, Steps& steps, const Use& use) {
  constexpr Id block = 1 << 13;
  std::vector<std::size_t> next_row;
  for (const auto& edges : relations) {
    const auto first = std::lower_bound(edges->heads.begin(), edges->heads.end(), begin);
    next_row.push_back(static_cast<std::size_t>(first - edges->heads.begin()));
  }
  for (Id block_end; begin < end; begin = block_end) {
    block_end = begin + std::min(block, end - begin);
    for (std::size_t relation = 0; relation < relations.size(); ++relation) {
      const Edges& edges = *relations[relation];
      std::size_t row = next_row[relation];
      for (; row < edges.heads.size() && edges.heads[row] < block_end; ++row) {
        const Ids tails = edges.row(row);
        steps.take(1 + std::ssize(tails));
        use(static_cast<Id>(relation), edges.heads[row], tails);
      }
      next_row[relation] = row;
    }
  }
}

// The same for all entities, on several threads: all rows of an entity come on one of them.
template <class Use>
void each_row(const Relations& relations, Id entities, int threads, Progress& progress,
              const Use& use) {
  // Some entities have far more edges than others, so each thread gets several parts.
  const std::size_t parts = threads > 1 ? 16 * static_cast<std::size_t>(threads) : 1;
  const auto all = static_cast<std::size_t>(entities);
  const Chunks chunks(all, all / parts + 1);
  chunks.each(threads, progress, [&](std::size_t, std::size_t begin, std::size_t end) {
    Steps steps(progress);
    each_row_between(static_cast<Id>(begin), static_cast<Id>(end), relations, steps, use);
  });
}

// A counting sort of all edges by head. Relations come in their order, so the edges of each entity
// end up sorted by relation.
Adjacency all_edges(Id entities, const Relations& relations, int threads, Progress& progress) {
  Adjacency all;

  // Count the edges of each entity, then add up: where each begins.
  all.offsets.assign(static_cast<std::size_t>(entities) + 1, 0);
  each_row(relations, entities, threads, progress, [&](Id, Id head, Ids tails) {
    all.offsets[static_cast<std::size_t>(head) + 1] += std::ssize(tails);
  });
  for (std::size_t entity = 0; entity < static_cast<std::size_t>(entities); ++entity)
    all.offsets[entity + 1] += all.offsets[entity];

  // Put every edge in its place.
  all.relations.resize(static_cast<std::size_t>(all.offsets.back()));
  all.tails.resize(all.relations.size());
  std::vector<std::int64_t> next(all.offsets.begin(), all.offsets.end() - 1);
  each_row(relations, entities, threads, progress, [&](Id relation, Id head, Ids tails) {
    const std::int64_t place = std::exchange(next[head], next[head] + std::ssize(tails));
    std::fill_n(all.relations.begin() + place, tails.size(), relation);
    std::copy(tails.begin(), tails.end(), all.tails.begin() + place);
  });
  return all;
}

Count sum_that_fits(Count a, Count b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

// Add the walks that go over an edge to one of these tails.
void add_walks(std::span<const Count> walks, Ids tails, Count& total) {
  for (Id tail : tails) {
    const Count onward = sum_that_fits(walks[tail], 1);  // the edge alone is a walk
    total = sum_that_fits(total, onward);
  }
}

// Look the entity up in every relation.
void look_up_relations(const Graph& graph, Id entity, std::vector<Id>& found, Steps& steps) {
  steps.take(static_cast<Count>(graph.relations.size()));
  for (std::size_t relation = 0; relation < graph.relations.size(); ++relation) {
    const bool has_edges = !graph.relations[relation]->of(entity).empty();
    if (has_edges)
      found.push_back(static_cast<Id>(relation));
  }
}

// Read the relations from the edges of the entity, where equal ones stand together.
void read_relations(const Adjacency& all, Id entity, std::vector<Id>& found, Steps& steps) {
  const std::int64_t begin = all.offsets[entity], end = all.offsets[entity + 1];
  steps.take(end - begin);
  for (std::int64_t edge = begin; edge < end; ++edge) {
    const bool is_new = edge == begin || all.relations[edge] != all.relations[edge - 1];
    if (is_new)
      found.push_back(all.relations[edge]);
  }
}

}  // namespace

const Adjacency& Graph::adjacency(Steps& steps, int threads) const {
  if (is_made_.load(std::memory_order_acquire))
    return adjacency_->all;
  const std::unique_lock lock = locked(guard_, steps);
  // The lock orders this, too, but thread sanitizers do not know locks with a time limit.
  if (!is_made_.load(std::memory_order_acquire)) {
    auto made = std::make_shared<DatedAdjacency>();
    made->all = all_edges(entities, relations, threads, steps.progress());
    for (const auto& edges : relations)
      made->serials.push_back(edges->serial);
    adjacency_ = std::move(made);
    lineage->put(adjacency_);
    is_made_.store(true, std::memory_order_release);
  }
  return adjacency_->all;
}

const Adjacency* Graph::adjacency_if_made() const {
  return is_made_.load(std::memory_order_acquire) ? &adjacency_->all : nullptr;
}

const Adjacency* Graph::adjacency_if_it_pays(Steps& steps) const {
  if (const Adjacency* all = adjacency_if_made())
    return all;
  constexpr Count edges_per_lookup = 4;  // that are gathered in the time of a lookup
  const Count lookups = lookups_.fetch_add(std::ssize(relations), std::memory_order_relaxed);
  return lookups * edges_per_lookup < edges_ ? nullptr : &adjacency(steps);
}

EdgesAround::EdgesAround(const Graph& graph, Steps& steps) : graph_(graph) {
  steps.take(std::ssize(graph.relations));
  read_latest();
}

void EdgesAround::gather(Steps& steps) {
  graph_.adjacency(steps);
  graph_.lineage->put(graph_.dated_adjacency());
  read_latest();
}

// The adjacency may be of an earlier graph or of a later one: relations that this graph does not
// have are no concern of it, and no entity beyond it has edges of a relation that is the same.
void EdgesAround::read_latest() {
  auto reading = std::make_shared<Reading>();
  reading->latest = graph_.lineage->latest();
  const std::size_t gathered = reading->latest ? reading->latest->serials.size() : 0;
  reading->is_changed.assign(std::max(gathered, graph_.relations.size()), true);
  for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation) {
    const bool is_the_same = relation < gathered && graph_.relations[relation]->serial ==
                                                        reading->latest->serials[relation];
    reading->is_changed[relation] = !is_the_same;
    if (!is_the_same)
      reading->changed.push_back(static_cast<Id>(relation));
  }
  reading_ = std::move(reading);
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

bool has_loops(const Edges& edges, Steps& steps) {
  steps.take(std::ssize(edges.heads));
  for (std::size_t row = 0; row < edges.heads.size(); ++row) {
    const Ids tails = edges.row(row);
    if (std::binary_search(tails.begin(), tails.end(), edges.heads[row]))
      return true;
  }
  return false;
}

std::vector<Count> degrees(const Graph& graph, int threads, Progress& progress) {
  std::vector<Count> degrees(graph.entities, 0);
  if (const Adjacency* all = graph.adjacency_if_made()) {
    for (std::size_t entity = 0; entity < degrees.size(); ++entity)
      degrees[entity] = all->offsets[entity + 1] - all->offsets[entity];
    return degrees;
  }
  each_row(graph.relations, graph.entities, threads, progress,
           [&](Id, Id head, Ids tails) { degrees[head] += std::ssize(tails); });
  return degrees;
}

std::vector<Count> walks_one_step_longer(const Graph& graph, std::span<const Count> walks,
                                         int threads, Progress& progress) {
  std::vector<Count> longer(graph.entities, 0);
  each_row(graph.relations, graph.entities, threads, progress,
           [&](Id, Id head, Ids tails) { add_walks(walks, tails, longer[head]); });
  return longer;
}

}  // namespace casegraph
