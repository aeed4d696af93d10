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

// An adjacency, and the serial numbers of the edges that it was made of.
struct DatedAdjacency {
  Adjacency all;
  std::vector<std::uint64_t> serials;  // by relation
};

// What the graphs before and after each change have in common: the latest adjacency that was made
// of any of them.
class Lineage {
 public:
  // Null until there is one.
  std::shared_ptr<const DatedAdjacency> latest() const {
    const std::lock_guard lock(guard_);
    return latest_;
  }
  void put(std::shared_ptr<const DatedAdjacency> latest) {
    const std::lock_guard lock(guard_);
    latest_ = std::move(latest);
    lookups = 0;
  }

  std::atomic<Count> lookups{0};  // that a later adjacency would have spared

 private:
  mutable std::mutex guard_;
  std::shared_ptr<const DatedAdjacency> latest_;
};

class Graph {
 public:
  // earlier  a graph that this one was made from by some changes; null if there is none
  Graph(Id entities_, std::vector<std::shared_ptr<const Edges>> relations_,
        const Graph* earlier = nullptr)
      : entities(entities_),
        relations(std::move(relations_)),
        lineage(earlier == nullptr ? std::make_shared<Lineage>() : earlier->lineage) {
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

  // The same once it is made, to be kept by others.
  std::shared_ptr<const DatedAdjacency> dated_adjacency() const { return adjacency_; }

  // The same for who could also look an entity up in every relation: null as long as that is less
  // work. Once as much time has gone into lookups as the making takes, it is made: so at most twice
  // the time of the better way is spent, however many entities there will be (ski rental).
  const Adjacency* adjacency_if_it_pays(Steps& steps) const;

  const Id entities;
  const std::vector<std::shared_ptr<const Edges>> relations;  // each with its inverse after it
  const std::shared_ptr<Lineage> lineage;

  Count edge_count() const { return edges_; }

 private:
  Count edges_ = 0;  // of all relations
  mutable std::timed_mutex guard_;
  mutable std::atomic<bool> is_made_{false};
  mutable std::shared_ptr<const DatedAdjacency> adjacency_;
  mutable std::atomic<Count> lookups_{0};  // made because there was no adjacency
};

// The edges around some entities, without gathering those of all.
//
// Problem: a change touches a few edges of a large graph. Looking an entity up in each of a
// thousand relations takes a thousand times as long as reading its edges, and gathering the edges
// of all entities takes longer still.
//
// Idea: read the edges from the latest adjacency of the lineage, except for those of relations that
// have changed since, and look the entity up in these. Once as much time has gone into lookups as
// making an adjacency takes, it is made. So edges and lookups are both, on average over many
// changes, about as many as there are edges around the entities.
class EdgesAround {
 public:
  EdgesAround(const Graph& graph, Steps& steps);

  // Call `visit(relation, tail)` for all edges of an entity. It may ask for those of others.
  template <class Visit>
  void each(Id entity, Steps& steps, const Visit& visit) {
    constexpr Count edges_per_lookup = 4;  // that are gathered in the time of a lookup
    Lineage& lineage = *graph_.lineage;
    const Count lookups = lineage.lookups += std::ssize(reading_->changed);
    if (!reading_->changed.empty() && lookups * edges_per_lookup > graph_.edge_count())
      gather(steps);

    const std::shared_ptr<const Reading> reading = reading_;
    const auto [first, last] = reading->edges_of(entity);
    looked_at += last - first + std::ssize(reading->changed);
    steps.take(1 + last - first + std::ssize(reading->changed));
    for (std::int64_t edge = first; edge < last; ++edge) {
      const Id relation = reading->latest->all.relations[edge];
      if (!reading->is_changed[relation])
        visit(relation, reading->latest->all.tails[edge]);
    }
    for (Id relation : reading->changed)
      for (Id tail : graph_.tails(entity, relation))
        visit(relation, tail);
  }

  Count looked_at = 0;  // edges and relations

 private:
  struct Reading {
    std::shared_ptr<const DatedAdjacency> latest;  // or null
    std::vector<Id> changed;                       // relations of the graph with other edges
    std::vector<char> is_changed;                  // by relation

    std::pair<std::int64_t, std::int64_t> edges_of(Id entity) const {
      if (latest == nullptr || entity + 1 >= std::ssize(latest->all.offsets))
        return {0, 0};
      return {latest->all.offsets[entity], latest->all.offsets[entity + 1]};
    }
  };

  void gather(Steps& steps);
  void read_latest();

  const Graph& graph_;
  std::shared_ptr<const Reading> reading_;
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

}  // namespace casegraph
