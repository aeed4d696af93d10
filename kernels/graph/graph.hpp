// The graph as the kernels read it: the edges of each relation, and all edges of each entity.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "common/progress.hpp"
#include "common/unset_vector.hpp"
#include "graph/edges.hpp"

namespace casegraph {

struct Edge {
  Id head;
  Id relation;
  Id tail;
};

// All edges of every entity in one piece, sorted by (relation, tail): what path counting walks
// over.
struct Adjacency {
  std::vector<std::int64_t> offsets;  // (entities + 1)
  UnsetVector<Id> relations;          // (edges)
  UnsetVector<Id> tails;              // (edges)
};

class Graph {
 public:
  Graph(Id entities_, std::vector<std::shared_ptr<const Edges>> relations_)
      : entities(entities_), relations(std::move(relations_)) {
    for (const auto& relation : relations)
      edges_ += std::ssize(relation->tails);
  }

  const Edges& edges(Id relation) const { return *relations[relation]; }
  Ids tails(Id entity, Id relation) const { return relations[relation]->of(entity); }

  // Made by the first who asks, from all edges. Others wait, and can be stopped while they do. If
  // the making is interrupted, the next who asks makes it.
  const Adjacency& adjacency(Steps& steps, int threads = 1) const;

  // Null if nobody has asked for it.
  const Adjacency* adjacency_if_made() const;

  // The same for who could also look an entity up in every relation: null as long as that is less
  // work. Once as much time has gone into lookups as the making takes, it is made: so at most twice
  // the time of the better way is spent, however many entities there will be (ski rental).
  const Adjacency* adjacency_if_it_pays(Steps& steps) const;

  const Id entities;
  const std::vector<std::shared_ptr<const Edges>> relations;  // each with its inverse after it

 private:
  Count edges_ = 0;  // of all relations
  mutable std::timed_mutex guard_;
  mutable std::atomic<bool> is_made_{false};
  mutable Adjacency adjacency_;
  mutable std::atomic<Count> lookups_{0};  // made because there was no adjacency
};

// The relations of each of `entities`, sorted: relations[offsets[i] .. offsets[i + 1]) of the i-th.
struct Profiles {
  std::vector<std::int64_t> offsets;
  std::vector<Id> relations;
};
Profiles profiles(const Graph& graph, Ids entities, Progress& progress);

// Whether a relation leads any entity to itself.
bool has_loops(const Edges& edges, Steps& steps);

// How many edges each entity has.
std::vector<Count> degrees(const Graph& graph, int threads, Progress& progress);

// How many walks of 1 to k + 1 edges leave each entity, from how many of 1 to k edges do; INT64_MAX
// where there are more than fit.
std::vector<Count> walks_one_step_longer(const Graph& graph, std::span<const Count> walks,
                                         int threads, Progress& progress);

// The same for some entities, by their edges alone.
std::vector<Count> walks_one_step_longer_from(const Graph& graph, Ids entities,
                                              std::span<const Count> walks, int threads,
                                              Progress& progress);

}  // namespace casegraph
