// Precedents by similarity: the answers of the entities that share most with the query entity.
//
// These are the paper's contextual entities (§2.2.1), compared by the facts they share instead of
// the relations they have. Of those that have the query relation, the k nearest answer. Each counts
// by the square of its similarity, relative to the nearest.
#pragma once

#include "answering/fact_similarity.hpp"
#include "answering/relation_query.hpp"
#include "answering/workspace.hpp"

namespace casegraph {

class Neighbours {
 public:
  Neighbours(const RelationQuery& query, const FactSimilarity& similarity, Workspace& workspace,
             Progress& progress)
      : query_(query),
        similarity_(similarity),
        likeness_(workspace.likeness),
        slots_(workspace.stamps),
        steps_(progress) {}

  // Begin with another query entity.
  void start(Id entity) {
    entity_ = entity;
    own_weight_ = 0;
    likeness_.renew();
  }

  // How many edges a fact with these sharers makes it look at.
  Count cost(Ids sharers) const {
    return similarity_.is_common(std::ssize(sharers)) ? 0 : std::ssize(sharers);
  }

  // The query entity has a fact, which all `sharers` have.
  void add_fact(Ids sharers) {
    const Count weight = similarity_.weight(std::ssize(sharers));
    own_weight_ += weight;
    if (weight == 0 || similarity_.is_common(std::ssize(sharers)))
      return;
    steps_.take(std::ssize(sharers) / 2);
    likeness_.add(sharers, weight);
  }

  // The nearest entities that have the query relation, nearest first.
  const std::vector<Neighbour>& nearest() {
    found_.clear();
    const auto units = static_cast<double>(own_weight_) / FactSimilarity::weight_unit;
    const double own_norm = std::sqrt(units) + 1;
    const Edges& answers = query_.graph.edges(query_.relation);
    for (Id other : likeness_.touched()) {
      steps_.take();
      if (other == entity_ || answers.row_of(other) == answers.heads.size())
        continue;
      const double shared = static_cast<double>(likeness_.of(other)) / FactSimilarity::weight_unit;
      const double norm = similarity_.norm(query_.graph, other, steps_);
      found_.push_back({other, shared / (own_norm * norm)});
    }
    const auto is_nearer = [&](const Neighbour& a, const Neighbour& b) {
      if (a.similarity != b.similarity)
        return a.similarity > b.similarity;
      return query_.rank[a.entity] < query_.rank[b.entity];
    };
    const auto kept = std::min(found_.size(), static_cast<std::size_t>(query_.options.nearest));
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(found_.begin(), end, found_.end(), is_nearer);
    found_.resize(kept);
    return found_;
  }

  // Call `use(answer, worth, how many of the nearest give it, how many there are)`.
  template <class Use>
  void each_answer(const Use& use) {
    votes_.clear();
    slots_.renew();
    double all_votes = 0;
    for (const Neighbour& neighbour : nearest()) {
      const double relative = neighbour.similarity / found_.front().similarity;
      const double vote = relative * relative;
      all_votes += vote;
      // The votes for an answer are added nearest first, in the same order always.
      for (Id answer : query_.graph.tails(neighbour.entity, query_.relation)) {
        steps_.take();
        if (!slots_.has(answer)) {
          slots_.set(answer, votes_.size());
          votes_.push_back({answer});
        }
        Votes& of_answer = votes_[slots_.slot(answer)];
        of_answer.total += vote;
        ++of_answer.voters;
      }
    }
    for (const auto& [answer, voters, total] : votes_) {
      const double worth = most_worth * total / (all_votes + doubtful_votes);
      use(answer, worth, voters, std::ssize(found_));
    }
  }

 private:
  static constexpr double most_worth = 0.9;  // even if all neighbours agree
  static constexpr double doubtful_votes =
      3;  // for no answer: what few neighbours say is worth less

  struct Votes {
    Id answer;
    std::int32_t voters = 0;
    double total = 0;
  };

  const RelationQuery& query_;
  const FactSimilarity& similarity_;
  Sums& likeness_;
  Stamps& slots_;  // the place of each answer in `votes_`
  Steps steps_;
  Id entity_ = -1;
  Count own_weight_ = 0;
  std::vector<Neighbour> found_;
  std::vector<Votes> votes_;
};

}  // namespace casegraph
