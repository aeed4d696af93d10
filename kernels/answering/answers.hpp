// Answering: walk the path types of each query, ask its precedents, combine what they say, and rank
// the candidates (§2.2.1, equation 1).
//
// Evidence for a candidate comes in pieces of several kinds, for example a path type that leads
// there, or entities that resemble the query entity and answer so. Pieces are added up, or combined
// as kinds.hpp says.
#pragma once

#include "answering/kinds.hpp"
#include "common/parallel.hpp"
#include "common/path_type.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// How evidence is gathered and combined: the part of Python's `Settings` that the kernels know.
struct QueryOptions {
  int max_length = 3;
  bool loop_free = true;    // paths; or walks, which may pass an entity twice
  int walked = 0;           // how many path types that lead anywhere are walked; 0 for all
  bool precedents = false;  // use evidence of all kinds; or of path types only
  bool slots = false;       // path types are weighed by the slot of the end
  bool backwards = false;   // path types are those of the inverse relation, walked from their ends
  bool linked = true;       // an entity that a fact links to the query entity may be a new answer
  double doubt = 5;         // added to the denominator of the habit
  double habit = 0.1;       // the weight of what all entities answer
  bool sum = false;         // add the evidence up, or combine it as kinds.hpp says
  double discount = 0.1;    // the weight of each next best path type
  double decisive = 0.77;   // a path type right in more cases than this decides; 1: none does
  double ridge = 30;        // λ of the regressions (resemblance.hpp)
  double precedent_weight = 4;  // the weight of their scores
  int nearest = 1024;           // entities that take part in a regression
  int best = 5;                 // path types that count for one answer
  Count budget = 100'000'000;   // edges that a query may look at; what would cost more is not
                                // followed, and the answer says so
};

// The path types that the queries of one relation walk.
struct WalkLists {
  std::span<const PathType> types;        // path types of the relation
  std::span<const std::int64_t> offsets;  // list i walks walked[offsets[i] .. offsets[i + 1])
  std::span<const std::int32_t> walked;   // places in `types`, in the order they are walked
  std::span<const double> weights;        // of open slots, parallel to `walked`
  std::span<const double> taken_weights;  // of taken slots; the larger of both falls along a list

  // The same weights if one right end fewer had been counted, first with an open slot, then with a
  // taken one; both are no larger than above. Empty, or parallel to `walked`.
  struct Fewer {
    std::span<const double> weights;
    std::span<const double> taken_weights;
  };
  std::array<Fewer, 2> fewer = {};
};

// Parallel arrays, one entry for each query.
struct Queries {
  Ids entities;  // -1 for an unknown entity, which only the habit answers
  Ids lists;     // which list is walked
  Ids hidden;    // a known answer that is treated as unknown, or -1
};

// A sorted set of entities for each query, one after the other.
struct EntitySets {
  std::span<const std::int64_t> offsets;
  Ids entities;

  Ids of(std::size_t query) const {
    return entities.subspan(offsets[query], offsets[query + 1] - offsets[query]);
  }
};

// How each target compares with the candidates that compete with it.
struct Standing {
  std::vector<double> score;   // 0 where it was not reached
  std::vector<Count> better;   // candidates with a higher score
  std::vector<Count> equal;    // others with the same score
  std::vector<Count> earlier;  // of these, how many were found before it
};

struct Answers {
  std::vector<std::int64_t> offsets;  // (queries + 1)
  std::vector<Id> entities;
  std::vector<double> scores;
  std::vector<std::uint8_t> exact;  // (queries)  whether the budget was enough
  Count followed = 0;               // edges looked at
};

// One piece of evidence for an answer.
struct Piece {
  Kind::Number kind;
  Id relation, tail;   // the shared fact, or -1
  std::int32_t place;  // of the path type in the list that was walked, or -1
  Count count, of;     // how many of how many others gave the answer; of a path type, `count` is 1
                       // if the slot of the answer is taken, and `of` is 0
  Worth worth;         // before combination
};

// The evidence of several answers: pieces[offsets[i] .. offsets[i + 1]) for the i-th.
struct EvidenceOfEach {
  std::vector<std::int64_t> offsets;
  std::vector<Piece> pieces;
};

// An entity, and the weight with which it speaks for or against an answer.
struct Weighted {
  Id entity;
  double weight;
};

struct RelationQuery;
class Workspaces;

// The best `top` answers of every query, best first, equal scores in the order of `rank`. All
// answers if `top` is negative. With `new_only`, known answers are left out, except for a hidden
// one.
Answers answers(const RelationQuery& relation_query, const Queries& queries, Workspaces& workspaces,
                Count top, bool new_only, int threads, Progress& progress);

// How the targets of every query compare with its other candidates.
//
// known  answers that do not compete with the targets
Standing standings(const RelationQuery& relation_query, const Queries& queries,
                   Workspaces& workspaces, const EntitySets& targets, const EntitySets& known,
                   int threads, Progress& progress);

// The strength of the paths from the entity of every query to its targets. The first `walked` path
// types of the list are walked, whether or not they lead anywhere, so that it does not matter from
// which end they are walked.
std::vector<double> path_strengths(const RelationQuery& relation_query, const Queries& queries,
                                   Workspaces& workspaces, const EntitySets& targets, int threads,
                                   Progress& progress);

// The strength with which entities that resemble the entity of every query support its targets.
std::vector<double> precedent_strengths(const RelationQuery& relation_query, const Queries& queries,
                                        Workspaces& workspaces, const EntitySets& targets,
                                        int threads, Progress& progress);

// The entities that have the relation and resemble the query entity, largest weight first.
//
// hidden  a known answer that is treated as unknown, or -1
std::vector<Weighted> nearest_entities(const RelationQuery& relation_query, Id entity, Id hidden,
                                       Workspaces& workspaces, Progress& progress);

// Those of them that have an answer. Their weights add up to the evidence of `Kind::precedents`.
std::vector<Weighted> precedents_of(const RelationQuery& relation_query, Id entity, Id hidden,
                                    Id answer, Workspaces& workspaces, Progress& progress);

// The known answers, and the weight with which each speaks for another. They add up to the evidence
// of `Kind::answers`.
std::vector<Weighted> similar_answers(const RelationQuery& relation_query, Id entity, Id hidden,
                                      Id answer, Workspaces& workspaces, Progress& progress);

// All evidence for some answers of the only query given, in the order it is found. One pass over
// the query gathers it for all answers; it is the same as for each answer alone.
EvidenceOfEach evidence_of_each(const RelationQuery& relation_query, const Queries& queries,
                                Workspaces& workspaces, Ids answers, Progress& progress);

}  // namespace casegraph
