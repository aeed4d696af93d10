// The query that is being answered: its entity, its known answers, and what counts as an answer.
//
// A hidden answer is a known answer that is treated as unknown: it may be found again, and its edge
// says nothing.
#pragma once

#include "answering/entity_facts.hpp"
#include "answering/relation_query.hpp"
#include "answering/workspace.hpp"

namespace casegraph {

class QueryAtHand {
 public:
  QueryAtHand(const RelationQuery& query, Workspace& workspace)
      : relation_(query.relation),
        graph_(query.graph),
        options_(query.options),
        habit_(query.habit),
        known_(workspace.answers),
        is_linked_(workspace.linked) {}

  void start(Id entity_, Id hidden_, bool new_only) {
    entity = entity_;
    hidden = hidden_;
    own = is_known() ? graph_.tails(entity, relation_) : Ids{};
    known_.renew();
    for (Id answer : own)
      known_.set(answer);
    new_only_ = new_only;
    if (options_.linked)
      return;
    linked_.clear();
    is_linked_.renew();
  }

  // Unless linked entities may be answers, find those that a fact links to the query entity.
  void find_linked(Steps& steps) {
    if (options_.linked)
      return;
    each_fact(graph_, entity, steps, [&](Id, Id tail) {
      const bool is_asked_for = tail == hidden || tail == entity || is_own(tail);
      if (is_linked_.insert(tail) && !is_asked_for)
        linked_.push_back(tail);
    });
  }

  // The entities that may not be answers because a fact links them to the query entity. Not among
  // them are the query entity, its known answers and the hidden one.
  Ids linked() const { return linked_; }

  // Whether the entity was ever seen.
  bool is_known() const { return entity >= 0; }

  bool is_in_graph(Id answer) const { return answer >= 0 && answer < graph_.entities; }

  // Whether an answer is a known one.
  bool is_own(Id answer) const { return answer >= 0 && known_.has(answer); }

  // Whether it is a known answer, and only new ones are wanted; or linked, and that is no answer.
  bool is_left_out(Id answer) const {
    const bool may_be = new_only_ || !options_.linked;
    if (!may_be || answer == hidden)
      return false;
    if (is_own(answer))
      return new_only_;
    return !options_.linked && is_linked_.has(answer);
  }

  // Whether precedents may support an answer. An entity is its own answer only if some entity of
  // the relation is.
  bool may_answer(Id answer) const {
    if (is_left_out(answer))
      return false;
    return answer != entity || habit_.some_answer_themselves();
  }

  // How many entities give an answer, and how many others have the relation.
  Count given(Id answer) const {
    return static_cast<Count>(graph_.tails(answer, inverse(relation_)).size());
  }
  Count others() const { return habit_.others(!own.empty()); }

  // Whether the slot of an answer is taken: another entity has it. Backwards, the slot is that of
  // the query entity: it has another answer.
  bool has_taken_slot(Id answer) const { return has_taken_slot(answer, given(answer)); }
  bool has_taken_slot(Id answer, Count given_by_all) const {
    const Count of_all = options_.backwards ? std::ssize(own) : given_by_all;
    return options_.slots && of_all > is_own(answer);
  }

  // Whether an edge is the hidden answer, in either direction.
  bool is_hidden(Id head, Id relation, Id tail) const {
    const bool is_answer = relation == relation_ && head == entity && tail == hidden;
    const bool is_inverse = relation == inverse(relation_) && head == hidden && tail == entity;
    return is_answer || is_inverse;
  }

  Id entity = -1;
  Id hidden = -1;  // or -1
  Ids own;         // the known answers of the entity, sorted

 private:
  const Id relation_;
  const Graph& graph_;
  const QueryOptions& options_;
  const Habit& habit_;
  Marks& known_;
  Marks& is_linked_;
  std::vector<Id> linked_;
  bool new_only_ = false;  // known answers are no answers
};

}  // namespace casegraph
