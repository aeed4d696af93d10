// Precedents by ridge regression: who resembles the query entity, and what resembles its known
// answers.
//
//   heads     Entities that have the query relation and resemble the query entity e. Regress "has
//             the fact (q, a)" on all facts: entity u speaks for its answers with the weight
//             −λ C[e, u], where C = (K + λI)⁻¹ and K counts shared facts. That is a partial
//             similarity: what the two share beyond what the others explain. It can be negative.
//
//   answers   Candidates that resemble the known answers. Regress "is a known answer" on all facts
//             but that one: the candidate a gets −λ Σ C[a, u] over the known answers u.
//
// In the first regression the fact (q, a) itself is among the facts that explain it. Leaving it out
// would multiply the score of a by 1 / (1 − h), h = Σ C[u, v] over all u, v that have it (Sherman
// and Morrison). Finding h takes a regression for each candidate; 1 + (n − 1) κ / λ, where n of the
// entities have the fact, is as good (docs/accuracy.md).
//
// Only the nearest entities take part. Nearness adds up 1 / n for each shared fact that n entities
// have (resource allocation, Zhou et al. 2009), rarest facts first.
#pragma once

#include <cmath>

#include "answering/entity_facts.hpp"
#include "answering/query_at_hand.hpp"
#include "answering/ridge.hpp"

namespace casegraph {

class Resemblance {
 public:
  Resemblance(const RelationQuery& query, const QueryAtHand& at_hand, Workspace& workspace,
              Steps& steps)
      : query_(query),
        graph_(query.graph),
        at_hand_(at_hand),
        nearness_(workspace.nearness),
        ridge_(workspace.ridge),
        steps_(steps) {}

  // Find the facts by which entities are near. Returns how many edges will be looked at.
  Count find_heads() {
    left_out_ = none;
    facts_.clear();
    each_fact(graph_, at_hand_.entity, steps_, [&](Id relation, Id tail) {
      if (counts(at_hand_.entity, relation, tail))
        add_fact(relation, tail, 1);
    });
    return keep_rarest();
  }

  // The same for the known answers.
  Count find_answers() {
    left_out_ = key(inverse(query_.relation), at_hand_.entity);
    find_known();
    find_facts_of_known();
    return keep_rarest();
  }

  // The entities that have the relation and are nearest to the query entity, after `find_heads`;
  // nearest first.
  const std::vector<Id>& nearest_heads() {
    const Edges& asked = graph_.edges(query_.relation);
    find_nearest([&](Id entity) { return entity != at_hand_.entity && asked.has(entity); });
    return nearest_;
  }

  // How much each of them resembles the query entity. If all together have too many facts, the last
  // are left out.
  const std::vector<Weighted>& weighted_heads() {
    ridge_.clear(facts_per_row * (nearest_.size() + 1));
    add_row(at_hand_.entity);
    add_rows(nearest_, max_facts());
    ridge_.finish();

    weighted_.clear();
    std::vector<double> unit(ridge_.rows());
    unit[0] = 1;
    const std::vector<double> solution = ridge_.solve(unit, lambda(), steps_);
    for (std::size_t row = 0; row < nearest_.size(); ++row)
      weighted_.push_back({nearest_[row], -lambda() * solution[row + 1]});
    return weighted_;
  }

  // By how much the weights of n entities with the same answer are increased.
  double correction(Count n) const { return 1 + kappa * static_cast<double>(n - 1) / lambda(); }

  // The candidates that resemble the known answers, after `find_answers`.
  const std::vector<Weighted>& answers() {
    gather_answers();
    std::vector<double> is_known(ridge_.rows());
    std::fill_n(is_known.begin(), known_.size(), 1);
    const std::vector<double> solution = ridge_.solve(is_known, lambda(), steps_);
    weighted_.clear();
    for (std::size_t row = 0; row < nearest_.size(); ++row)
      weighted_.push_back({nearest_[row], -lambda() * solution[known_.size() + row]});
    return weighted_;
  }

  // How many known answers `answers` was about.
  Count known_answers() const { return std::ssize(known_); }

  // How much each known answer speaks for a candidate, after `find_answers`; nothing if it is not
  // among the nearest.
  std::vector<Weighted> known_answers_for(Id candidate) {
    gather_answers();
    const auto at = std::ranges::find(nearest_, candidate);
    if (at == nearest_.end())
      return {};
    std::vector<double> unit(ridge_.rows());
    unit[known_.size() + static_cast<std::size_t>(at - nearest_.begin())] = 1;
    const std::vector<double> solution = ridge_.solve(unit, lambda(), steps_);
    std::vector<Weighted> weighted;
    for (std::size_t row = 0; row < known_.size(); ++row)
      weighted.push_back({known_[row], -lambda() * solution[row]});
    return weighted;
  }

 private:
  static constexpr std::uint64_t none = 0;  // the key of no fact
  static constexpr double kappa = 0.2;
  static constexpr Count unit_of_nearness = 1 << 20;
  static constexpr Count max_owners = 2000;             // of a fact that entities can be near by
  static constexpr Count max_facts_of_known = 1 << 18;  // looked at
  static constexpr std::size_t facts_per_row = 16;      // about

  // A fact, and the entities that have it.
  struct SharedFact {
    Ids owners;
    Count weight;
    Id without;  // one of them that does not have it, as it is hidden; or -1
    Count size() const { return std::ssize(owners) - (without >= 0); }
  };

  double lambda() const { return query_.options.ridge; }
  Count max_edges() const { return Count{1024} * query_.options.nearest; }  // for nearness
  Count max_facts() const { return Count{128} * query_.options.nearest; }   // of a regression

  std::uint64_t key(Id relation, Id tail) const {
    return static_cast<std::uint64_t>(relation) * graph_.entities + tail + 1;
  }

  // Whether a fact of an entity takes part: it is neither hidden nor the one that is predicted.
  bool counts(Id entity, Id relation, Id tail) const {
    return key(relation, tail) != left_out_ && !at_hand_.is_hidden(entity, relation, tail);
  }

  // Entities are near by this fact, which some of the entities they are compared with have.
  //
  // times  how many of them have it
  void add_fact(Id relation, Id tail, Count times) {
    SharedFact fact{graph_.tails(tail, inverse(relation)), 0, -1};
    if (at_hand_.is_own(at_hand_.hidden)) {
      if (at_hand_.is_hidden(at_hand_.entity, relation, tail))
        fact.without = at_hand_.entity;
      if (at_hand_.is_hidden(at_hand_.hidden, relation, tail))
        fact.without = at_hand_.hidden;
    }
    if (fact.size() < 2 || fact.size() > max_owners)
      return;
    fact.weight = times * ((unit_of_nearness + fact.size() / 2) / fact.size());
    facts_.push_back(fact);
  }

  // If all facts together have too many owners, leave out the most common facts. Returns how many
  // owners are left.
  Count keep_rarest() {
    const Count all = owners_of_facts();
    if (all <= max_edges())
      return all;
    std::vector<Count> sizes;
    for (const SharedFact& fact : facts_)
      sizes.push_back(fact.size());
    std::ranges::sort(sizes);
    Count kept = 0;
    std::size_t at = 0;
    while (kept + sizes[at] <= max_edges())
      kept += sizes[at++];
    const Count limit = sizes[at];  // facts of the same size all stay, or all go
    std::erase_if(facts_, [&](const SharedFact& fact) { return fact.size() >= limit; });
    return owners_of_facts();
  }

  Count owners_of_facts() const {
    Count owners = 0;
    for (const SharedFact& fact : facts_)
      owners += fact.size();
    return owners;
  }

  // Add up how near all entities are by the facts found.
  void add_nearness() {
    nearness_.renew();
    for (const SharedFact& fact : facts_) {
      steps_.take(std::ssize(fact.owners) / 2);
      nearness_.add(fact.owners, fact.weight);
    }
    // After all additions, since a sum that became zero would be touched again.
    for (const SharedFact& fact : facts_)
      if (fact.without >= 0)
        nearness_.subtract(fact.without, fact.weight);
  }

  // Find the nearest entities that may take part, nearest first.
  template <class MayTakePart>
  void find_nearest(const MayTakePart& may_take_part) {
    add_nearness();
    nearest_.clear();
    for (Id entity : nearness_.touched()) {
      steps_.take();
      if (nearness_.of(entity) > 0 && may_take_part(entity))
        nearest_.push_back(entity);
    }
    keep_nearest(nearest_);
  }

  void keep_nearest(std::vector<Id>& entities) {
    const auto is_nearer = [&](Id a, Id b) {
      const Count of_a = nearness_.of(a);
      const Count of_b = nearness_.of(b);
      return of_a != of_b ? of_a > of_b : query_.rank[a] < query_.rank[b];
    };
    const auto kept = std::min(entities.size(), static_cast<std::size_t>(query_.options.nearest));
    const auto end = entities.begin() + static_cast<std::ptrdiff_t>(kept);
    steps_.take(std::ssize(entities));
    std::nth_element(entities.begin(), end, entities.end(), is_nearer);
    std::sort(entities.begin(), end, is_nearer);
    entities.resize(kept);
  }

  // The known answers, by name.
  void find_known() {
    known_.clear();
    for (Id answer : at_hand_.own)
      if (answer != at_hand_.hidden)
        known_.push_back(answer);
    std::ranges::sort(known_, {}, [&](Id answer) { return query_.rank[answer]; });
  }

  // Each distinct fact of the known answers. Once they have too many, the rest is dropped.
  void find_facts_of_known() {
    keys_.clear();
    std::size_t looked_at = 0;
    while (looked_at < known_.size() && std::ssize(keys_) < max_facts_of_known) {
      const Id answer = known_[looked_at++];
      each_fact(graph_, answer, steps_, [&](Id relation, Id tail) {
        if (counts(answer, relation, tail))
          keys_.push_back(key(relation, tail));
      });
    }
    known_.resize(looked_at);
    std::ranges::sort(keys_);
    facts_.clear();
    for (std::size_t first = 0, last = 0; first < keys_.size(); first = last) {
      while (last < keys_.size() && keys_[last] == keys_[first])
        ++last;
      const std::uint64_t fact = keys_[first] - 1;
      add_fact(static_cast<Id>(fact / graph_.entities), static_cast<Id>(fact % graph_.entities),
               static_cast<Count>(last - first));
    }
  }

  void gather_answers() {
    find_nearest([&](Id entity) { return entity == at_hand_.hidden || !at_hand_.is_own(entity); });
    keep_nearest(known_);
    ridge_.clear(facts_per_row * (known_.size() + nearest_.size()));
    add_rows(known_, max_facts() / 2);
    add_rows(nearest_, max_facts() / 2);
    ridge_.finish();
  }

  // Add the rows of some entities. Once they have this many facts, the remaining ones are dropped.
  void add_rows(std::vector<Id>& entities, Count facts) {
    const Count end = static_cast<Count>(ridge_.facts()) + facts;
    std::size_t kept = 0;
    while (kept < entities.size() && static_cast<Count>(ridge_.facts()) < end)
      add_row(entities[kept++]);
    entities.resize(kept);
  }

  void add_row(Id entity) {
    ridge_.add_row();
    each_fact(graph_, entity, steps_, [&](Id relation, Id tail) {
      if (counts(entity, relation, tail))
        ridge_.add_fact(key(relation, tail));
    });
  }

  const RelationQuery& query_;
  const Graph& graph_;
  const QueryAtHand& at_hand_;
  Sums& nearness_;
  Ridge& ridge_;
  Steps& steps_;
  std::uint64_t left_out_ = none;  // the key of the fact that is predicted
  std::vector<SharedFact> facts_;
  std::vector<std::uint64_t> keys_;
  std::vector<Id> known_;
  std::vector<Id> nearest_;
  std::vector<Weighted> weighted_;
};

}  // namespace casegraph
