// The similarity of two entities by the facts they share: the cosine of their facts, rare ones
// weighing more (§2.2.1 with facts instead of relations).
//
// A fact (relation, tail) that n of N entities have weighs log(N / n), as words do in the retrieval
// of texts (inverse document frequency). A fact of one entity alone weighs nothing.
//
// Sums of floating-point numbers depend on their order, and facts come in the order of ids. So
// weights are rounded to integers: then sums do not depend on any order.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "graph/graph.hpp"

namespace casegraph {

class FactSimilarity {
 public:
  static constexpr double weight_unit = 1 << 10;      // squared weights are multiples of 1 / 1024
  static constexpr double reciprocal_unit = 1 << 16;  // reciprocal norms, of 1 / 65536

  // living        how many entities have facts
  // most_sharers  a fact that more entities have is common, and does not count for similarity
  FactSimilarity(std::size_t entities, Count living, Count most_sharers)
      : living_(living), most_sharers_(most_sharers), known_(std::make_unique<Known[]>(entities)) {
    for (Count sharers = 0; sharers < few_sharers; ++sharers)
      small_.push_back(compute_weight(sharers));
  }

  // The squared weight of a fact that `sharers` entities have, in units.
  Count weight(Count sharers) const {
    return sharers < few_sharers ? small_[static_cast<std::size_t>(sharers)]
                                 : compute_weight(sharers);
  }

  // The norm of the facts of an entity, plus one: entities with few facts are not so alike.
  double norm(const Graph& graph, Id entity, Steps& steps) const {
    return known(graph, entity, steps).norm.load(std::memory_order_relaxed);
  }

  // The squared weights of all facts of an entity but the common ones, in units.
  Count rare_weight(const Graph& graph, Id entity, Steps& steps) const {
    return known(graph, entity, steps).rare_weight.load(std::memory_order_relaxed);
  }

  bool is_common(Count sharers) const { return sharers > most_sharers_; }

  // Call `use(relation, tail, sharers)` for all facts of an entity.
  template <class Use>
  static void each_fact(const Graph& graph, Id entity, Steps& steps, const Use& use) {
    each_edge(graph, entity, steps, [&](Id relation, Id tail) {
      use(relation, tail, graph.tails(tail, inverse(relation)));
    });
  }

  // Call `use(relation, tail)` for all facts of an entity.
  template <class Use>
  static void each_edge(const Graph& graph, Id entity, Steps& steps, const Use& use) {
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

 private:
  static constexpr Count few_sharers = 4096;

  // About the facts of an entity; every thread finds the same.
  struct Known {
    std::atomic<double> norm;  // 0 if nothing is known yet
    std::atomic<Count> rare_weight;
  };

  const Known& known(const Graph& graph, Id entity, Steps& steps) const {
    Known& known = known_[static_cast<std::size_t>(entity)];
    if (known.norm.load(std::memory_order_acquire) != 0)
      return known;
    Count all = 0;
    Count rare = 0;
    each_fact(graph, entity, steps, [&](Id, Id, Ids sharers) {
      const Count weight_of_fact = weight(std::ssize(sharers));
      all += weight_of_fact;
      rare += is_common(std::ssize(sharers)) ? 0 : weight_of_fact;
    });
    known.rare_weight.store(rare, std::memory_order_relaxed);
    const double norm = std::sqrt(static_cast<double>(all) / weight_unit) + 1;
    known.norm.store(norm, std::memory_order_release);
    return known;
  }

  Count compute_weight(Count sharers) const {
    if (sharers < 2 || sharers >= living_)
      return 0;
    const double weight = std::log(static_cast<double>(living_) / static_cast<double>(sharers));
    return static_cast<Count>(std::llround(weight * weight * weight_unit));
  }

  const Count living_;
  const Count most_sharers_;
  std::vector<Count> small_;              // the weights of small numbers of sharers
  const std::unique_ptr<Known[]> known_;  // by entity
};

}  // namespace casegraph
