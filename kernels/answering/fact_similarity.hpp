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

  // living  how many entities have facts
  FactSimilarity(std::size_t entities, Count living)
      : living_(living), norms_(std::make_unique<std::atomic<double>[]>(entities)) {
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
    std::atomic<double>& known = norms_[static_cast<std::size_t>(entity)];
    double norm = known.load(std::memory_order_relaxed);
    if (norm == 0) {
      Count total = 0;
      each_fact(graph, entity, steps,
                [&](Id, Id, Ids sharers) { total += weight(std::ssize(sharers)); });
      norm = std::sqrt(static_cast<double>(total) / weight_unit) + 1;
      known.store(norm, std::memory_order_relaxed);  // every thread finds the same
    }
    return norm;
  }

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

  Count compute_weight(Count sharers) const {
    if (sharers < 2 || sharers >= living_)
      return 0;
    const double weight = std::log(static_cast<double>(living_) / static_cast<double>(sharers));
    return static_cast<Count>(std::llround(weight * weight * weight_unit));
  }

  const Count living_;
  std::vector<Count> small_;                            // the weights of small numbers of sharers
  const std::unique_ptr<std::atomic<double>[]> norms_;  // by entity; 0 if not known yet
};

}  // namespace casegraph
